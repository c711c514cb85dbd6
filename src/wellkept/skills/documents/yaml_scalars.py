"""Reading scalars: plain text over several lines, quotes, and the block forms `|` and `>`.

Each reader starts with the cursor on the line that holds the beginning, and leaves it on the first
line that it did not use. Nothing here raises: what is wrong becomes a finding, and the text is
kept as it was written.
"""

from __future__ import annotations

import re

from wellkept.core.text import clean
from wellkept.skills.documents.yaml_nodes import Cursor, Scalar, indent_of

BLOCK_HEADER = re.compile(r"([|>])(?:([-+])?([1-9])?|([1-9])([-+]))[ \t]*(?:[ \t]#.*)?")
_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f",
    "r": "\r", "e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0",
    "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))")
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LAST_CODE_POINT = 0x10FFFF
_NEXT_KEY = re.compile(r"[A-Za-z_][\w-]*:(?:\s|$)")


def read_plain(cursor: Cursor, text: str, *, indent: int) -> Scalar:
    """Text without quotes; lines that are set in further belong to it."""
    line = cursor.line
    cursor.last = cursor.at
    cursor.at += 1
    text, commented = without_comment(text)
    _check_colon(cursor, text, line)
    if commented or _begins_left(cursor):
        return Scalar(text, line)
    parts, blanks = [text], 0
    while not commented and cursor.at < len(cursor.lines):
        raw = cursor.lines[cursor.at]
        more = raw.strip()
        if more and (indent_of(raw) <= indent or more[0] == "#"):
            break
        if more:
            more, commented = without_comment(more)
            _check_colon(cursor, more, cursor.line)
            parts += ["\n" * blanks if blanks else " ", more]
            cursor.last, blanks = cursor.at, 0
        else:
            blanks += 1
        cursor.at += 1
    return Scalar("".join(parts) if len(parts) > 1 else text, line)


def _begins_left(cursor: Cursor) -> bool:
    """Whether nothing can go on below, which is nearly always so: the next line is not set in."""
    return cursor.at == len(cursor.lines) or "#" < cursor.lines[cursor.at][:1] < "\x7f"


def _check_colon(cursor: Cursor, text: str, line: int) -> None:
    if ": " in text or text.endswith(":"):
        cursor.report(
            "yaml-colon",
            "Text with a colon must be quoted, or other readers refuse the document.",
            line=line,
        )


def without_comment(text: str) -> tuple[str, bool]:
    """The text before a comment, and whether there was one."""
    if "#" not in text:
        return text.strip(), False
    found = re.search(r"(?:^|\s)#", text)
    return (text[: found.start()].strip(), True) if found else (text.strip(), False)


def read_quoted(cursor: Cursor, text: str, *, indent: int) -> Scalar | None:
    """Text in quotes, over several lines if need be; None when it is not closed or when something
    follows, and then the cursor has not moved."""
    joined, end = text, end_of_quote(text, 0)
    if end is None:
        joined = "\n".join([text, *_further_lines(cursor)])
        end = end_of_quote(joined, 0)
    if end is None or without_comment(joined[end:].partition("\n")[0])[0]:
        return None
    scalar = Scalar(unquote(joined[:end], cursor), cursor.line, plain=False)
    used = joined.count("\n", 0, end)
    if any(_is_shallow(raw, indent) for raw in cursor.lines[cursor.at + 1 : cursor.at + 1 + used]):
        cursor.report("yaml-indent", "The further lines of a quoted text must be set in.")
    cursor.last = cursor.at + used
    cursor.at += used + 1
    return scalar


def _further_lines(cursor: Cursor) -> list[str]:
    """The lines below, up to one that begins like the next key."""
    found: list[str] = []
    for raw in cursor.lines[cursor.at + 1 :]:
        if _NEXT_KEY.match(raw):
            break
        found.append(raw)
    return found


def _is_shallow(raw: str, indent: int) -> bool:
    return bool(raw.strip()) and indent_of(raw) <= indent


def end_of_quote(text: str, start: int) -> int | None:
    """The place after the quote that closes the one at `start`."""
    quote, at = text[start], start + 1
    while True:
        at = text.find(quote, at)
        if at < 0:
            return None
        if quote == "'" and text.startswith("''", at):
            at += 2
        elif quote == '"' and _is_escaped(text, at):
            at += 1
        else:
            return at + 1


def _is_escaped(text: str, at: int) -> bool:
    before = at
    while text[before - 1] == "\\":
        before -= 1
    return (at - before) % 2 == 1


def unquote(text: str, cursor: Cursor) -> str:
    """What stands between quotes, lines folded and escapes read."""
    inner = text[1:-1]
    if text[0] == "'":
        return clean(fold_lines(inner).replace("''", "'"))
    if "\\" not in inner:
        return clean(fold_lines(inner))
    # An escaped line end joins two lines without a space.
    inner = fold_lines(re.sub(r"(?<!\\)((?:\\\\)*)\\[ \t]*\n[ \t]*", r"\1", inner))
    return clean(_SURROGATES.sub(_join_pair, _ESCAPE.sub(lambda m: _unescape(m, cursor), inner)))


def _unescape(match: re.Match[str], cursor: Cursor) -> str:
    number = match[1] or match[2] or match[3]
    if number is not None:
        code = int(number, 16)
        return chr(code) if code <= _LAST_CODE_POINT else "\ufffd"
    if match[4] in _ESCAPES:
        return _ESCAPES[match[4]]
    cursor.report("yaml-escape", f"There is no escape {match[0]!r}; write the backslash twice.")
    return match[0]


def _join_pair(match: re.Match[str]) -> str:
    return match[0].encode("utf-16", "surrogatepass").decode("utf-16")


def fold_lines(text: str) -> str:
    """Lines joined by a space; an empty line becomes a line end."""
    if "\n" not in text:
        return text
    first, *rest = text.split("\n")
    parts, blanks = [first.rstrip()], 0
    for position, line in enumerate(rest):
        is_last = position == len(rest) - 1
        more = line.lstrip() if is_last else line.strip()
        if not more and not is_last:
            blanks += 1
            continue
        parts += ["\n" * blanks if blanks else " ", more]
        blanks = 0
    return "".join(parts)


def read_block_scalar(cursor: Cursor, header: re.Match[str], *, indent: int) -> Scalar:
    """The lines below a `|` or `>`, without the depth that they share."""
    line, folded = cursor.line, header[1] == ">"
    chomp, digit = header[2] or header[5] or "", header[3] or header[4]
    cursor.last = cursor.at
    cursor.at += 1
    depth = max(indent, 0) + int(digit) if digit else None
    lines: list[str] = []
    while cursor.at < len(cursor.lines):
        raw = cursor.lines[cursor.at].rstrip("\r")
        if raw.strip():
            own = len(raw) - len(raw.lstrip(" "))
            depth = own if depth is None else depth
            if own < depth or own <= indent:
                break
            cursor.last = cursor.at
        lines.append(raw)
        cursor.at += 1
    text = _block_text([raw[depth or 0 :] for raw in lines], folded=folded, chomp=chomp)
    return Scalar(clean(text), line, plain=False)


def _block_text(lines: list[str], *, folded: bool, chomp: str) -> str:
    tail = 0
    while lines and not lines[-1].strip():
        lines.pop()
        tail += 1
    if not lines:
        return "\n" * tail if chomp == "+" else ""
    text = _fold_block(lines) if folded else "\n".join(lines)
    return text + {"-": "", "": "\n", "+": "\n" * (tail + 1)}[chomp]


def _fold_block(lines: list[str]) -> str:
    """Lines of the same depth flow together; deeper ones and those around them keep their ends."""
    parts: list[str] = []
    blanks, deep, started = 0, False, False
    for line in lines:
        if not line:
            blanks += 1
            continue
        was_deep, deep = deep, line[0] in " \t"
        if started:
            keeps = was_deep or deep
            parts.append("\n" * (blanks + keeps) if blanks or keeps else " ")
        else:
            parts.append("\n" * blanks)
        parts.append(line)
        blanks, started = 0, True
    return "".join(parts)
