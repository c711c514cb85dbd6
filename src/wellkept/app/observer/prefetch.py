"""Files to read before work in a module begins, with their beginnings: what a session would
otherwise spend its first steps on.

Only files inside the project are read, as text, and never much of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.payloads import PrefetchPattern
from wellkept.core.records import record
from wellkept.core.scratchpad import SignalKind
from wellkept.core.text import clean
from wellkept.core.types import Phase
from wellkept.memory.context.candidates import is_work_on_code, may_be_pushed, prefetch
from wellkept.memory.file_presence import project_path
from wellkept.memory.text.redaction import redact
from wellkept.observe.learning.co_access import always_read_with, frequent_companions
from wellkept.observe.learning.file_usage import FileUsage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from wellkept.app.wiring.services import Services
    from wellkept.core.scratchpad import SessionSignal

MAX_FILES = 5
MAX_CHARS = 3_000
_LOOKED_AT = 5_000


@record
class PrefetchedFile:
    """The beginning of a file; `is_cut` when there is more of it."""

    path: str
    text: str
    is_cut: bool


def prefetch_files(
    services: Services, *, files: Sequence[str] = (), phase: Phase | None = Phase.IMPLEMENT
) -> list[PrefetchedFile]:
    """The files that work nearly always reads: that on `files` and on their modules, or, without
    any, on what was worked on last. Nothing in a phase that does not change code."""
    named = services.requests.files(files)
    found: dict[str, None] = {}
    if is_work_on_code(phase):
        found |= dict.fromkeys(other for path in named for other in _read_with(services, path))
    for offer in prefetch(services.engine, services.project, named, phase=phase):
        pattern = offer.memory.payload
        if isinstance(pattern, PrefetchPattern) and may_be_pushed(offer.memory):
            found |= dict.fromkeys(pattern.always_read_files)
    at_hand = set(named)
    wanted = [path for path in found if path not in at_hand][:MAX_FILES]
    read = (_beginning(services.identity.root, path) for path in wanted)
    return [one for one in read if one is not None]


def _read_with(services: Services, path: str) -> list[str]:
    """What sessions on this very file nearly always used: a module may hold many kinds of work."""

    def accesses(
        *, subjects: Sequence[str] = (), sessions: Sequence[str] = ()
    ) -> list[SessionSignal]:
        return services.engine.store.signals(
            project=services.project,
            kinds=(SignalKind.FILE_ACCESS,),
            subjects=subjects,
            sessions=sessions,
            limit=_LOOKED_AT,
        )

    mine = accesses(subjects=(path,))
    if not mine:
        return []
    others = frequent_companions(path, accesses(sessions=[one.session_id for one in mine]))
    return always_read_with(mine, others, FileUsage(accesses(subjects=others))) if others else []


def _beginning(root: Path, path: str) -> PrefetchedFile | None:
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
    return PrefetchedFile(inside, shown, len(text) > MAX_CHARS)
