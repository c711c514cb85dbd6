"""The moments at which context is told: one row each, with what may be told and how much room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from wellkept.context.candidates import INJECTED_TYPES, RULE_TYPES, WARNING_TYPES
from wellkept.core.records import record
from wellkept.core.types import MemoryType, Phase
from wellkept.memory.recall.requests import CLEAR_SCORE, TOLD_FROM

if TYPE_CHECKING:
    from wellkept.project.work_tree_reader import WorkTree

TOLD_AT_PROMPT = (
    *RULE_TYPES,
    MemoryType.FACT,
    MemoryType.DECISION,
    MemoryType.PATTERN,
    MemoryType.WORKFLOW,
    MemoryType.GOTCHA,
    MemoryType.ERROR_PATTERN,
    MemoryType.DEAD_END,
)

TOLD_AT_FAILURE = tuple(one for one in WARNING_TYPES if one is not MemoryType.DEAD_END)
"""An approach that was given up shares many words with any failure and answers none."""


class Moment(StrEnum):
    """The event that context is built for."""

    SESSION = "session"
    PROMPT = "prompt"
    FILE = "file"
    COMMAND = "command"
    FAILURE = "failure"
    PLAN = "plan"


class ContextFormat(StrEnum):
    """What a context looks like: lines to go on with, or recent work as a table by date."""

    TEXT = "text"
    TABLE = "table"


class WorkKind(StrEnum):
    """The kinds of observations."""

    DECISION = "decision"
    BUGFIX = "bugfix"
    FEATURE = "feature"
    REFACTOR = "refactor"
    DISCOVERY = "discovery"
    CHANGE = "change"


@record(kw_only=True)
class MomentRow:
    """What one moment may be told.

    `tokens` is its room, None what the settings say; `skills` the share of it for skills. `items`
    is the most memories, `types` which of them recall may bring. At an `unasked` moment nobody
    asked: a memory is told from the probability `TOLD_FROM` on that it helps; elsewhere once it is
    a clear answer. `needs` is what a request cannot do without.
    """

    tokens: int | None = None
    skills: float = 0.0
    items: int | None = None
    types: tuple[MemoryType, ...] = INJECTED_TYPES
    unasked: bool = False
    needs: str = ""

    @property
    def least(self) -> float:
        """The probability from which on a memory is told."""
        return TOLD_FROM if self.unasked else CLEAR_SCORE


MOMENTS = {
    Moment.SESSION: MomentRow(skills=0.4),
    Moment.PROMPT: MomentRow(
        tokens=150, skills=0.7, items=3, types=TOLD_AT_PROMPT, unasked=True, needs="query"
    ),
    Moment.FILE: MomentRow(tokens=120, items=4, needs="files"),
    Moment.COMMAND: MomentRow(tokens=200, items=2, needs="query"),
    Moment.FAILURE: MomentRow(
        tokens=200, items=2, types=TOLD_AT_FAILURE, unasked=True, needs="query"
    ),
    Moment.PLAN: MomentRow(skills=0.4, items=5),
}

DEFAULT_BUDGET_TOKENS = 250
DEFAULT_DAYS = 30


@record(kw_only=True)
class ContextRequest:
    """The current situation and the limits of the answer.

    `reading` when a file is only read; `quiet` when only what is vouched for may be said. `days` is
    how far back work is told. A `trivial` task gets neither recipes nor end-to-end observations. Of
    memories only `types` are told, where a policy names them. `named` are files that a prompt
    names for the first time: what went wrong there is told, and a recipe for the task.
    """

    project: str
    moment: Moment = Moment.SESSION
    query: str = ""
    files: tuple[str, ...] = ()
    phase: Phase | None = None
    budget_tokens: int = DEFAULT_BUDGET_TOKENS
    max_chars: int | None = None
    shown: frozenset[str] = frozenset()
    session: str | None = None
    trivial: bool = False
    count_access: bool = False
    reading: bool = False
    quiet: bool = False
    days: int = DEFAULT_DAYS
    types: frozenset[MemoryType] | None = None
    named: tuple[str, ...] = ()


ReadTree: TypeAlias = "Callable[[Path, Sequence[str]], WorkTree | None]"
"""Folder and the paths that matter most -> what git says now."""


@record(kw_only=True)
class StartOptions:
    """How much earlier work is told, where the work tree is, and how it is read."""

    root: Path
    sessions: int
    observations: int
    days: int
    read_tree: ReadTree
    branch: str | None = None
    kinds: tuple[str, ...] = ()
    """The kinds of observations that are named; empty for all."""
    concepts: tuple[str, ...] = ()
