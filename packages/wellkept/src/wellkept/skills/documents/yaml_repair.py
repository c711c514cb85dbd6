"""Mends front matter that YAML refuses, so that the other fields are not lost with a broken one.

People write `description: Use when: …` and `argument-hint: [file] [options]`. Each top-level entry
is tried alone. In a refused one the values that YAML refuses are quoted, and lines that belong to
nothing become comments; what is refused even then becomes one quoted text.
Invariants: the number of lines stays the same, the result is a mapping that YAML reads, and every
change is listed. Knows nothing of YAML libraries: `refused` says where one stops.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, TypeAlias

Refused: TypeAlias = Callable[[list[str]], int | None]
"""The index of the line at which a reader refuses some lines; None when it does not."""

_KEY: Final = (
    r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'"
    r"|(?![\s\[\]{}#&*!|>%@`,'\"]|[-?:](?:\s|$))[^\n]{0,200}?)"
)
_TOP = re.compile(rf"\s*(?P<key>{_KEY})\s*:(?:\s+(?P<value>\S.*)?)?$")
_ENTRY = re.compile(
    rf"(?P<head>(?P<indent>\s*(?:-\s+)*)(?P<key>{_KEY}\s*:(?=\s|$)\s*)?)(?P<value>.*)$"
)
_BLOCK = re.compile(r"[|>][-+1-9]{0,2}\s*(?:\s#.*)?$")
_ITEM = re.compile(r"-(?:\s|$)")
_BRACKET_END = re.compile(r"[\]}]")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_QUOTED = re.compile(
    r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')(?=[ \t]*(?:[ \t]#.*)?$)""", re.DOTALL | re.MULTILINE
)
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|U00(?:0|10)[0-9a-fA-F]{5}"
    r"|[0abtnvfre \"/\\N_LP\t\n])|(?P<wrong>\\)"
)
_RESERVED_ITEM = re.compile(r"(?<=[\[{,\s])[*&!@%`|>][^,\[\]{}\n]*")
_MAX_MENDED: Final = 300
_MAX_DROPPED: Final = 20
_CAUSES: Final = {
    "'": ("yaml-quote", "The quote at the beginning does not close at the end of the value."),
    "[": ("yaml-bracket", "The bracket at the beginning does not close at the end of the value."),
    "*": ("yaml-reference", "Quote text that begins with `*`, `&` or `!`."),
    "@": ("yaml-reserved", "Quote text that begins with a reserved character."),
    "": ("yaml-colon", "Quote text with a colon, or other readers refuse the document."),
}


class Repair:
    """The mended lines, and the changes: code, message and line index of each."""

    def __init__(self, lines: list[str], refused: Refused) -> None:
        self.changes: list[tuple[str, str, int]] = []
        self._refused = refused
        self._mended = 0
        lines = [
            _PAIR.sub(_joined_pair, self._untabbed(line, index)) for index, line in enumerate(lines)
        ]
        self.lines = self._repaired(lines)
        if refused(self.lines) is not None:  # as a whole, though each entry is read
            self.changes, self._mended = [], _MAX_MENDED
            self.lines = self._repaired(lines)

    def _repaired(self, lines: list[str]) -> list[str]:
        starts = [*_entry_starts(lines), len(lines)]
        repaired = [self._no_key(index, line) for index, line in enumerate(lines[: starts[0]])]
        for start, end in pairwise(starts):
            repaired += self._entry([lines[start].lstrip(), *lines[start + 1 : end]], at=start)
        return repaired

    def _report(self, code: str, message: str, index: int) -> None:
        self.changes.append((code, message, index))

    def _untabbed(self, line: str, index: int) -> str:
        text = line.lstrip()
        indent = line[: len(line) - len(text)]
        if not text or "\t" not in indent:
            return line if text else ""
        if text[0] != "#":
            self._report("yaml-tab", "Indent with spaces, not with tabs.", index)
        return " " * len(indent) + text

    def _no_key(self, index: int, line: str) -> str:
        """A line that is no entry becomes a comment, so that nothing below goes on with it."""
        if not line.strip() or line.lstrip().startswith("#"):
            return line
        self._report("yaml-no-key", f"Expected `key: value`, not {line.strip()[:40]!r}.", index)
        return "#"

    def _entry(self, lines: list[str], *, at: int) -> list[str]:
        """The lines of one top-level entry, mended so that they are read."""
        if self._mended < _MAX_MENDED:
            if self._refused(lines) is None:
                return lines
            reported = len(self.changes)
            for mend in (self._without_margin, self._with_quotes, self._without_refused):
                lines = mend(lines, at)
                if self._refused(lines) is None:
                    return lines
            del self.changes[reported:]
        self._mended += 1
        found = _TOP.match(lines[0])
        assert found is not None
        value = "\n".join([found["value"] or "", *lines[1:]]).strip()
        self._report(*_cause(value), at)
        key = found["key"]
        key = key[1:-1] if key[0] in "'\"" else key
        count = len(lines)
        while count > 1 and not lines[count - 1].strip():
            count -= 1
        first, *rest = _spread(_quoted(value), count)
        first = f"{json.dumps(key, ensure_ascii=False)}: {first}"
        return [first, *rest, *lines[count:]]

    def _without_margin(self, lines: list[str], at: int) -> list[str]:
        """Text that goes on at the left margin belongs to nothing, unless quotes hold it."""
        found = _TOP.match(lines[0])
        value = (found and found["value"]) or "#"
        quoted = _QUOTED.match("\n".join([value, *lines[1:]]))
        inside = quoted[0].count("\n") if quoted else 0
        belongs = _ITEM if value[0] == "#" else _BRACKET_END
        return [
            self._no_key(at + n, line)
            if n > inside and line[:1].strip() and not belongs.match(line)
            else line
            for n, line in enumerate(lines)
        ]

    def _with_quotes(self, lines: list[str], at: int) -> list[str]:
        """Quote each value that is refused by itself."""
        lines, index = list(lines), 0
        while index < len(lines) and self._mended < _MAX_MENDED:
            found = _ENTRY.match(lines[index])
            value = found["value"] if found else ""
            if found is None or not found["head"].strip() or not value or value[0] == "#":
                index += 1
                continue
            column = len(found["indent"]) if found["key"] else len(found["indent"].rstrip()) - 1
            end = _end(lines, index, indent=column)
            if quoted := _QUOTED.match("\n".join([value, *lines[index + 1 :]])):
                end = index + 1 + quoted[0].count("\n")
            text = "\n".join([value, *(line.strip() for line in lines[index + 1 : end])])
            if not _BLOCK.match(value) and self._is_refused(text):
                self._mended += 1
                code, message, text = self._mended_value(text)
                self._report(code, message, at + index)
                lines[index:end] = _spread(text, end - index)
                lines[index] = found["head"] + lines[index]
            index = end
        return lines

    def _mended_value(self, text: str) -> tuple[str, str, str]:
        """The value with as little changed as possible, and what was wrong."""
        if text[0] == '"' and _QUOTED.match(text):
            escaped = _ESCAPE.sub(lambda m: "\\\\" if m["wrong"] else m[0], text).replace("\n", " ")
            if not self._is_refused(escaped):
                return "yaml-escape", "Write a backslash twice, or use single quotes.", escaped
        if text[0] in "[{":
            items = _RESERVED_ITEM.sub(lambda item: json.dumps(item[0].rstrip()), text)
            one_line = items.replace("\n", " ")
            if not self._is_refused(one_line):
                reserved = _RESERVED_ITEM.search(text)
                return *_cause(reserved[0] if reserved else text), one_line
        return *_cause(text), _quoted(text)

    def _is_refused(self, value: str) -> bool:
        return self._refused(("k: " + value.replace("\n", "\n  ")).split("\n")) is not None

    def _without_refused(self, lines: list[str], at: int) -> list[str]:
        """Drop the lines at which reading stops, from the second on."""
        lines = list(lines)
        for _ in range(_MAX_DROPPED):
            index = self._refused(lines)
            if not index:
                break
            while index and lines[index].strip() in ("", "#"):
                index -= 1
            if not index:
                break
            self._report("yaml-indent", "This line is indented wrongly; it is ignored.", at + index)
            lines[index] = "#"
        return lines


def _entry_starts(lines: list[str]) -> Iterator[int]:
    """Where top-level entries begin: a key that is not indented further than the first one."""
    margin: int | None = None
    for index, line in enumerate(lines):
        text = line.lstrip()
        if not text or text[0] == "#" or (margin is not None and len(line) - len(text) > margin):
            continue
        if _TOP.match(line):
            margin = len(line) - len(text)
            yield index


def _end(lines: list[str], index: int, *, indent: int) -> int:
    """The index after the lines that go on with a value: those that are indented further."""
    end = index + 1
    while end < len(lines):
        text = lines[end].lstrip()
        if text and (len(lines[end]) - len(text) <= indent or text[0] == "#"):
            break
        end += 1
    while end > index + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _cause(value: str) -> tuple[str, str]:
    first = value[:1]
    for causes, key in (("'\"", "'"), ("[{", "["), ("*&!", "*"), ("@`%,]}|>", "@")):
        if first and first in causes:
            return _CAUSES[key]
    if first in ("-", "?", ":") and not value[1:2].strip():
        return _CAUSES["@"]
    return _CAUSES[""]


def _joined_pair(match: re.Match[str]) -> str:
    text: str = json.loads(f'"{match[0]}"')
    return text


def _spread(text: str, count: int) -> list[str]:
    """A quoted or bracketed text over as many lines, so that an edit still replaces all of them."""
    if count == 1:
        return [text]
    go_on = "\\" if text[0] == '"' else ""
    return [text[:-1] + go_on, *([f" {go_on}"] * (count - 2)), f" {text[-1]}"]


def _quoted(text: str) -> str:
    """Text in double quotes, without comments, its lines folded as YAML folds them."""
    folded, blanks = "", 0
    for number, line in enumerate(text.split("\n")):
        plain = _COMMENT.sub("", line).strip()
        if plain:
            folded += ("\n" * blanks or " ") * bool(number) + plain
            blanks = 0
        else:
            blanks += 1
        if "#" in line and plain != line.strip():
            break
    return json.dumps(folded, ensure_ascii=False)
