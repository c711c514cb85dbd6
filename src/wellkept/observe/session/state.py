"""What the observer of a session holds open between two events, as plain data.

It is kept with the session, in the same transaction as what was made of the events; so any process
can go on where another stopped. Everything in it comes from cleaned events and is bounded.
"""

from __future__ import annotations

from typing import Literal, TypeVar, cast

from wellkept.core.codec import Json, payload_from_json, payload_to_json
from wellkept.core.errors import UsageError
from wellkept.core.records import record, replace
from wellkept.core.session_steps import SessionStep

MAX_LISTED = 40
_Item = TypeVar("_Item")


@record
class FileWork:
    """What was done to one file and is not told yet. `step` is when it was last touched."""

    path: str
    kind: Literal["code", "test", "config", "document", "other"]
    created: bool = False
    deleted: bool = False
    moved_from: str | None = None
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()
    lines: int = 0
    tokens: int = 0
    first_step: int = 0
    step: int = 0


@record
class ReportedWork:
    """Work on a file that was told under a key: more of its kind soon after is told there again.

    `prompt_number` is where it began.
    """

    key: str
    title: str
    kind: str
    prompt_number: int
    work: FileWork
    tokens: int
    files_read: tuple[str, ...] = ()


@record
class Failure:
    """A command that failed and has not worked since."""

    subject: str
    command: str
    is_test: bool
    step: int
    names: tuple[str, ...] = ()
    error: str | None = None
    attempts: int = 1
    between: tuple[str, ...] = ()
    told: bool = False


@record
class AgentTrace:
    """The work of the agent, or of one of its sub-agents, since the last observation."""

    agent: str | None = None
    step: int = 0
    tokens: int = 0
    files_read: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    works: tuple[FileWork, ...] = ()
    told: tuple[ReportedWork, ...] = ()
    failures: tuple[Failure, ...] = ()
    verified_by: str | None = None


@record
class SummaryInput:
    """What a session's summary is told from."""

    requests: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    last_message: str | None = None
    compaction: str | None = None


@record
class SessionState:
    """Everything held open in one session.

    `caught_from` is the moment of the first event that a hook process caught: what a transcript
    tells from there on is known already. `imported` says that a transcript was taken in.
    """

    roots: tuple[str, ...] = ()
    next_seq: int = 0
    intent: Literal["fix", "feature", "refactor", "other"] = "other"
    threads: tuple[AgentTrace, ...] = ()
    tale: SummaryInput = SummaryInput()
    calls: tuple[str, ...] = ()
    model_failures: int = 0
    caught_from: str | None = None
    imported: bool = False
    trail: tuple[SessionStep, ...] = ()

    def thread(self, agent: str | None) -> AgentTrace:
        """The thread of an agent, new if need be."""
        return next((t for t in self.threads if t.agent == agent), AgentTrace(agent))

    def with_thread(self, thread: AgentTrace) -> SessionState:
        """The desk with one thread put back; one that holds nothing is dropped."""
        others = tuple(t for t in self.threads if t.agent != thread.agent)
        keep = thread.agent is None or thread.works or thread.failures or thread.tokens
        return replace(self, threads=(*others, thread) if keep else others)


def load_state(work: Json) -> SessionState:
    """The desk as it was kept; an empty one when it is of another time and cannot be read."""
    if not isinstance(work, dict):
        return SessionState()
    try:
        return payload_from_json(SessionState, cast("dict[str, Json]", work))
    except UsageError:
        seq = work.get("next_seq")
        return SessionState(next_seq=seq if isinstance(seq, int) else 0)


def dump_state(desk: SessionState) -> Json:
    """The desk as JSON."""
    return cast("Json", payload_to_json(desk))


def joined(
    old: tuple[_Item, ...], new: tuple[_Item, ...], *, most: int = MAX_LISTED
) -> tuple[_Item, ...]:
    """Both lists without repeats, the later mention counting; the latest are kept."""
    fresh = tuple(dict.fromkeys(new))
    return (*(item for item in old if item not in fresh), *fresh)[-most:]
