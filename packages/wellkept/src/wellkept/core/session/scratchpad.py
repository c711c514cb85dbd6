"""Observer records: scratchpads of sessions, signals across sessions, explanations.

A scratchpad holds what was observed in one session; none of it is a memory. Once the work passed
validation, each session leaves at most one signal per kind and subject. Signals of several sessions
become memories. Invariant: ingesting a session again, or sessions in another order, changes
nothing.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final, Literal, TypeAlias

from wellkept.core.codec import Json
from wellkept.core.records import record, replace

MAX_SESSIONS_PER_SUBJECT: Final = 30
"""Only the latest sessions of a subject are stored."""

Verdict: TypeAlias = Literal["passed", "failed"]
ValidationSource: TypeAlias = Literal["test", "ci", "check", "commit", "qa"]
BacktrackCause: TypeAlias = Literal["wrong_assumption", "missing_context", "cascading_change"]
ResolvedBy: TypeAlias = Literal["instead", "first", "edit"]
"""What resolved an error: another form of the command, another command run first, or an edit."""


class SignalKind(StrEnum):
    """Kinds of signals: the six of the design, then those counted in addition."""

    FILE_ACCESS = "file_access"
    CO_ACCESS = "co_access"
    ERROR_RETRY = "error_retry"
    BACKTRACK = "backtrack"
    SEQUENCE = "sequence"
    TIME_ANOMALY = "time_anomaly"
    DEAD_END = "dead_end"
    INSTRUCTION = "instruction"
    NOTE = "note"
    CONTEXT_COST = "context_cost"
    CALIBRATION = "calibration"
    E2E = "e2e"


class ScratchpadStatus(StrEnum):
    """Review status of a session's scratchpad."""

    OPEN = "open"
    WAITING = "waiting"  # over, not validated yet
    FAILED = "failed"
    PROMOTED = "promoted"


# -- The six signals, collected in one session ----------------------------------------------------


@record
class FileAccess:
    """Reads and edits of one file, and the steps of its first and last use."""

    path: str
    reads: int
    edits: int
    first_step: int
    last_step: int


@record
class CoAccess:
    """Two files used within a few steps; `file_a` sorts before `file_b`.

    `a_first` counts how often `file_a` was used first. `edited`: at least one was edited.
    """

    file_a: str
    file_b: str
    count: int
    a_first: int
    step_delta: int
    time_delta_ms: int
    edited: bool
    step: int
    both_edited: bool = False


@record
class ErrorRetry:
    """A repeated error by its signature, and what resolved it.

    `in_progress`: reported by tests or checks, so fixing it is part of the work.
    """

    signature: str
    tool: str
    message: str
    count: int
    first_step: int
    last_step: int
    command: str | None = None
    resolved_how: str | None = None
    files: tuple[str, ...] = ()
    resolved_by: ResolvedBy | None = None
    in_progress: bool = False


@record
class Backtrack:
    """An edit repeated within a few steps, and its likely cause.

    `files` were edited or read in between; `hint` is what failed in between.
    """

    path: str
    within_steps: int
    cause: BacktrackCause
    count: int
    step: int
    files: tuple[str, ...] = ()
    hint: str | None = None


@record
class SequenceStep:
    """One step of a sequence: tool, scope, and the exact file or command."""

    tool: str
    scope: str
    what: str


@record
class TimeAnomaly:
    """Time spent on a file, and how often the same part of it was read."""

    path: str
    dwell_ms: int
    read_count: int


@record
class AbandonedApproach:
    """An approach abandoned between two steps. `said`: the agent stated it itself."""

    approach: str
    why: str
    first_step: int
    last_step: int
    files: tuple[str, ...] = ()
    alternative: str | None = None
    said: bool = False


# -- The scratchpad -------------------------------------------------------------------------------


@record
class AgentNote:
    """A note of the agent, or with `by_person` an instruction of the user.

    `type` names a memory type. A note becomes a memory once the work passed validation.
    """

    id: str
    content: str
    type: str
    step: int
    at_ms: int
    files: tuple[str, ...] = ()
    by_person: bool = False


@record
class SessionCommit:
    """A commit of the session. `undone`: it was reverted later."""

    sha: str | None
    subject: str
    step: int
    files: tuple[str, ...] = ()
    undone: bool = False
    edits_before: int = 0


@record
class Validation:
    """One test run, check, commit or verdict that passed or failed."""

    verdict: Verdict
    by: ValidationSource
    detail: str
    step: int
    at_ms: int
    edits_before: int = 0


@record
class QaIssue:
    """An issue found by QA."""

    description: str
    severity: Literal["critical", "high", "medium", "low"] = "high"
    file: str | None = None
    module: str | None = None
    tried: str | None = None
    recommendation: str | None = None


@record
class TaskScratchpad:
    """Observations of one sub-task. Without sub-tasks a session has one, whose `name` is None."""

    name: str | None = None
    first_step: int = 0
    last_step: int = 0
    last_edit_step: int = 0
    edit_count: int = 0
    tokens: int = 0
    retries: int = 0
    files: tuple[FileAccess, ...] = ()
    pairs: tuple[CoAccess, ...] = ()
    errors: tuple[ErrorRetry, ...] = ()
    backtracks: tuple[Backtrack, ...] = ()
    dead_ends: tuple[AbandonedApproach, ...] = ()
    anomalies: tuple[TimeAnomaly, ...] = ()
    sequence: tuple[SequenceStep, ...] = ()
    commits: tuple[SessionCommit, ...] = ()
    validations: tuple[Validation, ...] = ()
    notes: tuple[AgentNote, ...] = ()
    decisions: tuple[str, ...] = ()
    promoted: bool = False


@record(kw_only=True)
class Scratchpad:
    """Observations of one session. `revision` counts writes.

    `planned` and `done` count the items of the agent's own plan: planned at first, done at the end.
    """

    session_id: str
    project: str
    updated_at: datetime
    state: ScratchpadStatus = ScratchpadStatus.OPEN
    step: int = 0
    request: str | None = None
    planned: int = 0
    done: int = 0
    failed_runs: int = 0
    promoted_count: int = 0
    tasks: tuple[TaskScratchpad, ...] = ()
    revision: int = 0

    def for_task(self, name: str | None) -> TaskScratchpad:
        """The scratchpad of a sub-task, new if it does not exist."""
        new = TaskScratchpad(name, self.step, self.step)
        return next((task for task in self.tasks if task.name == name), new)

    def with_task(self, task: TaskScratchpad) -> Scratchpad:
        """The scratchpad with one sub-task replaced, or added at the end."""
        if any(one.name == task.name for one in self.tasks):
            tasks = tuple(task if one.name == task.name else one for one in self.tasks)
        else:
            tasks = (*self.tasks, task)
        return replace(self, tasks=tasks)

    @property
    def notes(self) -> tuple[AgentNote, ...]:
        """All notes of the session, in the order of its sub-tasks."""
        return tuple(note for task in self.tasks for note in task.notes)


# -- Across sessions ------------------------------------------------------------------------------


@record(kw_only=True)
class SessionSignal:
    """What one session showed about one subject. The fields of `detail` depend on the kind."""

    project: str
    kind: SignalKind
    subject: str
    session_id: str
    at: datetime
    count: int = 1
    module: str = ""
    detail: Json = None

    @property
    def fields(self) -> dict[str, Json]:
        """The detail as an object; empty when it is none."""
        return self.detail if isinstance(self.detail, dict) else {}

    def text(self, name: str) -> str:
        """A text field of the detail; empty when missing."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int:
        """A number field of the detail; 0 when missing."""
        value = self.fields.get(name)
        return value if isinstance(value, int) else 0

    def texts(self, name: str) -> list[str]:
        """A list field of the detail; empty when missing."""
        value = self.fields.get(name)
        return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


@record(kw_only=True)
class Explanation:
    """Why a memory was promoted: rule, sessions, signals, score."""

    memory_id: str
    project: str
    rule: str
    subject: str
    at: datetime
    validated_by: str
    sessions: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    score: float = 0.0
    frequency: float = 0.0
    recency: float = 0.0
    novelty: float = 0.0
    threshold: float = 0.0

    @property
    def is_weighed(self) -> bool:
        """Whether the score is the weighted sum of its parts; some rules set it directly."""
        return self.frequency > 0.0


def pair_subject(file_a: str, file_b: str) -> str:
    """The signal subject of a pair of files, independent of their order."""
    return "\n".join(sorted((file_a, file_b)))
