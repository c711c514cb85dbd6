"""The reducer: applies events to one session state, each once, in order.

Every event becomes entries of the step log; observations, digest and signals are folds over it.
Invariant: nothing outside is changed; the result is the updated session and what to store. Events
may come late, twice or for an unknown session; none of that is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.core.clock import to_ms, whole_ms
from wellkept.core.memory import Evidence, MemoryDraft
from wellkept.core.records import record, replace
from wellkept.core.session.events import (
    Compacted,
    ContextInjected,
    Edit,
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    SubagentEnded,
    SubagentStarted,
    TokenUsage,
    ToolCalled,
    ToolKind,
    ToolStarting,
    TurnEnded,
)
from wellkept.core.session.scratchpad import Scratchpad
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.session.steps import MAX_NAME_CHARS, SessionStep, StepKind
from wellkept.core.text import shorten
from wellkept.core.types import EvidenceKind
from wellkept.observe.failures.command_records import CommandRun, runs_of_step
from wellkept.observe.failures.episodes import looked, way_outs_of
from wellkept.observe.failures.way_out import WayOut
from wellkept.observe.session.digest import summarize
from wellkept.observe.session.drafts import prompt_draft, summary_draft
from wellkept.observe.session.edits import changed_names, file_kind
from wellkept.observe.session.exchange import Settlement, answered, heard
from wellkept.observe.session.observations import (
    commit_note,
    decision_note,
    open_agents,
    open_work,
    turn_note,
)
from wellkept.observe.session.state import SessionState, dump_state, load_state
from wellkept.observe.signals.dead_ends import abandoned_in_text
from wellkept.observe.signals.todo_plan import plan_entry
from wellkept.observe.signals.work import seen
from wellkept.text.events.prompt_rules import intent_of, request_of, tells
from wellkept.text.events.sanitize import cleaned, cleaned_call
from wellkept.text.events.tool_steps import (
    ToolStep,
    call_tokens,
    needs_output,
    read_step,
    short_hash,
)
from wellkept.text.own_words import agent_task, own_words, slash_command
from wellkept.text.shell.environment import (
    Environment,
    ToolContext,
    absolute,
    relative,
    relative_folder,
)
from wellkept.text.shell.reader import files_written, parse_command
from wellkept.text.speech import decisions_in

Trigger: TypeAlias = Literal["turns", "compaction", "end", "idle"]
TURNS_BETWEEN_SUMMARIES = 3
_MAX_CALL_IDS = 200
_LABEL_CHARS = 300
_MESSAGE_CHARS = 4_000
_PAGE_CHARS = 400
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
    way_outs: tuple[tuple[WayOut, datetime], ...] = ()
    runs: tuple[CommandRun, ...] = ()
    settled: tuple[tuple[Settlement, datetime], ...] = ()
    pad: Scratchpad | None = None


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
    reducer = _Reducer(begun, environment=environment, turns_between=turns_between)
    for event in events:
        reducer.apply(event)
    return reducer.result(pad)


def close_idle(session: SessionRecord, *, environment: Environment) -> SessionUpdate:
    """Report what is still open in a session that went quiet: it may never be ended."""
    reducer = _Reducer(session, environment=environment, turns_between=0)
    reducer.close("idle")
    return reducer.result()


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
        self, session: SessionRecord, *, environment: Environment, turns_between: int
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

    def result(self, pad: Scratchpad | None = None) -> SessionUpdate:
        """The session as it is now, and everything to store."""
        reviewed = pad or Scratchpad(
            session_id=self._session.id, project=self._session.project, updated_at=self._at
        )
        now = seen(self._state.steps, reviewed)
        summary = self._summary() if self._trigger or self._has_turned else None
        session = replace(self._session, work=dump_state(self._state))
        if self._trigger:
            session = replace(
                session, summarised_at=session.last_event_at, summarised_turn=session.turn_count
            )
        return SessionUpdate(
            session,
            tuple(self._drafts),
            summary,
            self._trigger,
            tuple(self._said),
            tuple(self._way_outs),
            tuple(self._runs),
            tuple(self._settled),
            None if now is reviewed else now,
        )

    def close(self, trigger: Trigger) -> None:
        """Report everything that is open."""
        self._finish_all()
        self._trigger = self._trigger or trigger

    def apply(self, event: Event) -> None:
        """Apply one event. Only its cleaned form is read from here on."""
        self._arrive(event.origin)
        if isinstance(event, ToolCalled):
            self._call(event)
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
                self._log("agent", shorten(begun.agent_type, limit=80))
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
        title = self._session.title
        if title is None or (tells(request) and not tells(title)):
            self._put(title=shorten(request, limit=100))
        # "yes, do it" goes on with the work before it.
        self._log("prompt", request, mark=intent_of(text) if tells(request) else "")
        self._drafts.append(self._stamped(prompt_draft(text, number=number)))
        self._said.append(Said(replace(event, text=text), self._state.last_message))
        self._observe_decisions(text, agent=None, said_by="the person")
        self._state = replace(self._state, exchange=heard(self._state.exchange, text))

    def _call(self, raw: ToolCalled) -> None:
        if raw.call_id is not None:
            if raw.call_id in self._state.calls:
                return
            calls = (*self._state.calls, raw.call_id)[-_MAX_CALL_IDS:]
            self._state = replace(self._state, calls=calls)
        # Cost, plan and page are only known before cleaning removes the input and output.
        tokens = call_tokens(raw)
        plan = plan_entry(raw, self._entry("plan", ""), self._state.steps)
        page = short_hash(raw.input[:_PAGE_CHARS]) if raw.kind is ToolKind.READ else ""
        call = cleaned_call(raw, with_output=needs_output(raw))
        self._put(
            tool_count=self._session.tool_count + 1,
            error_count=self._session.error_count + (call.error is not None),
        )
        if _OWN_TOOLS in call.name.lower():
            return
        if plan is not None:
            self._state = self._state.logged(plan)
        if call.answers and call.origin.agent is None:
            self._said.append(Said(call, self._state.last_message))
        context = self._tool_context(self._folder_before(call))
        number = self._state.step + 1
        step = read_step(
            call,
            number=number,
            tokens=tokens,
            prompt=self._session.prompt_count,
            context=context,
            page=page,
        )
        self._end_failures(step)
        self._runs += runs_of_step(step)
        self._state = replace(self._state, step=number)
        for entry in _entries(step, context):
            if entry.is_commit:
                self._keep(commit_note(self._session, self._state, entry))
            if entry.is_commit and entry.sha:
                self._put(commit_sha=entry.sha, branch=entry.mark or self._session.branch)
            self._state = self._state.logged(entry)

    def _end_failures(self, step: ToolStep) -> None:
        """The failures that a call brought to an end."""
        log, roots = self._state.steps, self._state.roots
        requests = self._state.requests
        looks = [look] if (look := looked(step, log)) else []
        for entry in (*looks, *step.log):
            said = requests[-1] if requests and entry not in looks else ""
            found = way_outs_of(entry, log, roots=roots, said=said)
            self._way_outs += [(one, self._at) for one in found]

    def _turn_end(self, event: TurnEnded) -> None:
        if event.origin.agent is None:
            self._put(turn_count=self._session.turn_count + 1)
            self._read_git(event.origin)
        self._count_tokens(event.usage)
        self._finish(event.origin.agent, said=event.last_message or "")
        if event.last_message and event.origin.agent is None:
            exchange, settled = answered(self._state.exchange, event.last_message)
            self._state = replace(self._state, exchange=exchange)
            asked = [step.number for step in self._state.steps if step.kind == "prompt"]
            # Where a tool ran since the prompt, the message is a report of work.
            if settled and asked and self._state.step == asked[-1]:
                self._settled.append((settled, self._at))
        if event.last_message:
            self._observe_decisions(
                event.last_message, agent=event.origin.agent, said_by="the agent"
            )
            for approach, why in abandoned_in_text(event.last_message):
                self._log("dead_end", approach, agent=event.origin.agent, said=why)
        self._has_turned = True
        since = self._session.turn_count - self._session.summarised_turn
        if since >= self._turns_between:
            self._trigger = self._trigger or "turns"

    def _compacted(self, event: Compacted) -> None:
        self._finish_all()
        self._log("compaction", "", said=shorten(event.summary or "", limit=_MESSAGE_CHARS))
        self._trigger = "compaction"

    def _subagent_end(self, event: SubagentEnded) -> None:
        self._finish(event.origin.agent, said=event.last_message or "")
        if said := request_of(event.last_message or ""):
            self._log("agent", shorten(f"{event.agent_type}: {said}", limit=160))

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

    def _log(self, kind: StepKind, what: str, *, agent: str | None = None, **rest: str) -> None:
        """Add to the log what is no tool call."""
        self._state = self._state.logged(self._entry(kind, what, agent=agent, **rest))

    def _entry(
        self, kind: StepKind, what: str, *, agent: str | None = None, **rest: str
    ) -> SessionStep:
        return SessionStep(
            kind,
            shorten(what, limit=MAX_NAME_CHARS),
            prompt=self._session.prompt_count,
            number=self._state.step,
            agent=agent,
            at_ms=to_ms(self._at),
            **rest,  # type: ignore[arg-type]
        )

    def _summary(self) -> MemoryDraft | None:
        summary = summarize(self._session, self._state)
        if summary is None:
            return None
        draft = summary_draft(summary, self._session, at=self._at)
        return self._stamped(draft, *draft.evidence)

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
        for agent in open_agents(self._state.steps):
            self._finish(agent)

    def _finish(self, agent: str | None, *, said: str = "") -> None:
        """Close an agent's work with its report: at the end of a turn, or at the next prompt."""
        if note := turn_note(self._session, self._state, agent, said=said):
            self._keep(note)
        if said or open_work(self._state.steps, agent):
            self._log("report", "", agent=agent, said=shorten(said, limit=_MESSAGE_CHARS))

    def _observe_decisions(self, text: str, *, agent: str | None, said_by: str) -> None:
        for sentence in decisions_in(text):
            self._keep(decision_note(self._session, sentence, agent=agent, said_by=said_by))
            self._log("decision", sentence, agent=agent)

    def _keep(self, draft: MemoryDraft) -> None:
        evidence = [Evidence(EvidenceKind.OBSERVATION, self._event_id, at=self._at)]
        if draft.commit_sha:
            evidence.append(Evidence(EvidenceKind.COMMIT, draft.commit_sha, at=self._at))
        self._drafts.append(self._stamped(draft, *evidence))
        self._put(
            observation_count=self._session.observation_count + 1,
            discovery_tokens=self._session.discovery_tokens + (draft.work_tokens or 0),
        )

    def _stamped(self, draft: MemoryDraft, *evidence: Evidence) -> MemoryDraft:
        """A draft with the event that it comes from, and its position in the session."""
        seq = self._state.next_seq
        self._state = replace(self._state, next_seq=seq + 1)
        return replace(
            draft, session_id=self._session.id, seq=seq, evidence=evidence, valid_from=self._at
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
        environment, steps = self._environment, self._state.steps

        def commit_files(sha: str) -> tuple[str, ...]:
            return environment.commit_files(root, sha) if root else ()

        return ToolContext(
            is_known=lambda name: any(
                one.what == name and one.ok and (one.is_edit or one.kind == "read") for one in steps
            ),
            relative=lambda path: relative(path, cwd=cwd, roots=roots),
            folder=lambda folder: relative_folder(folder, cwd=cwd, roots=roots),
            read_file=lambda path: environment.read_file(absolute(path, cwd=cwd)),
            commit_files=commit_files,
        )


def _entries(step: ToolStep, context: ToolContext) -> Iterator[SessionStep]:
    """The log entries of a call: edits with the names that they changed, and files that a line
    wrote by itself."""
    edits = iter(step.edits)
    for entry in step.log:
        yield _named(entry, next(edits)[1], context) if entry.is_edit else entry
    if not step.ok or step.main is None:
        return
    for path, text in files_written(step.commands):
        name = context.relative(path)
        if name is not None and file_kind(name) != "other":
            kind = "edit" if context.is_known(name) else "create"
            origin = step.log[-1]
            written = SessionStep(
                kind, name, prompt=origin.prompt, number=origin.number, agent=origin.agent,
                at_ms=origin.at_ms, mark=f"{short_hash('')}>{short_hash(text)}",
            )  # fmt: skip
            yield _named(written, Edit(path, "", text), context)


def _named(entry: SessionStep, edit: Edit, context: ToolContext) -> SessionStep:
    known = context.is_known(entry.what)
    names = changed_names(edit, path=entry.what, is_known=known, read_file=context.read_file)
    # A file that was seen before is not created; clients do not always send its old text.
    return replace(entry, names=names, kind="edit" if known else entry.kind)
