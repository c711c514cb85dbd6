"""Events laid out into a session: counted, numbered, observed and summed up.

Invariant: folding changes nothing outside; it returns the session as it is now and what is to be
kept. Events may come late, twice or from an unknown session; none of that is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from wellkept.core.clock import whole_ms
from wellkept.core.events import (
    Compacted,
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    SubagentEnded,
    SubagentStarted,
    ToolCalled,
    ToolStarting,
    TurnEnded,
)
from wellkept.core.memory import MemoryDraft
from wellkept.core.records import record, replace
from wellkept.core.scratchpad import Scratchpad
from wellkept.core.session_steps import with_step
from wellkept.core.sessions import SessionRecord
from wellkept.core.text import shorten
from wellkept.observe.reading.environment import Environment, absolute, relative
from wellkept.observe.reading.prompt_rules import decisions, intent_of, is_from_client, request_of
from wellkept.observe.reading.sanitize import cleaned
from wellkept.observe.session.drafts import EventRef, observation_draft, prompt_draft, summary_draft
from wellkept.observe.session.observation_rules import Note, PromptContext, decision_note
from wellkept.observe.session.state import AgentTrace, SessionState, dump_state, joined, load_state
from wellkept.observe.session.summary import sum_up
from wellkept.observe.session.tool_trace import (
    ToolContext,
    TraceUpdate,
    call_tokens,
    finish,
    reads_output,
    take_call,
)
from wellkept.observe.signals.collector import SignalCollector

Trigger: TypeAlias = Literal["turns", "compaction", "end", "idle"]
TURNS_BETWEEN_SUMMARIES = 3
_KNOWN_CALLS = 200
_LABEL_CHARS = 300
_OWN_TOOLS = "wellkept"


@record
class UserMessage:
    """Something a person said that may hold a command to memory."""

    event_id: str
    text: str


@record
class SessionUpdate:
    """The session after some events, what is to be kept of them, why it should be summed up, and
    the scratchpad when something was noticed."""

    session: SessionRecord
    drafts: tuple[MemoryDraft, ...] = ()
    summary: MemoryDraft | None = None
    trigger: Trigger | None = None
    spoken: tuple[UserMessage, ...] = ()
    pad: Scratchpad | None = None


def build_session(
    session: SessionRecord | None,
    events: Sequence[Event],
    *,
    world: Environment,
    turns_between: int = TURNS_BETWEEN_SUMMARIES,
    pad: Scratchpad | None = None,
) -> SessionUpdate:
    """Take the events of one session in the order in which they came; `pad` is its scratchpad."""
    begun = session or _begun(events[0].origin, world)
    folding = _Folding(begun, world=world, turns_between=turns_between, pad=pad)
    for event in events:
        folding.take(event)
    return folding.result()


def close_idle(session: SessionRecord, *, world: Environment) -> SessionUpdate:
    """What a session that went quiet leaves: nobody may come back to end it."""
    folding = _Folding(session, world=world, turns_between=0)
    folding.rest()
    return folding.result()


def _begun(origin: Origin, world: Environment) -> SessionRecord:
    place = world.place(origin.cwd)
    at = whole_ms(origin.at)
    return SessionRecord(
        id=origin.session_id,
        client=origin.client,
        project=place.project,
        started_at=at,
        last_event_at=at,
        cwd=origin.cwd,
        work=dump_state(SessionState(roots=place.roots)),
    )


def _new_pad(session: SessionRecord) -> Scratchpad:
    return Scratchpad(
        session_id=session.id, project=session.project, updated_at=session.last_event_at
    )


class _Folding:
    """One session under way."""

    def __init__(
        self,
        session: SessionRecord,
        *,
        world: Environment,
        turns_between: int,
        pad: Scratchpad | None = None,
    ) -> None:
        self._session = session
        self._desk = load_state(session.work)
        self._world = world
        self._turns_between = turns_between
        self._drafts: list[MemoryDraft] = []
        self._spoken: list[UserMessage] = []
        self._trigger: Trigger | None = None
        self._has_turned = False
        self._event_id = session.id
        self._at = session.last_event_at
        self._pad = pad or _new_pad(session)
        self._noticing = SignalCollector(self._pad)

    def result(self) -> SessionUpdate:
        """Everything so far."""
        summary = None
        if self._trigger or self._has_turned:
            told = sum_up(self._session, self._desk)
            if told is not None:
                summary = summary_draft(
                    told,
                    title=self._session.title,
                    stamp=self._stamp(),
                    tokens=self._session.discovery_tokens,
                )
        session = replace(self._session, work=dump_state(self._desk))
        if self._trigger:
            session = replace(
                session, summarised_at=session.last_event_at, summarised_turn=session.turn_count
            )
        drafts, pad = tuple(self._drafts), self._noticing.result()
        return SessionUpdate(
            session,
            drafts,
            summary,
            self._trigger,
            tuple(self._spoken),
            pad if pad is not self._pad else None,
        )

    def rest(self) -> None:
        """Tell all that is held open."""
        self._finish_all()
        self._trigger = self._trigger or "idle"

    def take(self, event: Event) -> None:
        """Take one event; from here on only its cleaned form is seen."""
        self._arrive(event.origin)
        is_call = isinstance(event, ToolCalled)
        cost = call_tokens(event) if is_call else 0
        if is_call:
            self._noticing.as_it_came(event)
        match cleaned(event, with_output=is_call and reads_output(event)):
            case SessionStarted() as start:
                self._start(start)
            case PromptSubmitted() as prompt:
                self._prompt(prompt)
            case TurnEnded() as turn:
                self._turn_end(turn)
            case Compacted() as compacted:
                self._compacted(compacted)
            case SubagentStarted() as begun:
                self._put(agent_count=self._session.agent_count + 1)
                self._tell(agents=(shorten(begun.agent_type, limit=80),))
            case SubagentEnded() as done:
                self._subagent_end(done)
            case SessionEnded() as end:
                self._end(end)
            case ToolCalled() as call:
                self._call(call, cost=cost)
            case ToolStarting():
                pass  # what came of it is told by the call

    # -- Events -----------------------------------------------------------------------------------

    def _arrive(self, origin: Origin) -> None:
        at = whole_ms(origin.at)
        self._event_id, self._at = origin.event_id, at
        session = self._session
        ended = session.ended_at
        self._session = replace(
            session,
            started_at=min(session.started_at, at),
            last_event_at=max(session.last_event_at, at),
            cwd=session.cwd or origin.cwd,
            # A session that goes on after its end was resumed; a late event does not reopen it.
            ended_at=None if ended is not None and at > ended else ended,
        )
        if origin.imported and not self._desk.imported:
            self._desk = replace(self._desk, imported=True)
        elif not origin.imported and self._desk.caught_from is None:
            self._desk = replace(self._desk, caught_from=at.isoformat())

    def _start(self, event: SessionStarted) -> None:
        self._put(model=event.model or self._session.model)
        self._look_at_git(event.origin)

    def _prompt(self, event: PromptSubmitted) -> None:
        self._finish_all()
        if is_from_client(event.text):
            return
        number = self._session.prompt_count + 1
        self._put(prompt_count=number)
        text = event.text.strip()
        request = request_of(text)
        if not text or request is None:
            return
        self._noticing.prompt(text, request=request, at=self._at)
        self._put(title=self._session.title or shorten(request, limit=100))
        self._desk = replace(self._desk, intent=intent_of(text))
        self._tell(requests=(request,))
        self._drafts.append(prompt_draft(text, number=number, stamp=self._stamp()))
        self._spoken.append(UserMessage(event.origin.event_id, text))
        self._note_decisions(text, agent=None, said_by="the person")

    def _call(self, event: ToolCalled, *, cost: int) -> None:
        if event.call_id is not None:
            if event.call_id in self._desk.calls:
                return
            calls = (*self._desk.calls, event.call_id)[-_KNOWN_CALLS:]
            self._desk = replace(self._desk, calls=calls)
        self._put(
            tool_count=self._session.tool_count + 1,
            error_count=self._session.error_count + (event.error is not None),
        )
        if _OWN_TOOLS in event.name.lower():
            return
        thread = self._desk.thread(event.origin.agent)
        around = self._surroundings(event.origin)
        self._noticing.call(event, cost=cost, around=around)
        taken = take_call(thread, event, cost=cost, scene=self._scene(), around=around)
        fresh = taken.thread
        if (fresh.files_read, fresh.searches) != (thread.files_read, thread.searches):
            self._tell(files_read=fresh.files_read, searches=fresh.searches)
        self._keep(taken)

    def _turn_end(self, event: TurnEnded) -> None:
        if event.origin.agent is None:
            self._put(turn_count=self._session.turn_count + 1)
            self._look_at_git(event.origin)
        self._keep(finish(self._desk.thread(event.origin.agent), scene=self._scene()))
        self._note_decisions(event.last_message, agent=event.origin.agent, said_by="the agent")
        if event.last_message:
            self._noticing.message(event.last_message, at=self._at)
            self._tell(last_message=shorten(event.last_message, limit=4_000))
        self._has_turned = True
        since = self._session.turn_count - self._session.summarised_turn
        if since >= self._turns_between:
            self._trigger = self._trigger or "turns"

    def _compacted(self, event: Compacted) -> None:
        self._finish_all()
        self._noticing.compacted()
        if event.summary:
            self._tell(compaction=shorten(event.summary, limit=4_000))
        self._trigger = "compaction"

    def _subagent_end(self, event: SubagentEnded) -> None:
        self._keep(finish(self._desk.thread(event.origin.agent), scene=self._scene()))
        said = request_of(event.last_message or "")
        if said:
            self._tell(agents=(shorten(f"{event.agent_type}: {said}", limit=160),))

    def _end(self, event: SessionEnded) -> None:
        self._finish_all()
        self._put(
            ended_at=max(self._session.last_event_at, self._at),
            end_reason=shorten(event.reason, limit=_LABEL_CHARS),
        )
        self._trigger = "end"

    # -- Parts ------------------------------------------------------------------------------------

    def _put(self, **changes: object) -> None:
        self._session = replace(self._session, **changes)  # type: ignore[arg-type]

    def _tell(
        self,
        *,
        requests: tuple[str, ...] = (),
        files_read: tuple[str, ...] = (),
        searches: tuple[str, ...] = (),
        agents: tuple[str, ...] = (),
        last_message: str | None = None,
        compaction: str | None = None,
    ) -> None:
        tale = self._desk.tale
        tale = replace(
            tale,
            requests=(*tale.requests[:1], *joined(tale.requests[1:], requests, most=11)),
            files_read=joined(tale.files_read, files_read),
            searches=joined(tale.searches, searches, most=12),
            agents=joined(tale.agents, agents, most=12),
            last_message=last_message or tale.last_message,
            compaction=compaction or tale.compaction,
        )
        self._desk = replace(self._desk, tale=tale)

    def _look_at_git(self, origin: Origin) -> None:
        if origin.imported:
            # Where git stands today says nothing about then.
            self._put(branch=origin.branch or self._session.branch)
            return
        folder = origin.cwd or self._session.cwd
        state = self._world.git(folder) if folder else None
        if state is not None:
            self._put(branch=state.branch, commit_sha=state.commit)

    def _finish_all(self) -> None:
        for thread in self._desk.threads:
            self._keep(finish(thread, scene=self._scene()))

    def _note_decisions(self, text: str | None, *, agent: str | None, said_by: str) -> None:
        for sentence in decisions(text):
            thread: AgentTrace = self._desk.thread(agent)
            thread, note = decision_note(thread, sentence, said_by=said_by, scene=self._scene())
            self._keep(TraceUpdate(thread, (note,)))

    def _keep(self, taken: TraceUpdate) -> None:
        self._desk = self._desk.with_thread(taken.thread)
        for step in taken.steps:
            numbered = replace(step, prompt=self._session.prompt_count)
            self._desk = replace(self._desk, trail=with_step(self._desk.trail, numbered))
        for note in taken.notes:
            self._drafts.append(observation_draft(note, stamp=self._stamp()))
            self._remember_for_summary(note)
            self._put(
                observation_count=self._session.observation_count + (note.earlier_title is None),
                discovery_tokens=self._session.discovery_tokens + note.tokens,
            )

    def _remember_for_summary(self, note: Note) -> None:
        seen, tale = note.observation, self._desk.tale
        is_commit = (seen.subtitle or "").startswith("Commit")
        learnt = seen.kind in ("discovery", "decision")
        done = not learnt and not is_commit
        before = tuple(title for title in tale.done if title != note.earlier_title)
        tale = replace(
            tale,
            files_modified=joined(tale.files_modified, seen.files_modified),
            commits=joined(tale.commits, (seen.title,) if is_commit else (), most=20),
            learned=joined(tale.learned, (seen.title,) if learnt else (), most=20),
            done=joined(before, (seen.title,) if done else (), most=20),
        )
        self._desk = replace(self._desk, tale=tale)
        if is_commit and seen.commit:
            self._put(commit_sha=seen.commit, branch=seen.branch or self._session.branch)

    def _stamp(self) -> EventRef:
        seq = self._desk.next_seq
        self._desk = replace(self._desk, next_seq=seq + 1)
        return EventRef(self._session.id, self._event_id, self._at, seq)

    def _scene(self) -> PromptContext:
        requests = self._desk.tale.requests
        return PromptContext(
            intent=self._desk.intent,
            prompt_number=self._session.prompt_count,
            request=requests[-1] if requests else None,
            branch=self._session.branch,
            commit=None,
        )

    def _surroundings(self, origin: Origin) -> ToolContext:
        cwd, roots = origin.cwd or self._session.cwd, self._desk.roots
        folder = roots[0] if roots else cwd

        def commit_files(sha: str) -> tuple[str, ...]:
            return self._world.commit_files(folder, sha) if folder else ()

        tale = self._desk.tale
        return ToolContext(
            is_known=lambda name: name in tale.files_read or name in tale.files_modified,
            relative=lambda path: relative(path, cwd=cwd, roots=roots),
            read_file=lambda path: self._world.read_file(absolute(path, cwd=cwd)),
            commit_files=commit_files,
        )
