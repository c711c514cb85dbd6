"""Session state carried between events. Serialised with the session.

The only state of the reducer: any process can continue where another stopped. It is written in the
same transaction as what the events made. Everything in it comes from cleaned events and is bounded.
"""

from __future__ import annotations

from typing import Literal, TypeVar, cast

from wellkept.core.codec import Json, record_from_json, record_to_json
from wellkept.core.errors import UsageError
from wellkept.core.records import record, replace
from wellkept.core.session.steps import SessionStep
from wellkept.observe.session.exchange import Exchange
from wellkept.observe.signals.state import SignalState

MAX_LISTED = 40
MAX_MESSAGES = 3
MAX_AGENTS = 40
_Item = TypeVar("_Item")


@record
class FileChange:
    """Unreported changes to one file. `first_step` and `step` are the first and last edit."""

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
class ReportedChange:
    """A change that has an observation under `key`; further changes soon after extend it.

    `prompt_number` is the prompt of the first of them.
    """

    key: str
    title: str
    kind: str
    prompt_number: int
    change: FileChange
    tokens: int
    files_read: tuple[str, ...] = ()


@record
class OpenFailure:
    """A command that failed and has not worked since.

    `step` is its first failure. `commands_since` are commands that worked meanwhile. `reported`
    when it needs no observation of its own.
    """

    agent: str | None
    subject: str
    command: str
    is_test: bool
    step: int
    names: tuple[str, ...] = ()
    error: str | None = None
    attempts: int = 1
    commands_since: tuple[str, ...] = ()
    reported: bool = False


@record
class AgentWork:
    """The work of the main agent, or of one sub-agent, since its last observation."""

    agent: str | None = None
    tokens: int = 0
    files_read: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    changes: tuple[FileChange, ...] = ()
    reported: tuple[ReportedChange, ...] = ()
    verified_by: str | None = None


@record
class AgentMessage:
    """What the agent said at the end of a turn, and the request that it answers."""

    text: str
    at_ms: int = 0
    asked: str = ""


@record
class MadeCommit:
    """A commit that a session made; the hash when git printed it."""

    subject: str
    sha: str | None = None


@record
class SummaryInput:
    """What a session's digest quotes. `messages` are the agent's last ones."""

    requests: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    commits: tuple[MadeCommit, ...] = ()
    decided: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    messages: tuple[AgentMessage, ...] = ()
    compaction: str | None = None
    compacted_at_ms: int = 0

    @property
    def last_message(self) -> str | None:
        """What the agent said last."""
        return self.messages[-1].text if self.messages else None


@record
class SessionState:
    """The whole state of one session.

    `cwd` is where the main agent stood after the last event. `step` counts tool calls; `steps` is
    the step log. `captured_from` is the time of the first
    event that a hook captured: a transcript is not imported from there on. `imported` when a
    transcript was imported.
    """

    roots: tuple[str, ...] = ()
    cwd: str | None = None
    next_seq: int = 0
    intent: Literal["fix", "feature", "refactor", "other"] = "other"
    step: int = 0
    steps: tuple[SessionStep, ...] = ()
    failures: tuple[OpenFailure, ...] = ()
    agents: tuple[AgentWork, ...] = ()
    summary: SummaryInput = SummaryInput()
    signals: SignalState = SignalState()
    calls: tuple[str, ...] = ()
    exchange: Exchange = Exchange()
    model_failures: int = 0
    captured_from: str | None = None
    imported: bool = False

    def work_of(self, agent: str | None) -> AgentWork:
        """The work of an agent, new if need be."""
        return next((work for work in self.agents if work.agent == agent), AgentWork(agent))

    def with_work(self, work: AgentWork) -> SessionState:
        """The state with one agent's work replaced; a sub-agent without open work is dropped."""
        others = tuple(one for one in self.agents if one.agent != work.agent)
        is_open = work.agent is None or work.changes or work.tokens
        agents = (*others, work) if is_open else others
        if len(agents) > MAX_AGENTS:
            oldest = next(one for one in agents if one.agent is not None)
            agents = tuple(one for one in agents if one is not oldest)
        return replace(self, agents=agents)


def load_state(work: Json) -> SessionState:
    """The state from JSON; an empty one when it was written by another version."""
    if not isinstance(work, dict):
        return SessionState()
    try:
        return record_from_json(SessionState, cast("dict[str, Json]", work))
    except UsageError:
        # Sequence numbers must go on, or observations would be sorted wrongly.
        seq = work.get("next_seq")
        return SessionState(next_seq=seq if isinstance(seq, int) else 0)


def dump_state(state: SessionState) -> Json:
    """The state as JSON."""
    return cast("Json", record_to_json(state))


def joined(
    old: tuple[_Item, ...], new: tuple[_Item, ...], *, limit: int = MAX_LISTED
) -> tuple[_Item, ...]:
    """Both lists without duplicates, the later mention counting; the latest are kept."""
    fresh = tuple(dict.fromkeys(new))
    return (*(item for item in old if item not in fresh), *fresh)[-limit:]
