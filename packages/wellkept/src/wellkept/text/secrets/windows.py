"""Which parts of a text are worth a closer look: lines with a word that speaks of passwords, and
lines with a token that is no plain word. `Encoded` is what base64 in them stands for.

Works on bytes with plain searches, because most of most texts holds neither. The work is linear:
each search passes over the text once, and a window has a bounded size.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from wellkept.core.records import record
from wellkept.text.rule_data import read_rules
from wellkept.text.secrets.shape import PLAIN, SecretSpan, WorkCount, shape_of

_BEFORE_BYTES, _AFTER_BYTES, _BELOW_BYTES = 240, 500, 400
_BELOW_LINES = 4
_MOST_RUN = 6_000
# A token of this length is looked at whatever it seems: the format of a provider may be in it.
_LONG_RUN = 18
# Plain words are values only after these; each begins with a literal, so the search is fast.
_CUES = tuple(
    re.compile(pattern)
    for pattern in (
        *b"pass pw secret cred psk salt identified <<< phrase _user mnemonic sendline login"
        b" auth :5432: @tcp\\( kennwort senha mdp heslo parol wachtwoord salasana clave lozinka"
        b" sandi wifi seed jwt hmac crypt unlock communit snmp adgang kodeord laluan wagwoord"
        b" jelszo haslo sifre geslo contrasen jdbc: pswd licen[cs]e fa.code p.code ry.code".split(),
        rb" -[pauwkns]", rb"-user ", rb"net use", rb":/{1,3}[^\s/\"'<>`]{1,200}@", rb"\*:\*:",
        rb" p: ", rb"pin(?: code|\"| for the [a-z]{2,12}|)[ :=]",
    )
)  # fmt: skip
# Letters are `a` or `A`, digits `0`, signs `!`, what may stand within a token itself; else blank.
_CLASSES = bytes(
    (97 if chr(c).islower() else 65 if chr(c).isupper() else 48 if chr(c).isdigit() else c)
    if c < 128 and (chr(c).isalnum() or c in b"+/_.~$-")
    else 33 if c in b"!@#^%*&?"
    else 32
    for c in range(256)
)  # fmt: skip
_FOLDED = bytes(97 if c == 65 else c for c in range(256))
_ODD = tuple(re.compile(odd) for odd in rb"a0a|0a0|a00|a!0|0!|a_0|a-00|a\+0|a0 ".split(b"|"))
_ODD_CASE = re.compile(rb"AaA")
# Shapes that are secrets only beside a word that speaks of them.
_ORDINARY = ("word1", "wordchain", "name", "odd", "phrase")
_FOREIGN = re.compile(rb"[\x80-\xff][a-z\x80-\xff ]{0,80}")
_EMPTY_TAIL = re.compile(rb"[A-Za-z_]{0,16}[^A-Za-z0-9\x80-\xff]*")
_OPEN_ENDS = (b":", b"=", b"|", b">", b"-", b"(", b"{", b"\\", b'"', b"?")
_RUN = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{24,}+={0,2}")
_TEXT = re.compile(rb"[\t\n\r -~]+")
_PROBE_CHARS = 24
_MAX_RUN_CHARS = 64_000
_MAX_PARTS = 12
_BETWEEN = "\n\x00\n"


@record
class Window:
    """A part of a text, and where it begins in it."""

    start: int
    text: str


def windows(text: str) -> Iterator[Window]:
    """The parts to look at, in order and disjoint."""
    raw = text.encode("utf-8", "surrogatepass")
    at = position = 0
    for first, last in _merged(sorted((*_cue_spans(raw), *_odd_spans(raw)))):
        start, end = _whole(raw, first), _whole(raw, last)
        position += len(raw[at:start].decode("utf-8", "surrogatepass"))
        shown = raw[start:end].decode("utf-8", "surrogatepass")
        yield Window(position, shown)
        position += len(shown)
        at = end


def _cue_spans(raw: bytes) -> Iterator[tuple[int, int]]:
    """The lines with a word that speaks of secrets, and those below it where it ends one."""
    low = raw.lower()
    positions = {hit.end() for cue in _CUES for hit in cue.finditer(low)}
    if not raw.isascii():
        stems = _foreign_stems()
        found = (stems.search(hit.group()) and hit.end() for hit in _FOREIGN.finditer(low))
        positions |= {at for at in found if at}
    done = -1
    for at in sorted(positions):
        if at >= done:
            start, done = _line(raw, at)
            yield start, _below(raw, at, done)


def _below(raw: bytes, at: int, end: int) -> int:
    """Where a window ends: with its line, or with the lines below when the value can be there."""
    tail = raw[at:end].rstrip()
    if not (_EMPTY_TAIL.fullmatch(tail) or tail.endswith(_OPEN_ENDS) or b"<<" in tail):
        return end
    below = end
    for _ in range(_BELOW_LINES):
        following = raw.find(b"\n", below + 1, end + _BELOW_BYTES)
        below = following if following >= 0 else min(len(raw), end + _BELOW_BYTES)
    return below


def _odd_spans(raw: bytes) -> Iterator[tuple[int, int]]:
    """The lines with tokens that are no plain words."""
    cased = raw.translate(_CLASSES) + b" "
    folded = cased.translate(_FOLDED)
    hits = {hit.start() for odd in _ODD for hit in odd.finditer(folded)}
    hits.update(hit.start() for hit in _ODD_CASE.finditer(cased))
    done = -1
    for at in sorted(hits):
        if at < done:
            continue
        start = cased.rfind(b" ", max(0, at - _MOST_RUN), at) + 1
        end = cased.find(b" ", at, at + _MOST_RUN)
        done = end = end if end >= 0 else min(len(raw), at + _MOST_RUN)
        token = raw[start:end].decode("ascii", "replace").strip(".-") if end - start > 4 else ""
        shape = shape_of(token) if len(token) < _LONG_RUN else token
        if shape != PLAIN and not shape.startswith(_ORDINARY):
            yield _line(raw, start)[0], _line(raw, end)[1]


def _line(raw: bytes, at: int) -> tuple[int, int]:
    low, high = max(0, at - _BEFORE_BYTES), min(len(raw), at + _AFTER_BYTES)
    start = raw.rfind(b"\n", low, at) + 1
    end = raw.find(b"\n", at, high)
    return start or low, end if end >= 0 else high


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    first, last = -1, -2
    for start, end in spans:
        if start <= last + 1:
            last = max(last, end)
            continue
        if last >= 0:
            yield first, last
        first, last = start, end
    if last >= 0:
        yield first, last


def _whole(raw: bytes, at: int) -> int:
    """The beginning of the character at a position."""
    while 0 < at < len(raw) and raw[at] & 0xC0 == 0x80:
        at -= 1
    return at


@lru_cache(maxsize=1)
def _foreign_stems() -> re.Pattern[bytes]:
    """What words of other alphabets have after their first letter that is not ASCII."""
    raw = read_rules("secret_words")
    parts = ("inside", "whole", "phrases")
    words = [word for part in parts for some in raw[part].values() for word in some]
    forms = {form for word in words if not word.isascii() for form in (word, word.upper())}
    tails = {re.sub(r"^[\x00-\x7f]+", "", form).encode() for form in forms}
    return re.compile(b"|".join(map(re.escape, sorted(tails))))


class Encoded:
    """The encoded runs in the parts of a text, decoded into one; false when there is none."""

    def __init__(self, parts: Sequence[Window], work: WorkCount) -> None:
        self.runs: list[tuple[int, int]] = []
        self._starts: list[int] = []
        decoded: list[str] = []
        size = 0
        for part in parts:
            for run in _RUN.finditer(part.text):
                start, shown = _first_text(run.group())
                if shown is None:
                    continue
                work.places += 1
                self.runs.append((part.start + run.start() + start, part.start + run.end()))
                self._starts.append(size)
                decoded.append(shown)
                size += len(shown) + len(_BETWEEN)
        self.text = _BETWEEN.join(decoded)

    def spans(self, found: Iterable[SecretSpan]) -> Iterator[SecretSpan]:
        """The runs whose decoded text holds what was found."""
        for index in sorted({bisect_right(self._starts, one.start) - 1 for one in found}):
            yield SecretSpan("encoded-secret", *self.runs[index])


def _first_text(run: str) -> tuple[int, str | None]:
    """Where encoded text begins in a run: a path may stand before it."""
    start = 0
    for _ in range(_MAX_PARTS):
        if (shown := _decoded(run[start:])) is not None:
            return start, shown
        start = run.find("/", start) + 1
        if not start or len(run) - start < _PROBE_CHARS:
            break
    return 0, None


def _decoded(run: str) -> str | None:
    """The text that a run encodes, if it is text."""
    probe = _bytes(run[:_PROBE_CHARS])
    if probe is None or not _TEXT.fullmatch(probe):
        return None
    raw = _bytes(run[:_MAX_RUN_CHARS])
    if raw is None:
        return None
    return raw.decode("utf-8", "replace").replace("\x00", " ")


def _bytes(run: str) -> bytes | None:
    kept = run.rstrip("=")
    kept = kept[: len(kept) - 1] if len(kept) % 4 == 1 else kept
    try:
        return b64decode(kept + "=" * (-len(kept) % 4))
    except (Error, ValueError):
        return None
