"""The reducer: applies events to one session state, each once, in order.

A tool call is parsed once into a step (`reading.tool_steps`); observations, signals and the step
log all read that step. Invariant: nothing outside is changed; the result is the updated session and
what to store. Events may come late, twice or for an unknown session; none of that is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.core.clock import to_ms, whole_ms
from wellkept.core.memory import MemoryDraft
from wellkept.core.records import record, replace
from wellkept.core.session.events import (
    Compacted,
    ContextInjected,
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    SubagentEnded,
    SubagentStarted,
    TokenUsage,
    ToolCalled,
    ToolStarting,
    TurnEnded,
)
from wellkept.core.session.scratchpad import Scratchpad
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.session.steps import with_step
from wellkept.core.text import shorten
from wellkept.observe.failures.command_records import CommandRun, runs_of_step
from wellkept.observe.failures.episodes import Before, looked, way_outs_of
from wellkept.observe.failures.way_out import WayOut
from wellkept.observe.session.drafts import EventRef, observation_draft, prompt_draft, summary_draft
from wellkept.observe.session.exchange import Settlement, answered, heard
from wellkept.observe.session.observation_rules import (
    ObservationNote,
    PromptContext,
    decision_note,
)
from wellkept.observe.session.observations import StepObserver, open_agents
from wellkept.observe.session.state import (
    MAX_MESSAGES,
    AgentMessage,
    MadeCommit,
    SessionState,
    dump_state,
    joined,
    load_state,
)
from wellkept.observe.session.summary import summarize
from wellkept.observe.signals.collector import SignalCollector
from wellkept.text.events.prompt_rules import intent_of, request_of, tells
from wellkept.text.events.sanitize import cleaned, cleaned_call
from wellkept.text.events.tool_steps import call_tokens, needs_output, read_step
from wellkept.text.own_words import agent_task, own_words, slash_command
from wellkept.text.shell.environment import (
    Environment,
    ToolContext,
    absolute,
    relative,
    relative_folder,
)
from wellkept.text.shell.reader import parse_command
from wellkept.text.speech import decisions_in

Trigger: TypeAlias = Literal["turns", "compaction", "end", "idle"]
TURNS_BETWEEN_SUMMARIES = 3
_MAX_CALL_IDS = 200
_LABEL_CHARS = 300
_MESSAGE_CHARS = 4_000
_OWN_TOOLS = "wellkept"


@record
class Said:
    """What a person said, and the agent's message before it."""

    event: PromptSubmitted | ToolCalled
    before: str | None = None


@record
class SessionUpdate:
    """The session after some events, and what to store.

    `trigger` is why a summary is due. `said` is what a person said, in order: prompts, and calls of
    a tool that asked them. `pad` is the scratchpad, None when it did not change. `way_outs` are
    failures that came to an end, with the time; `runs` are the lines that ran; `settled` is what
    was agreed.
    """

    session: SessionRecord
    drafts: tuple[MemoryDraft, ...] = ()
    summary: MemoryDraft | None = None
    trigger: Trigger | None = None
    said: tuple[Said, ...] = ()
    pad: Scratchpad | None = None
    way_outs: tuple[tuple[WayOut, datetime], ...] = ()
    runs: tuple[CommandRun, ...] = ()
    settled: tuple[tuple[Settlement, datetime], ...] = ()


def apply_events(
    session: SessionRecord | None,
    events: Sequence[Event],
    *,
    environment: Environment,
    turns_between: int = TURNS_BETWEEN_SUMMARIES,
    pad: Scratchpad | None = None,
) -> SessionUpdate:
    """Apply the events of one session in order; `pad` is its scratchpad."""
    begun = session or _new_session(events[0].origin, environment)
    reducer = _Reducer(begun, environment=environment, turns_between=turns_between, pad=pad)
    for event in events:
        reducer.apply(event)
    return reducer.result()


def close_idle(session: SessionRecord, *, environment: Environment) -> SessionUpdate:
    """Report what is still open in a session that went quiet: it may never be ended."""
    reducer = _Reducer(session, environment=environment, turns_between=0)
    reducer.close("idle")
    return reducer.result()


def _better_title(title: str | None, request: str) -> str:
    """The title of a session: its first request that says something."""
    return title if title is not None and (tells(title) or not tells(request)) else request


def _new_session(origin: Origin, environment: Environment) -> SessionRecord:
    location = environment.locate(origin.cwd)
    at = whole_ms(origin.at)
    return SessionRecord(
        id=origin.session_id,
        client=origin.client,
        project=location.project,
        started_at=at,
        last_event_at=at,
        cwd=origin.cwd,
        work=dump_state(SessionState(roots=location.roots)),
    )


class _Reducer:
    """Applies events to one session."""

    def __init__(
        self,
        session: SessionRecord,
        *,
        environment: Environment,
        turns_between: int,
        pad: Scratchpad | None = None,
    ) -> None:
        self._session = session
        self._state = load_state(session.work)
        self._environment = environment
        self._turns_between = turns_between
        self._drafts: list[MemoryDraft] = []
        self._said: list[Said] = []
        self._way_outs: list[tuple[WayOut, datetime]] = []
        self._runs: list[CommandRun] = []
        self._settled: list[tuple[Settlement, datetime]] = []
        self._trigger: Trigger | None = None
        self._has_turned = False
        self._stood: str | None = None
        self._event_id = session.id
        self._at = session.last_event_at
        self._pad = pad or Scratchpad(
            session_id=session.id, project=session.project, updated_at=session.last_event_at
        )
        self._signals = SignalCollector(
            self._pad, self._state.signals, step=max(self._state.step, self._pad.step)
        )

    def result(self) -> SessionUpdate:
        """The session as it is now, and everything to store."""
        summary = self._summary() if self._trigger or self._has_turned else None
        state = replace(self._state, signals=self._signals.state)
        session = replace(self._session, work=dump_state(state))
        if self._trigger:
            session = replace(
                session, summarised_at=session.last_event_at, summarised_turn=session.turn_count
            )
        pad = self._signals.result()
        return SessionUpdate(
            session,
            tuple(self._drafts),
            summary,
            self._trigger,
            tuple(self._said),
            pad if pad is not self._pad else None,
            tuple(self._way_outs),
            tuple(self._runs),
            tuple(self._settled),
        )

    def close(self, trigger: Trigger) -> None:
        """Report everything that is open."""
        self._finish_all()
        self._trigger = self._trigger or trigger

    def apply(self, event: Event) -> None:
        """Apply one event. Only its cleaned form is read from here on."""
        self._arrive(event.origin)
        if isinstance(event, ToolCalled):
            # Its cost and plan are only known before cleaning removes the input and output.
            tokens = call_tokens(event)
            self._signals.raw_call(event)
            self._call(cleaned_call(event, with_output=needs_output(event)), tokens=tokens)
            return
        match cleaned(event):
            case SessionStarted() as start:
                self._put(model=start.model or self._session.model)
                self._read_git(start.origin)
            case PromptSubmitted() as prompt:
                self._prompt(prompt)
            case TurnEnded() as turn:
                self._turn_end(turn)
            case Compacted() as compacted:
                self._compacted(compacted)
            case SubagentStarted() as begun:
                self._put(agent_count=self._session.agent_count + 1)
                self._summarise(agents=(shorten(begun.agent_type, limit=80),))
            case SubagentEnded() as done:
                self._subagent_end(done)
            case SessionEnded() as end:
                self._end(end)
            case ToolStarting() | ToolCalled() | ContextInjected():
                pass  # a call is applied when it came back; the ingester logs injections

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
        self._stood = self._state.cwd
        if origin.agent is None and origin.cwd is not None and origin.cwd != self._stood:
            self._state = replace(self._state, cwd=origin.cwd)
        if origin.imported and not self._state.imported:
            self._state = replace(self._state, imported=True)
        elif not origin.imported and self._state.captured_from is None:
            self._state = replace(self._state, captured_from=at.isoformat())

    def _prompt(self, event: PromptSubmitted) -> None:
        self._finish_all()
        text = own_words(event.text) if event.origin.agent is None else ""
        if not text:
            task = request_of(agent_task(event.text) or "")
            self._put(title=self._session.title or (task and shorten(task, limit=100)))
            return
        number = self._session.prompt_count + 1
        self._put(prompt_count=number)
        request = request_of(slash_command(event.text) or text)
        if request is None:
            return
        self._signals.prompt(text, request=request, at=self._at)
        self._put(title=_better_title(self._session.title, shorten(request, limit=100)))
        if tells(request):
            # "yes, do it" goes on with the work before it.
            self._state = replace(self._state, intent=intent_of(text))
        self._summarise(requests=(request,))
        self._drafts.append(prompt_draft(text, number=number, ref=self._next_ref()))
        self._said.append(Said(replace(event, text=text), self._state.summary.last_message))
        self._observe_decisions(text, agent=None, said_by="the person")
        self._state = replace(self._state, exchange=heard(self._state.exchange, text))

    def _call(self, call: ToolCalled, *, tokens: int) -> None:
        state = self._state
        if call.call_id is not None:
            if call.call_id in state.calls:
                return
            calls = (*state.calls, call.call_id)[-_MAX_CALL_IDS:]
            state = self._state = replace(state, calls=calls)
        self._put(
            tool_count=self._session.tool_count + 1,
            error_count=self._session.error_count + (call.error is not None),
        )
        if _OWN_TOOLS in call.name.lower():
            return
        if call.answers and call.origin.agent is None:
            self._said.append(Said(call, self._state.summary.last_message))
        context = self._tool_context(self._folder_before(call))
        number = max(state.step, self._pad.step) + 1
        step = read_step(
            call,
            number=number,
            tokens=tokens,
            prompt=self._session.prompt_count,
            context=context,
        )
        self._signals.step(step, log=state.steps, context=context)
        observer = StepObserver(state, step.agent, prompt=self._prompt_context())
        observer.step(step, context=context)
        log = state.steps
        requests = state.summary.requests
        if look := looked(step, log):
            before = Before(log=log, roots=state.roots)
            self._way_outs += [(one, self._at) for one in way_outs_of(look, before)]
        for entry in step.log:
            before = Before(log=log, roots=state.roots, said=requests[-1] if requests else "")
            self._way_outs += [(one, self._at) for one in way_outs_of(entry, before)]
            log = with_step(log, entry)
        self._runs += runs_of_step(step)
        self._state = replace(observer.state, step=number, steps=log)
        if step.files_read or call.query:
            work = self._state.work_of(step.agent)
            self._summarise(files_read=step.files_read, searches=work.searches)
        self._keep(observer.notes)

    def _turn_end(self, event: TurnEnded) -> None:
        if event.origin.agent is None:
            self._put(turn_count=self._session.turn_count + 1)
            self._read_git(event.origin)
        self._count_tokens(event.usage)
        self._finish(event.origin.agent)
        if event.last_message and event.origin.agent is None:
            exchange, settled = answered(self._state.exchange, event.last_message)
            self._state = replace(self._state, exchange=exchange)
            self._settled += [(settled, self._at)] if settled else []
        if event.last_message:
            self._observe_decisions(
                event.last_message, agent=event.origin.agent, said_by="the agent"
            )
            self._signals.message(event.last_message, at=self._at)
            if event.origin.agent is None:
                self._add_message(event.last_message)
        self._has_turned = True
        since = self._session.turn_count - self._session.summarised_turn
        if since >= self._turns_between:
            self._trigger = self._trigger or "turns"

    def _compacted(self, event: Compacted) -> None:
        self._finish_all()
        self._signals.compacted()
        if event.summary:
            at, text = to_ms(self._at), shorten(event.summary, limit=_MESSAGE_CHARS)
            summary = replace(self._state.summary, compaction=text, compacted_at_ms=at)
            self._state = replace(self._state, summary=summary)
        self._trigger = "compaction"

    def _subagent_end(self, event: SubagentEnded) -> None:
        self._finish(event.origin.agent)
        said = request_of(event.last_message or "")
        if said:
            self._summarise(agents=(shorten(f"{event.agent_type}: {said}", limit=160),))

    def _count_tokens(self, usage: TokenUsage | None) -> None:
        """Reports are totals, so the largest holds, in whatever order they come."""
        if usage is not None:
            session = self._session
            self._put(
                input_tokens=max(session.input_tokens or 0, usage.input),
                cached_tokens=max(session.cached_tokens or 0, usage.cached),
                output_tokens=max(session.output_tokens or 0, usage.output),
            )

    def _end(self, event: SessionEnded) -> None:
        self._finish_all()
        self._count_tokens(event.usage)
        self._put(
            ended_at=max(self._session.last_event_at, self._at),
            end_reason=shorten(event.reason, limit=_LABEL_CHARS),
        )
        self._trigger = "end"

    # -- Parts ------------------------------------------------------------------------------------

    def _put(self, **changes: object) -> None:
        self._session = replace(self._session, **changes)  # type: ignore[arg-type]

    def _summarise(
        self,
        *,
        requests: tuple[str, ...] = (),
        files_read: tuple[str, ...] = (),
        searches: tuple[str, ...] = (),
        agents: tuple[str, ...] = (),
    ) -> None:
        """Add to what the summary is written from."""
        old = self._state.summary
        summary = replace(
            old,
            requests=(*old.requests[:1], *joined(old.requests[1:], requests, limit=11)),
            files_read=joined(old.files_read, files_read),
            searches=joined(old.searches, searches, limit=12),
            agents=joined(old.agents, agents, limit=12),
        )
        self._state = replace(self._state, summary=summary)

    def _add_message(self, text: str) -> None:
        old = self._state.summary
        message = AgentMessage(
            shorten(text, limit=_MESSAGE_CHARS),
            at_ms=to_ms(self._at),
            asked=next(reversed(old.requests), ""),
        )
        messages = (*old.messages, message)[-MAX_MESSAGES:]
        self._state = replace(self._state, summary=replace(old, messages=messages))

    def _summary(self) -> MemoryDraft | None:
        summary = summarize(self._session, self._state)
        if summary is None:
            return None
        return summary_draft(
            summary,
            title=self._session.title,
            ref=self._next_ref(),
            tokens=self._session.discovery_tokens,
        )

    def _read_git(self, origin: Origin) -> None:
        if origin.imported:
            # The current git state says nothing about the time of the transcript.
            self._put(branch=origin.branch or self._session.branch)
            return
        folder = origin.cwd or self._session.cwd
        git = self._environment.git(folder) if folder else None
        if git is not None:
            self._put(branch=git.branch, commit_sha=git.commit)

    def _finish_all(self) -> None:
        for agent in open_agents(self._state):
            self._finish(agent)

    def _finish(self, agent: str | None) -> None:
        observer = StepObserver(self._state, agent, prompt=self._prompt_context())
        observer.finish()
        self._state = observer.state
        self._keep(observer.notes)

    def _observe_decisions(self, text: str, *, agent: str | None, said_by: str) -> None:
        for sentence in decisions_in(text):
            work, note = decision_note(
                self._state.work_of(agent), sentence, said_by=said_by, prompt=self._prompt_context()
            )
            self._state = self._state.with_work(work)
            self._keep([note])

    def _keep(self, notes: Sequence[ObservationNote]) -> None:
        for note in notes:
            self._drafts.append(observation_draft(note, ref=self._next_ref()))
            self._add_to_summary(note)
            self._put(
                observation_count=self._session.observation_count + (note.earlier_title is None),
                discovery_tokens=self._session.discovery_tokens + note.tokens,
            )

    def _add_to_summary(self, note: ObservationNote) -> None:
        observed, old = note.observation, self._state.summary
        is_commit = (observed.subtitle or "").startswith("Commit")
        commits = (MadeCommit(observed.title, observed.commit),) if is_commit else ()
        decided = (observed.title,) if observed.kind == "decision" else ()
        found = (observed.title,) if observed.kind == "discovery" else ()
        summary = replace(
            old,
            files_modified=joined(old.files_modified, observed.files_modified),
            commits=joined(old.commits, commits, limit=20),
            decided=joined(old.decided, decided, limit=20),
            found=joined(old.found, found, limit=20),
        )
        self._state = replace(self._state, summary=summary)
        if is_commit and observed.commit:
            self._put(commit_sha=observed.commit, branch=observed.branch or self._session.branch)

    def _next_ref(self) -> EventRef:
        seq = self._state.next_seq
        self._state = replace(self._state, next_seq=seq + 1)
        return EventRef(self._session.id, self._event_id, self._at, seq)

    def _prompt_context(self) -> PromptContext:
        requests = self._state.summary.requests
        return PromptContext(
            intent=self._state.intent,
            prompt_number=self._session.prompt_count,
            request=next((one for one in reversed(requests) if tells(one)), self._session.title),
            branch=self._session.branch,
            commit=None,
        )

    def _folder_before(self, call: ToolCalled) -> str | None:
        """Where a call was typed. Clients name the folder after it: what the line's own `cd` led to
        was not there yet."""
        after = call.origin.cwd or self._session.cwd
        before = self._stood
        if before is None or after is None or call.origin.agent is not None or not call.command:
            return after
        commands = parse_command(call.command)
        led_to = commands[-1].folder if commands else ""
        has_moved = bool(led_to) and absolute(led_to or "", cwd=before) == absolute(after, cwd=None)
        return before if has_moved else after

    def _tool_context(self, cwd: str | None) -> ToolContext:
        roots = self._state.roots
        root = roots[0] if roots else cwd
        environment, seen = self._environment, self._state.summary

        def commit_files(sha: str) -> tuple[str, ...]:
            return environment.commit_files(root, sha) if root else ()

        return ToolContext(
            is_known=lambda name: name in seen.files_read or name in seen.files_modified,
            relative=lambda path: relative(path, cwd=cwd, roots=roots),
            folder=lambda folder: relative_folder(folder, cwd=cwd, roots=roots),
            read_file=lambda path: environment.read_file(absolute(path, cwd=cwd)),
            commit_files=commit_files,
        )
