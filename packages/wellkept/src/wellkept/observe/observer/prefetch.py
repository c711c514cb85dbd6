"""Answers of `wk.observer`: the recipes that fit a task, with staleness, and the beginnings of
files that work in a module nearly always reads.

Only for callers that ask; nothing here is injected. Reads text files inside the project only, and a
few thousand characters of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.code_modules import module_of
from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory
from wellkept.core.payloads import PrefetchPattern, WorkflowRecipe
from wellkept.core.query import Filter
from wellkept.core.records import record
from wellkept.core.session.scratchpad import SignalKind
from wellkept.core.text import clean
from wellkept.core.types import MemoryType, Phase
from wellkept.memory.file_presence import project_path
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import DEFAULT_MIN_SCORE, RecallRequest
from wellkept.observe.learning.co_access import (
    FileUsage,
    always_read_with,
    frequent_companions,
    prefetch_patterns,
)
from wellkept.observe.upkeep.staleness import stale_reasons
from wellkept.text.secrets.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from wellkept.core.ports.store import Store
    from wellkept.core.session.scratchpad import SessionSignal
    from wellkept.memory.workspace import Workspace

DEFAULT_LIMIT = 2

MAX_FILES = 5
MAX_CHARS = 3_000
_MAX_PATTERNS = 2
_MAX_SIGNALS = 20_000
_CODE_PHASES = (None, Phase.IMPLEMENT, Phase.REFINE)


@record
class PrefetchedFile:
    """The beginning of a file. `is_cut`: the file is longer."""

    path: str
    text: str
    is_cut: bool


def prefetch_files(
    store: Store,
    *,
    project: str,
    root: Path,
    files: Sequence[str] = (),
    phase: Phase | None = Phase.IMPLEMENT,
) -> list[PrefetchedFile]:
    """The files that sessions on `files` and their modules nearly always read; without `files`,
    those of the latest patterns. Empty in phases that do not change code."""
    if phase not in _CODE_PHASES:
        return []
    found = dict.fromkeys(other for path in files for other in _read_with(store, project, path))
    for pattern in _patterns(store, project, files):
        found |= dict.fromkeys(pattern.always_read_files)
    others = [path for path in found if path not in set(files)][:MAX_FILES]
    read = (_beginning(root, path) for path in others)
    return [one for one in read if one is not None]


def _patterns(store: Store, project: str, files: Sequence[str]) -> list[PrefetchPattern]:
    known = store.signals(project=project, kinds=(SignalKind.FILE_ACCESS,), limit=_MAX_SIGNALS)
    modules = {module_of(path) for path in files}
    found = prefetch_patterns(known)
    return [one for one in found if not files or one.module_trigger in modules][:_MAX_PATTERNS]


def _read_with(store: Store, project: str, path: str) -> list[str]:
    """Files that nearly all sessions on this file used. A module may hold many kinds of work."""

    def accesses(
        *, subjects: Sequence[str] = (), sessions: Sequence[str] = ()
    ) -> list[SessionSignal]:
        return store.signals(
            project=project,
            kinds=(SignalKind.FILE_ACCESS,),
            subjects=subjects,
            sessions=sessions,
            limit=_MAX_SIGNALS,
        )

    own = accesses(subjects=(path,))
    if not own:
        return []
    others = frequent_companions(path, accesses(sessions=[one.session_id for one in own]))
    return always_read_with(own, others, FileUsage(accesses(subjects=others))) if others else []


def _beginning(root: Path, path: str) -> PrefetchedFile | None:
    """The beginning of a text file; None when it is gone, outside the project, or not text."""
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


@record
class FoundRecipe:
    """A recipe that fits a task. `stale_reason` says why it may be out of date."""

    memory: Memory
    recipe: WorkflowRecipe
    score: float
    stale_reason: str | None = None


def find_recipes(
    services: Workspace, task: str, *, limit: int = DEFAULT_LIMIT
) -> list[FoundRecipe]:
    """The recipes that fit a task, best first. A lookup counts as a use and slows their decay."""
    if not task.strip():
        raise UsageError("The task is empty.", hint="Describe the task to find a recipe for.")
    request = RecallRequest(
        query=task,
        where=Filter(project=services.project, types=(MemoryType.WORKFLOW_RECIPE,)),
        limit=limit,
        phase=Phase.DEFINE,
        read_dates=False,
        min_score=DEFAULT_MIN_SCORE,
    )
    found = recall(services.engine, request)
    with stale_reasons(services) as why:
        return [
            FoundRecipe(
                hit.memory, hit.memory.payload, hit.score, _stale(hit.memory, why(hit.memory))
            )
            for hit in found
            if isinstance(hit.memory.payload, WorkflowRecipe)
        ]


def _stale(memory: Memory, reason: str | None) -> str | None:
    return reason or ("a file of it is gone" if memory.stale_at else None)
