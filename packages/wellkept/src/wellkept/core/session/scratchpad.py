"""Observer records: scratchpads of sessions, signals across sessions, explanations.

A scratchpad holds what was reviewed of one session. Once the work passed validation, each session
leaves at most one signal per kind and subject. Signals of several sessions become memories.
Invariant: ingesting a session again, or sessions in another order, changes nothing.
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
class Validation:
    """One test run, check, commit or verdict that passed or failed; a commit that was taken back
    failed. `edits_before` counts the edits that it saw."""

    verdict: Verdict
    by: ValidationSource
    detail: str
    step: int
    at_ms: int
    edits_before: int = 0
    sha: str | None = None
    files: tuple[str, ...] = ()


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
    """What was reviewed of one sub-task; without sub-tasks a session has one, whose `name` is None.

    Steps up to `since` belong to runs that failed, `retries` of them. `changed` is the last step
    that called for a review.
    """

    name: str | None = None
    since: int = -1
    retries: int = 0
    changed: int = 0
    validations: tuple[Validation, ...] = ()
    notes: tuple[AgentNote, ...] = ()


@record(kw_only=True)
class Scratchpad:
    """What was reviewed of one session: notes, verdicts, promotions and failed runs. What was done
    stands in its step log. `step` is the latest step that it knows, `revision` counts writes."""

    session_id: str
    project: str
    updated_at: datetime
    state: ScratchpadStatus = ScratchpadStatus.OPEN
    step: int = 0
    failed_runs: int = 0
    promoted_count: int = 0
    tasks: tuple[TaskScratchpad, ...] = ()
    revision: int = 0

    def for_task(self, name: str | None) -> TaskScratchpad:
        """What was reviewed of a sub-task; nothing yet if it is not known."""
        known = (task for task in self.tasks if task.name == name)
        return next(known, TaskScratchpad(name))

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
