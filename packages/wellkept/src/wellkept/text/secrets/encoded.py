"""Finds base64 that hides secrets: an encoded .env file, key or configuration.

All encoded runs of a text are decoded into one, which is looked through once, so many short runs
cost no more than a long one. Only one level is decoded.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from wellkept.text.secrets.spans import SecretSpan, WorkCount

_RUN = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{24,}+={0,2}")
_TEXT = re.compile(rb"[\t\n\r -~]+")
_PROBE_CHARS = 24
_MAX_RUN_CHARS = 64_000
_MAX_PARTS = 12
_BETWEEN = "\n\x00\n"


def find_encoded(
    text: str,
    long: Sequence[tuple[int, int]],
    work: WorkCount,
    *,
    find: Callable[[str, WorkCount], Sequence[SecretSpan]],
) -> Iterator[SecretSpan]:
    """Base64 runs, in the long runs of a text, whose decoded text holds a secret."""
    runs: list[tuple[int, int]] = []
    decoded: list[str] = []
    starts: list[int] = []
    size = 0
    wide = (span for span in long if span[1] - span[0] >= _PROBE_CHARS)
    for run in (run for start, end in wide for run in _RUN.finditer(text, start, end)):
        start, shown = _first_text(run.group())
        if shown is None:
            continue
        work.places += 1
        runs.append((run.start() + start, run.end()))
        decoded.append(shown)
        starts.append(size)
        size += len(shown) + len(_BETWEEN)
    if not runs:
        return
    hits = {bisect_right(starts, f.start) - 1 for f in find(_BETWEEN.join(decoded), work)}
    for index in sorted(hits):
        yield SecretSpan("encoded-secret", *runs[index])


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
