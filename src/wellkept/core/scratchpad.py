"""What the observer keeps: a scratchpad for each session, sightings across sessions, explanations.

A scratchpad holds what was noticed while work went on; nothing of it is a memory. Once the work
has held up, what each session showed of a subject is kept as one sighting, and sightings of several
sessions become memories. Invariant: a session has at most one sighting of a kind and subject, so
taking a session in again, or sessions in another order, changes nothing.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final, Literal, TypeAlias

from wellkept.core.codec import Json
from wellkept.core.records import record

KEPT_SESSIONS: Final = 30
"""How many sessions, the latest, back one subject."""

Verdict: TypeAlias = Literal["passed", "failed"]
Proof: TypeAlias = Literal["test", "ci", "check", "commit", "qa"]
Cause: TypeAlias = Literal["wrong_assumption", "missing_context", "cascading_change"]
EndedBy: TypeAlias = Literal["instead", "first", "edit"]
"""What ends an error: the command said in another way, another command first, or an edit."""


class SignalKind(StrEnum):
    """What a session can show: the six signals, and what is counted beside them."""

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
    """How the work of a session stands."""

    OPEN = "open"
    WAITING = "waiting"  # over, and nobody can say yet whether it holds
    FAILED = "failed"
    PROMOTED = "promoted"


# -- The six signals, as one session gathers them -------------------------------------------------


@record
class FileAccess:
    """A file that was read or changed, how often, and between which steps."""

    path: str
    reads: int
    edits: int
    first_step: int
    last_step: int


@record
class CoAccess:
    """Two files that were used within a few steps; `file_a` sorts before `file_b`.

    `a_first` counts how often the first of the two came first. `edited` when one of them was
    changed, `both_edited` when both were.
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
    """An error that came again, by its signature, and what ended it. `in_progress` when tests or
    checks said it: such errors are mended as part of the work."""

    signature: str
    tool: str
    message: str
    count: int
    first_step: int
    last_step: int
    command: str | None = None
    resolved_how: str | None = None
    files: tuple[str, ...] = ()
    ended_by: EndedBy | None = None
    in_progress: bool = False


@record
class Backtrack:
    """An edit that was made again soon after, and the likely cause.

    `files` are what was edited in between or read in between, `hint` what failed in between.
    """

    path: str
    within_steps: int
    cause: Cause
    count: int
    step: int
    files: tuple[str, ...] = ()
    hint: str | None = None


@record
class SequenceStep:
    """One step of a sequence: the tool, the scope it worked on, and the very file or command."""

    tool: str
    scope: str
    what: str


@record
class TimeAnomaly:
    """A file that took long: how long it was dwelt on, and how often one part of it was read."""

    path: str
    dwell_ms: int
    read_count: int


@record
class AbandonedApproach:
    """An approach that was given up after real effort, between two steps."""

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
    """Something that the agent asked to remember, or a person's standing instruction.

    `type` is a memory type by name. It is no memory before the work has held up.
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
    """A commit of the session. `undone` when it was taken back later."""

    sha: str | None
    subject: str
    step: int
    files: tuple[str, ...] = ()
    undone: bool = False
    edits_before: int = 0


@record
class Validation:
    """Something that told whether the work holds: by what, with which words, at which step."""

    verdict: Verdict
    by: Proof
    detail: str
    step: int
    at_ms: int
    edits_before: int = 0


@record
class QaIssue:
    """Something that QA found."""

    description: str
    severity: Literal["critical", "high", "medium", "low"] = "high"
    file: str | None = None
    module: str | None = None
    tried: str | None = None
    recommendation: str | None = None


@record
class TaskScratchpad:
    """What was noticed of one sub-task; a session without sub-tasks has one sheet, named None."""

    task: str | None = None
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
    """Everything that was noticed in one session. `revision` counts how often it was written.

    `work` belongs to whoever notices and means nothing to anyone else. `planned` and `done` are
    the items of the agent's own plan: how many there were first, and how many were done.
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
    sheets: tuple[TaskScratchpad, ...] = ()
    work: Json = None
    revision: int = 0

    def sheet(self, task: str | None) -> TaskScratchpad:
        """The sheet of a sub-task, new if need be."""
        return next(
            (s for s in self.sheets if s.task == task), TaskScratchpad(task, self.step, self.step)
        )

    @property
    def notes(self) -> tuple[AgentNote, ...]:
        """Every note of the session, in the order of its sub-tasks."""
        return tuple(note for sheet in self.sheets for note in sheet.notes)


# -- Across sessions ------------------------------------------------------------------------------


@record(kw_only=True)
class SessionSignal:
    """What one session showed of one subject; `detail` belongs to the kind."""

    project: str
    kind: SignalKind
    subject: str
    session_id: str
    at: datetime
    count: int = 1
    module: str = ""
    detail: Json = None


@record(kw_only=True)
class Explanation:
    """Why a memory was promoted: by which rule, on which signals, with which score."""

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
        """Whether the score was weighed from its three parts; some rules know it by themselves."""
        return self.frequency > 0.0


def pair_subject(file_a: str, file_b: str) -> str:
    """The subject under which two files are counted together, whichever comes first."""
    return "\n".join(sorted((file_a, file_b)))
