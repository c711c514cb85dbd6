"""Finds secrets: by format, as blocks, in the columns of tables, encoded, and by the judge.

The judge says how likely a value is a secret, from its shape, its place and the words near it: a
linear model whose weights `python -m bench.secrets_train` learns. Two thresholds: above `SURE` a
value is taken everywhere, above `LIKELY` only from what is exported, shared or told.

Only parts of a text that a cheap search points at are read closely, so the work is linear in the
text. Knows nothing of redaction itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

from wellkept.text.secrets.blocks import find_key_blocks, public_spans
from wellkept.text.secrets.candidates import Candidate, candidates
from wellkept.text.secrets.columns import find_in_columns
from wellkept.text.secrets.formats import find_formats
from wellkept.text.secrets.shape import MARK, SecretSpan, WorkCount, is_random, learned
from wellkept.text.secrets.windows import Encoded, Window, windows

SURE = -1.0
LIKELY = -2.2
_NAMES = {
    "": "high-entropy", "key": "api-key", "token": "token", "secret": "secret",
    "session": "cookie", "provider": "provider-key",
}  # fmt: skip
# What goes on behind a value although a sign ends a word: the rest belongs to it.
_REST = re.compile(r"(?:[(\[{&$^*!~%=;:][A-Za-z0-9!#$%&*+./?@^_~-]+)+")
_TAIL = re.compile(r"=+|[^\s\"'`,;)}\]<>|&\\]*")
# The rest of a value that a line break, a plus sign or a diff splits.
_CONTINUED = re.compile(
    r"(?:(?P<quote>[\"'])\s{0,4}[+.\\]?\s{0,4}(?:\n(?:[ \t]{0,6}\d{1,6}[\t→])?|\\n)?"
    r"[+-]?\s{0,40}(?P=quote)"
    r"|\\?\r?\n[+>-]?[ \t]{0,40})([A-Za-z0-9+/=_.-]{8,400})(?=[\"'\s),;]|\Z)"
)
# How a project is named by its first commit.
_PROJECT = re.compile(r"root:[0-9a-f]{40}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# How loudly a cue speaks: what stands around a value says more where nothing names it.
_HEARD = {"password": "", "secret": "", "token": "", "": "--"}
_NO_CUE = frozenset({"", "session", "provider"})
_CONTINUATIONS = 20
_MAX_JUDGED = 30_000


def find_secrets(text: str, work: WorkCount, *, least: float = SURE) -> list[SecretSpan]:
    """Every secret in the text; finds may overlap. `least` is the score that the judge asks for."""
    parts = list(windows(text))
    encoded = Encoded(parts, work)
    found = _find_plain(text, parts, work, least, public=[*public_spans(text), *encoded.runs])
    if encoded.runs:
        inner = _find_plain(encoded.text, list(windows(encoded.text)), work, least)
        found.extend(encoded.spans(inner))
    return found


def _find_plain(
    text: str,
    parts: Sequence[Window],
    work: WorkCount,
    least: float,
    *,
    public: Sequence[tuple[int, int]] = (),
) -> list[SecretSpan]:
    found = [*find_key_blocks(text, work)]
    starts, ends = [start for start, _ in sorted(public)], [end for _, end in sorted(public)]
    places = ((window.start, window.start + len(window.text)) for window in parts)
    found.extend(find_in_columns(text, places, work))
    for window in parts:
        work.places += 1
        at = window.start
        found.extend(
            SecretSpan(s.rule, s.start + at, s.end + at) for s in find_formats(window.text, work)
        )
        for one, span in _judged(window.text, work, least):
            before = bisect_right(starts, span.start + at) - 1
            is_public = before >= 0 and span.start + at < ends[before]
            if one.cue or span.rule == "dense" or not is_public:
                found.append(SecretSpan(span.rule, span.start + at, span.end + at))
    if found:
        found.extend(_continued(text, found, work))
    return found


def _judged(text: str, work: WorkCount, least: float) -> Iterator[tuple[Candidate, SecretSpan]]:
    end = 0
    for one in candidates(text):
        work.places += 1
        work.judged += 1
        if work.judged > _MAX_JUDGED:
            # No text that people or programs write is so dense: the rest of it is not kept.
            yield one, SecretSpan("dense", one.start, len(text))
            return
        if (
            score(one) > least
            and MARK not in text[max(0, one.start - 24) : one.start]
            and not _PROJECT.fullmatch(text, max(0, one.start - 5), one.end)
            and not (one.cue in _NO_CUE and _UUID.fullmatch(text, one.start, one.end))
        ):
            # What follows a value is read once, also when it holds further values.
            if one.end > end:
                rest = _REST.match(text, one.end)
                end = rest.end() if rest else one.end
            yield one, SecretSpan(_NAMES.get(one.cue, "password"), one.start, end)


def _continued(text: str, found: Sequence[SecretSpan], work: WorkCount) -> Iterator[SecretSpan]:
    """The rest of values that go on in the next string or line."""
    read: set[int] = set()
    for span in found:
        end = span.end
        for _ in range(_CONTINUATIONS):
            match = None if end in read else _CONTINUED.match(text, end)
            read.add(end)
            if not match or not (
                is_random(match[2]) or (match["quote"] and any(map(str.isdigit, match[2])))
            ):
                break
            work.places += 1
            yield SecretSpan(span.rule, *match.span(2))
            end = match.end(2)


def features(shape: str, place: str, cue: str, flags: tuple[str, ...]) -> tuple[str, ...]:
    """The features of a value: each alone, in pairs, and all three."""
    kind, heard = shape.partition(":")[0], _HEARD.get(cue, "-")
    return (
        shape, kind, place, f"cue={cue}", f"{kind}|{place}", f"{place}|{cue}", f"{kind}|{cue}",
        f"{shape}|{cue}", f"{kind}|{place}|{cue}", f"{shape}|{place}|{cue}", *flags,
        *(f"{kind}{heard}|{flag}" for flag in flags), *(f"{place}|{flag}" for flag in flags),
    )  # fmt: skip


def word_features(shape: str, cue: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """The features of what stands around a value: each alone, and with the class of the value."""
    kind, heard = shape.partition(":")[0], _HEARD.get(cue, "-")
    alone = (heard + word if word[0] in "lr" else word for word in words)
    return (*alone, *(f"{kind}{heard}|{word}" for word in words))


def score(one: Candidate) -> float:
    """The log-odds that it is a secret."""
    weights: dict[str, float] = learned()["weights"]
    known = _score(one.shape, one.place, one.cue, one.flags)
    return known + sum(weights.get(f, 0.0) for f in word_features(one.shape, one.cue, one.words))


@lru_cache(maxsize=65_536)
def _score(shape: str, place: str, cue: str, flags: tuple[str, ...]) -> float:
    model = learned()
    weights: dict[str, float] = model["weights"]
    return model["bias"] + sum(weights.get(one, 0.0) for one in features(shape, place, cue, flags))
