"""Redaction: removes `<private>` parts and replaces secrets.

Invariants: `redact` is idempotent, and no character of a found secret is left. Findings name the
rule and the position in the original text, never the secret. An unclosed private tag covers its
paragraph. What a secret is says `detect`; this module applies it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from urllib.parse import unquote

from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.records import record, replace
from wellkept.core.text import clean
from wellkept.text.secrets.detect import LIKELY, SURE, find_secrets
from wellkept.text.secrets.known_values import find_known, generation
from wellkept.text.secrets.shape import MARK, SecretSpan, WorkCount

PRIVATE = "private"
MAX_JSON_DEPTH = 100

# The tag counts even before its ">", so that no removal can complete a new one.
_PRIVATE_MARK = re.compile(
    r"(?:<|&lt;|\\u003c)(?P<close>/|\\/)?private(?![\w-])(?:[^<>&\\]{0,200}(?:>|&gt;|\\u003e))?",
    re.IGNORECASE,
)
_PARAGRAPH_END = re.compile(r"\r?\n[ \t]*\r?\n|\\n[ \t]*\\n")
_MAX_PASSES = 8
_LABEL_CHARS = 160
_PAIR_FIELDS = 8
_AROUND_CHARS = 600
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8,64}")
# What the judge calls a value that no word names, or no more than "session" or "openai".
_GUESSED = frozenset({"high-entropy", "cookie", "provider-key"})


@record
class Finding:
    """A removed span: its rule and its position in the original text."""

    rule: str
    start: int
    end: int


@record
class Redacted:
    """A text without its secrets. `places` counts the positions where rules were tried."""

    text: str
    findings: tuple[Finding, ...]
    places: int

    @property
    def changed(self) -> bool:
        """Whether anything was removed."""
        return bool(self.findings)


def redact(text: str, *, shown: bool = False) -> Redacted:
    """The text without private parts and secrets, and what was removed.

    With `shown`, what is only likely a secret goes too: for what is exported, shared and told."""
    least = LIKELY if shown else SURE
    if len(text) <= _LABEL_CHARS:
        return _redact_label(text, least, generation())
    return _redact(text, least)


@lru_cache(maxsize=4096)
def _redact_label(text: str, least: float, _generation: int) -> Redacted:
    """Cached: names, paths and titles repeat often."""
    return _redact(text, least)


def _redact(text: str, least: float) -> Redacted:
    work = WorkCount()
    private = (
        _merged(_private_spans(text))
        if PRIVATE.encode() in text.encode("utf-8", "surrogatepass").lower()
        else []
    )
    # Most texts hold nothing to remove; they need no mapping of positions.
    cut = _Cut(text, private) if private else None
    # Removing one secret can expose another beside it, so its neighbourhood is read again.
    parts = [(0, len(text))] if cut is None else [(0, len(cut.text))]
    for _ in range(_MAX_PASSES):
        shown = cut.text if cut else text
        found = [
            one for start, end in parts for one in _found(shown[start:end], start, work, least)
        ]
        if not found:
            break
        cut = cut or _Cut(text, ())
        cut = _Cut(text, _merged((*cut.findings, *map(cut.to_given, found))))
        parts = cut.neighbourhoods()
    if cut is None:
        return Redacted(text, (), work.places)
    return Redacted(cut.text, tuple(cut.findings), work.places)


def _found(part: str, start: int, work: WorkCount, least: float) -> Iterator[SecretSpan]:
    """The secrets in a part of a text that begins at `start`."""
    known = find_known(part, work)
    for one in (*find_secrets(part, work, least=least), *known):
        yield replace(one, start=one.start + start, end=one.end + start)


def redact_name(name: str) -> str:
    """A name without its secrets. The judge alone takes no name that is put together of words,
    numbers and ids: two names would become one."""
    done = redact(name)
    is_name = all(
        one.rule in _GUESSED and _is_name(name[one.start : one.end]) for one in done.findings
    )
    return name if is_name else done.text


def _is_name(text: str) -> bool:
    parts = re.split(r"[\s/:_#.%@=-]+", _ID.sub("", unquote(text)))
    return (len(parts) > 1 or not parts[0]) and all(
        len(part) <= 3 or part.isalpha() or part.isdigit() for part in parts
    )


def redact_json(value: Json, *, _depth: int = 0) -> Json:
    """A JSON value with its texts and keys cleaned and redacted.

    A text under a key such as "password" is also checked together with its key, and the value of
    a pair such as {"name": "DB_PASSWORD", "value": "..."} together with its name.
    """
    if _depth > MAX_JSON_DEPTH:
        raise UsageError(
            f"A value is nested more than {MAX_JSON_DEPTH} levels deep.", hint="Make it flatter."
        )
    if isinstance(value, str):
        return redact(clean(value)).text
    if isinstance(value, list):
        return [redact_json(item, _depth=_depth + 1) for item in value]
    if isinstance(value, dict):
        given = _name_given(value)
        return {
            redact(clean(name)).text: _redact_named(
                given if given and name.lower() == "value" else name, item
            )
            if isinstance(item, str)
            else redact_json(item, _depth=_depth + 1)
            for name, item in value.items()
        }
    return value


def _name_given(pair: dict[str, Json]) -> str | None:
    """What a pair of name and value calls its value."""
    if len(pair) > _PAIR_FIELDS:
        return None
    named = (item for name, item in pair.items() if name.lower() in ("name", "key"))
    return next((name for name in named if isinstance(name, str)), None)


def redact_payload(payload: bytes) -> bytes:
    """A client's payload without its secrets: JSON stays JSON, anything else is read as text."""
    import json

    text = payload.decode("utf-8", "replace")
    try:
        shown = json.dumps(redact_json(json.loads(text)), ensure_ascii=False)
    except (ValueError, RecursionError, UsageError):
        shown = redact(clean(text)).text
    return shown.encode("utf-8", "replace")


def _redact_named(name: str, value: str) -> str:
    kept = redact(value := clean(value)).text
    start = len(lead := f'{name}: "')
    findings = redact(f'{lead}{value}"').findings if kept == value else ()
    rule = next((finding.rule for finding in findings if finding.end > start), None)
    return f"{MARK}{rule}]" if rule else kept


class _Cut:
    """The original text with some spans replaced, and the mapping of positions back to it."""

    def __init__(self, given: str, findings: Sequence[Finding]) -> None:
        self.findings = findings
        pieces: list[str] = []
        self._starts: list[int] = []
        self._given: list[tuple[int, int, bool]] = []
        self._length = 0
        at = 0
        for finding in findings:
            self._append(pieces, given[at : finding.start], at, finding.start, kept=True)
            stand_in = _stand_in(finding, given)
            self._append(pieces, stand_in, finding.start, finding.end, kept=False)
            at = finding.end
        self._append(pieces, given[at:], at, len(given), kept=True)
        self.text = "".join(pieces)

    def _append(self, pieces: list[str], text: str, start: int, end: int, *, kept: bool) -> None:
        pieces.append(text)
        self._starts.append(self._length)
        self._given.append((start, end, kept))
        self._length += len(text)

    def to_given(self, found: SecretSpan) -> Finding:
        """The finding at its place in the given text; it takes in a replaced span it touches."""
        start, _ = self._piece(found.start)
        _, end = self._piece(found.end - 1)
        return Finding(found.rule, start, end)

    def neighbourhoods(self) -> list[tuple[int, int]]:
        """The parts around the replaced spans, with whole lines. Reads the text once."""
        parts: list[tuple[int, int]] = []
        done = 0
        for start, (_, _, kept) in zip(self._starts, self._given, strict=True):
            if kept or start + _AROUND_CHARS <= done:
                continue
            first = self.text.rfind("\n", done, max(0, start - _AROUND_CHARS)) + 1
            last = self.text.find("\n", start + _AROUND_CHARS)
            last = last if last >= 0 else len(self.text)
            if parts and first <= done:
                parts[-1] = (parts[-1][0], last)
            else:
                parts.append((first, last))
            done = last
        return parts

    def _piece(self, position: int) -> tuple[int, int]:
        """The given span behind one character."""
        index = bisect_right(self._starts, position) - 1
        start, end, kept = self._given[index]
        if not kept:
            return start, end
        offset = start + position - self._starts[index]
        return offset, offset + 1


def _stand_in(finding: Finding, given: str) -> str:
    if finding.rule != PRIVATE:
        return f"{MARK}{finding.rule}]"
    before, after = given[finding.start - 1 : finding.start], given[finding.end : finding.end + 1]
    return " " if before.strip() and after.strip() else ""


def _private_spans(text: str) -> Iterator[Finding]:
    """The outermost private parts; a lone closing tag is a part of its own."""
    depth = start = 0
    for mark in _PRIVATE_MARK.finditer(text):
        if not mark["close"]:
            start = start if depth else mark.start()
            depth += 1
        elif depth <= 1:
            yield Finding(PRIVATE, start if depth else mark.start(), mark.end())
            depth = 0
        else:
            depth -= 1
    if depth:
        end = _PARAGRAPH_END.search(text, start)
        yield Finding(PRIVATE, start, end.start() if end else len(text))


def _merged(findings: Iterable[Finding]) -> list[Finding]:
    """Disjoint findings in order; among overlapping ones the first and longest names the rule."""
    merged: list[Finding] = []
    for finding in sorted(findings, key=lambda f: (f.start, -f.end)):
        last = merged[-1] if merged else None
        if last and finding.start < last.end:
            merged[-1] = Finding(last.rule, last.start, max(last.end, finding.end))
        else:
            merged.append(finding)
    return merged
