"""The values in a part of a text that could be secrets, each with its place and the words near it.

A part is cut into atoms (words, quoted strings, tokens); what stands between two atoms is the sign
of the second: `=`, a colon, a comma, a cell's border. An atom whose shape is not plain becomes a
candidate. Knows no weights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from wellkept.core.records import record
from wellkept.text.secrets.cues import NEGATED, cue_of, is_verb, phrase_cue
from wellkept.text.secrets.shape import PLAIN, shape_of

_ENCODED = r"%(?:2[0267]|3[aAdDbB]|7[bBdD])"
_ENCODED_SIGN = re.compile(r"%3[aAdD](?=%22|\w)")
_QUOTED = (
    r"(?<=[\"'`])(?![,:;)=\]}>|+.])(?![\w.$\[\]/@%+-]{1,80}[=:：;&,(])"
    r"[^\s\"'`\\]{1,600}(?=\\{0,7}[\"'`])"
)
_SIGNS = r"!#$*+./?@^_~-"
_BARE = (
    rf"[{_SIGNS}]{{0,8}}[A-Za-z0-9]"
    rf"(?:[%A-Za-z0-9{_SIGNS}]|&(?=[^\s&])(?!\w{{1,40}}[=;])|=(?=[\s,;)&]|=|$))*+"
)
# Escaped breaks, colours, and the number that a listing puts before a line.
_ESCAPE = (
    r"(?P<skip>(?m:^[ \t]{0,6}\d{1,6}[\t→])|\x1b\[[\d;]*m"
    r"|\\{1,9}(?:[nrt]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}))"
)
_ATOM = re.compile(rf"{_ESCAPE}|{_QUOTED}|{_BARE}|\n")
_FOREIGN_WORD = (
    "[A-Za-z0-9]*[À-ɏḀ-ỿ](?:[A-Za-zÀ-ɏḀ-ỿ0-9!#$*+./?@^_~-]*[A-Za-zÀ-ɏḀ-ỿ0-9!#$*@])?+"
    "|[^\x00-\x7f，：。；、「」『』│┃→–—“”«»\u3000\u00a0\u200b-\u200d\u2060\ufeff]+"
)
# In an encoded query the signs are encoded too.
_URL_ATOM = re.compile(rf"(?P<skip>{_ENCODED})|[A-Za-z0-9{_SIGNS}]+|\n")
_ANY_ATOM = re.compile(rf"{_ESCAPE}|{_QUOTED}|{_FOREIGN_WORD}|{_BARE}|\n")
_ATTACHED = re.compile(r"-([A-Za-z])([^=].{2,})")
_PAIR = re.compile(
    r"([A-Za-z][\w.@$-]{0,60})(?:/([^/\s]{3,200}?)|%([^%\s]{3,200}?))(?:@[\w./:-]*)?"
)
_USERINFO = re.compile(r"([^@]{4,200})@[A-Za-z0-9][\w.-]*[A-Za-z0-9]")
_SHORT = re.compile(r"[-/]([A-Za-z])$|/([a-z]{2,4})$|-(pw)$")
_USER_OPTION = re.compile(r"-[uUa]|--[\w-]*(?:user|auth|cred)[\w-]*")
_NAMING = frozenset("eq colon arrow cell tag below call paren or wide arg".split())
_VALUE_NAMES = frozenset(
    {"value", "val", "default", "result", "content", "body", "data", "string", "text", "output"}
)
_HASH_WORDS = frozenset(
    "commit sha sha1 sha256 sha512 md5 checksum integrity hash digest revision rev etag blob tree "
    "merge fixed broke build buildid trace request uuid guid id tag image fingerprint".split()
)
_BEFORE_A_VERB = frozenset("must should to will can may not all tests checks they did does".split())
_NAME_SHAPES = ("word1", "tailed", "odd", "phrase", "uuid", "commit", "num")
_NEAR = 9
_WORD_CHARS = 16
_ADDRESS_CHARS = 160
_SPACE = re.compile(r"\s")
_DIGITS = re.compile(r"\d+")
_TAG = re.compile(r"[A-Za-z]{2,12}[-_]|(?:npub|age|bc|lnbc|nsec)1|0x|Qm")
_SAME = {code: 97 for code in range(48, 123) if chr(code).isalnum()}
_PARTS = re.compile(r"[A-Z]?[a-z]{1,16}|[A-Z]{1,16}|[^\x00-\x7f]{1,16}")


# The first that stands in a gap names it.
_MARKS = (
    ("://", "url"), ("<<<", "here"), ("<<", "heredoc"), ("==", "compare"), ("!=", "compare"),
    ("->", "arrow"), ("=>", "eq"), ("→", "arrow"), ("||", "or"), ("??", "or"), ("%3", "eq"),
    ("=", "eq"), ("：", "colon"), (":", "colon"), (" (", "paren"), ("(", "call"), (" @ ", "at"),
    ("|", "cell"), ("│", "cell"), ("┃", "cell"), ("\t", "cell"), ("....", "cell"),
    (",", "arg"), (">", "tag"), ("</", "close"), ("    ", "cell"),
)  # fmt: skip


@record
class Candidate:
    """A value that may be a secret."""

    start: int
    end: int
    shape: str
    place: str
    cue: str
    flags: tuple[str, ...]
    words: tuple[str, ...]


@lru_cache(maxsize=8192)
def _sign(gap: str) -> str:
    """What stands between two atoms."""
    if "\n" in gap or "\\n" in gap:
        before = gap.rstrip(" \t\\n\r|>-~\"'+→│0123456789")
        return "below" if before.endswith((":", "=", "：", "(")) or "<<" in gap else "line"
    for mark, name in _MARKS:
        if mark in gap:
            return name
    if "  " in gap:
        return "wide"
    if "—" in gap or "–" in gap or " - " in gap:
        return "dash"
    return "space" if gap.strip("\"'`*") else "joined"


class _Atoms:
    """The atoms of a part, with their signs and cues."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.words: list[str] = []
        plain = _ATOM if text.isascii() else _ANY_ATOM
        for found in (_URL_ATOM if _ENCODED_SIGN.search(text) else plain).finditer(text):
            word = found.group()
            if word == "\n" or found.lastgroup:
                continue
            if word := word.rstrip(".") if len(word) > 1 else word:
                self.starts.append(found.start())
                self.ends.append(found.start() + len(word))
                self.words.append(word)
        self.signs = [
            "line",
            *(
                _sign(text[a:b][-32:] if b - a > 32 else text[a:b])
                for a, b in zip(self.ends, self.starts[1:], strict=False)
            ),
        ]
        self.firsts: list[int] = []
        self.cues = [cue_of(word) for word in self.words]
        first = 0
        for at, (word, sign) in enumerate(zip(self.words, self.signs, strict=False)):
            if word[:2] == "//":
                self.signs[at] = "url"
            elif sign in ("line", "below"):
                first = at
            self.firsts.append(first)
            # The statement of a program, and what tests print and do.
            is_statement = word == "pass" and self.signs[at : at + 2] in (["line"], ["line"] * 2)
            is_statement |= word == "PASS" and sign in ("line", "cell")
            is_act = word in ("pass", "pin") and self.words[at - 1].lower() in _BEFORE_A_VERB
            if is_statement or is_act:
                self.cues[at] = ""
            if sign == "space" and (kind := phrase_cue(self.words[at - 1], word)):
                self.cues[at] = kind


def candidates(text: str) -> Iterator[Candidate]:
    """The values in a part of a text that could be secrets."""
    atoms = _Atoms(text)
    for at, word in enumerate(atoms.words):
        start, end, shape, named = atoms.starts[at], atoms.ends[at], shape_of(word), atoms.cues[at]
        if part := _part(atoms, at, shape):
            place, cue, first, last = part
            if (inner := shape_of(word[first:last])) != PLAIN and (cue or place == "userinfo"):
                yield _candidate(atoms, at, (start + first, start + last), (inner, place, cue))
                continue
            if place.startswith("attached"):
                continue
        if atoms.signs[at] == "url" or shape == PLAIN or (named and shape.startswith(_NAME_SHAPES)):
            continue
        if text[end : end + 1] in tuple("([{") and not _is_quoted(text, start, end):
            continue
        place, cue, more = _place(atoms, at)
        if cue == "code" and shape.startswith(("odd", "name", "phrase")):
            continue
        # A number that nothing calls a secret is an amount or an order.
        if cue or not shape.startswith("num"):
            more = (*more, "itself") if named else more
            yield _candidate(atoms, at, (start, end), (shape, place, cue), *more)


def _part(atoms: _Atoms, at: int, shape: str) -> tuple[str, str, int, int] | None:
    """The part of an atom that could be a value: `-pX`, `user/X`, `user:X@host`."""
    word, start = atoms.words[at], atoms.starts[at]
    option = word[0] == "-" and not _is_quoted(atoms.text, start, atoms.ends[at])
    if attached := _ATTACHED.fullmatch(word) if option else None:
        return f"attached-{attached[1]}", _command(atoms, at), *attached.span(2)
    if ("/" in word or "%" in word) and (pair := _PAIR.fullmatch(word)):
        cue = "" if shape.startswith("rand") else _nearest(atoms, at)[0]
        if cue in ("login", "command", "password", "user") and shape_of(pair[1]) == PLAIN:
            return "pair", _command(atoms, at) or cue, *pair.span(2 if pair[2] else 3)
    tight = atoms.signs[at] == "colon" and start - atoms.ends[at - 1] == 1
    info = _USERINFO.fullmatch(word) if tight and "@" in word else None
    return ("userinfo", _nearest(atoms, at)[0], *info.span(1)) if info else None


def _candidate(
    atoms: _Atoms, at: int, span: tuple[int, int], said: tuple[str, str, str], *more: str
) -> Candidate:
    return Candidate(*span, *said, (*_flags(atoms, at, *span), *more), _words(atoms, at))


def _place(atoms: _Atoms, at: int) -> tuple[str, str, tuple[str, ...]]:
    """Where a value stands, the cue that speaks of it, and what else tells."""
    if at and (named := _by_option(atoms, at) or _by_name(atoms, at)):
        return named
    sign = atoms.signs[at]
    cue, distance = _nearest(atoms, at)
    if not cue:
        return _before_cue(atoms, at)
    if sign in ("colon", "below", "dash", "arrow") and distance < _NEAR:
        return f"named-{sign}", cue, (f"far{min(distance, 4)}",)
    if sign == "space" and is_verb(atoms.words[at - 1].lower()) and distance < _NEAR:
        return "is", cue, (f"far{min(distance, 4)}",)
    if distance == 0:
        return f"next-{sign}", cue, ()
    other = ("other",) if sign in ("eq", "colon") else ()
    return f"near-{sign}" if distance < 4 else f"far-{sign}", cue, other


def _by_option(atoms: _Atoms, at: int) -> tuple[str, str, tuple[str, ...]] | None:
    """The value of an option: `--password X`, `-p X`, `/p:X`."""
    before = atoms.words[at - 1]
    joins = ("space", "joined", "eq", "wide", "arg", "colon")
    if before[0] not in "-/" or atoms.signs[at] not in joins:
        return None
    if short := _SHORT.fullmatch(before):
        letter = short[1] or short[2] or short[3]
        return f"short-{letter}", _command(atoms, at) or _nearest(atoms, at)[0], ()
    if before[0] == "/" or len(before) < 3:
        return None
    cue = cue_of(before)
    return ("option", cue, ()) if cue else ("other-option", _nearest(atoms, at)[0], ())


def _by_name(atoms: _Atoms, at: int) -> tuple[str, str, tuple[str, ...]] | None:
    """The value of a name: `password = X`, a cell beside it, the line below it."""
    sign, before, own = atoms.signs[at], atoms.words[at - 1], atoms.cues[at - 1]
    if sign in _NAMING:
        if own and own not in ("user", "command", "provider"):
            caps = ("caps",) if before.isupper() and own != NEGATED else ()
            return f"own-{sign}", own, caps
        if before.lower() in _VALUE_NAMES:
            return f"value-{sign}", _nearest(atoms, at - 1, lines=4)[0], ()
    if sign == "line" and atoms.signs[at - 1] == "heredoc":
        return "own-below", atoms.cues[at - 2], ()
    tight = sign == "colon" and at > 1 and atoms.starts[at] - atoms.ends[at - 1] == 1
    if tight and _USER_OPTION.fullmatch(atoms.words[at - 2]):
        return "pair", _command(atoms, at) or "user", ()
    return None


def _nearest(atoms: _Atoms, at: int, *, lines: int = 1) -> tuple[str, int]:
    """The last cue before an atom, and how many atoms stand between; a strong one goes first.
    Only what stands first in a line looks into the line above, and only `lines` far."""
    weak: tuple[str, int] = ("", 0)
    left = lines if atoms.signs[at] in ("line", "below") else 0
    for distance in range(min(at, 14)):
        if atoms.signs[at - distance] in ("line", "below"):
            left -= 1
            if left < 0:
                break
        cue = atoms.cues[at - 1 - distance]
        if cue and cue != NEGATED:
            if cue not in ("user", "provider", "code", "key", "command"):
                return cue, distance
            weak = weak if weak[0] else (cue, distance)
    return weak


def _before_cue(atoms: _Atoms, at: int) -> tuple[str, str, tuple[str, ...]]:
    """A value that stands before the word that speaks of it: "use X as the password"."""
    for distance in range(1, min(7, len(atoms.words) - at)):
        sign = atoms.signs[at + distance]
        if sign in ("line", "below"):
            break
        cue = atoms.cues[at + distance]
        if cue in ("user", "provider") and "password" in atoms.cues[at + distance : at + 7]:
            continue
        if cue and cue != NEGATED:
            between = {word.lower() for word in atoms.words[at + 1 : at + distance]}
            return (
                ("as" if between & {"as", "als", "como", "comme", "come", "for"} else "before"),
                cue,
                (f"far{min(distance, 4)}",),
            )
    own = atoms.signs[at] in ("eq", "colon")
    return f"alone-{atoms.signs[at]}", "", ("other",) if own else ()


def _command(atoms: _Atoms, at: int) -> str:
    """The command of the line, as a cue of its own."""
    for distance in range(1, min(at, 16) + 1):
        if atoms.cues[at - distance] == "command":
            return atoms.words[at - distance].lower().rpartition("/")[2]
        if atoms.signs[at - distance + 1] in ("line", "below"):
            break
    return ""


def _flags(atoms: _Atoms, at: int, start: int, end: int) -> tuple[str, ...]:
    text = atoms.text
    found = ["quoted"] if _is_quoted(text, start, end) else []
    if text[end : end + 1] in ("", "\n", "\r"):
        found.append("end")
    if "user" in atoms.cues[max(0, at - 8) : at]:
        found.append("user")
    before = {_last_part(word) for word in atoms.words[max(0, at - 2) : at]}
    if before & _HASH_WORDS:
        found.append("hash")
    if atoms.signs[at] == "url" or text[start - 1 : start] in ("/", "#", "@"):
        found.append("url")
    address = text.rfind("://", max(0, start - _ADDRESS_CHARS), start)
    if address >= 0 and not _SPACE.search(text, address, start):
        found.append("host" if "@" in text[address:start] else "address")
    following = atoms.cues[at + 1] if at + 1 < len(atoms.words) else ""
    if following in ("command", "login") and "|" in text[end : atoms.starts[at + 1]]:
        found.append("piped")
    return tuple(found)


def _words(atoms: _Atoms, at: int) -> tuple[str, ...]:
    """The words beside a value in its line, what stands directly around it, the first word of the
    line, and what the value itself begins with."""
    first = atoms.firsts[at]
    found: list[str] = []
    if first < at:
        found.append("w=" + _general(before := atoms.words[at - 1]))
        found.append("p=" + _last_part(before))
        if at - first > 1:
            found.append("v=" + _general(atoms.words[at - 2]))
            found.append("c=" + _general(atoms.words[first]))
    if at + 1 < len(atoms.words) and atoms.signs[at + 1] not in ("line", "below"):
        found.append("n=" + _general(atoms.words[at + 1]))
    if tag := _TAG.match(atoms.words[at]):
        found.append("t=" + tag[0].lower())
    start, end = atoms.starts[at], atoms.ends[at]
    found.append("l=" + atoms.text[max(0, start - 3) : start].rpartition("\n")[2].translate(_SAME))
    found.append("r=" + atoms.text[end : end + 2].partition("\n")[0].translate(_SAME))
    return tuple(found)


@lru_cache(maxsize=65_536)
def _last_part(name: str) -> str:
    """The last word of a name: `id` of `trace_id`, `Build-Id` and `buildId`."""
    parts = _PARTS.findall(name)
    return parts[-1].lower() if parts else ""


@lru_cache(maxsize=65_536)
def _general(word: str) -> str:
    """A word as the judge knows it: in lower case, each number the same."""
    return _DIGITS.sub("0", word.lower().strip("-_.*#`\"'"))[:_WORD_CHARS]


def _is_quoted(text: str, start: int, end: int) -> bool:
    closing = text[end : end + 8].lstrip("\\")[:1]
    return start > 0 and closing != "" and text[start - 1] == closing and closing in "\"'`"
