"""Files to read before work in a module begins, with their beginnings: what a session would
otherwise spend its first steps on.

Only files inside the project are read, as text, and never much of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.payloads import PrefetchPattern
from holdfast.core.records import record
from holdfast.core.text import clean
from holdfast.core.types import Phase
from holdfast.memory.ageing.presence import project_path
from holdfast.memory.offers import may_be_pushed, prefetch
from holdfast.memory.wording.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from holdfast.app.wiring import Wires

MAX_FILES = 5
MAX_CHARS = 3_000


@record
class Preloaded:
    """The beginning of a file; `is_cut` when there is more of it."""

    path: str
    text: str
    is_cut: bool


def preloaded(
    wires: Wires, *, files: Sequence[str] = (), phase: Phase | None = Phase.IMPLEMENT
) -> list[Preloaded]:
    """The files that work nearly always reads: that on the modules of `files`, or, without any, on
    what was worked on last. Nothing in a phase that does not change code."""
    named = wires.asker.files(files)
    found: dict[str, None] = {}
    for offer in prefetch(wires.engine, wires.project, named, phase=phase):
        pattern = offer.memory.payload
        if isinstance(pattern, PrefetchPattern) and may_be_pushed(offer.memory):
            found |= dict.fromkeys(pattern.always_read_files)
    at_hand = set(named)
    wanted = [path for path in found if path not in at_hand][:MAX_FILES]
    read = (_beginning(wires.identity.root, path) for path in wanted)
    return [one for one in read if one is not None]


def _beginning(root: Path, path: str) -> Preloaded | None:
    """The beginning of a text file; None when it is gone, outside, or no text."""
    inside = project_path(path)
    if inside is None:
        return None
    try:
        file = (root / inside).resolve()
        if not file.is_relative_to(root.resolve()) or not file.is_file():
            return None
        with file.open(encoding="utf-8") as opened:
            text = opened.read(MAX_CHARS + 1)
    except (OSError, ValueError):
        return None
    shown = redact(clean(text[:MAX_CHARS])).text
    return Preloaded(inside, shown, len(text) > MAX_CHARS)
