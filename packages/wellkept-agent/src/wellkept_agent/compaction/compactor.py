"""One compaction of a conversation: the session's running summary if it will do, else a new summary
by the model, else an extract by rules.

Order: PreCompact command, compaction hooks with the messages that will go, the event, the summary,
the boundary marker, what is shown again, the session-start hooks. The conversation changes in one
step, after everything that can fail or be cancelled. Invariants: no result loses its call; what the
model has not answered yet stays; the replaced messages are kept in a file.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from wellkept.core.chat.messages import Message, MessageKind, Role, user_message
from wellkept.core.errors import WellkeptError
from wellkept.core.records import record, replace
from wellkept.core.text import clean, estimate_tokens, shorten
from wellkept.skills.hooks.process import HookRun, filtered_environment, run_command
from wellkept_agent.budgets import cut
from wellkept_agent.compaction import micro
from wellkept_agent.compaction.micro import shrunk
from wellkept_agent.compaction.summary import Summary, SummaryFailedError, digest, summarise
from wellkept_agent.conversation import as_text, middle_cut
from wellkept_agent.events import (
    CompactionCompleted,
    CompactionStarted,
    SessionMemoryCompactApplied,
)

if TYPE_CHECKING:
    from wellkept_agent.budgets import TokenMeter
    from wellkept_agent.compaction.capability import Thresholds, Timeline
    from wellkept_agent.compaction.micro import SessionFiles
    from wellkept_agent.file_cache import RestoredFile
    from wellkept_agent.session import AgentSession
    from wellkept_agent.session_memory import SessionMemory
    from wellkept_agent.settings import CompactionSettings


# -- What is shown again after compaction: files, todos, plan, skills, tasks ----------------------


_MARKS = {"completed": "x", "done": "x", "in_progress": "~"}


class Restored(StrEnum):
    """What a section shows again, in the order of the message."""

    TODOS = "Todos"
    PLAN = "Plan"
    SKILLS = "Skills in use"
    TASKS = "Tasks"
    OTHER = "Other"


@record
class RestoredSection:
    """A text that is shown again."""

    kind: Restored
    text: str


@runtime_checkable
class RestoresContext(Protocol):
    """A capability with something that must outlive compaction."""

    def restored_sections(self) -> Sequence[RestoredSection]: ...


async def restored(
    session: AgentSession, settings: CompactionSettings, *, room_tokens: int, with_files: bool
) -> Message | None:
    """The message that shows everything again; None when there is nothing. Sections come first,
    files take what is left of the room."""
    texts: list[str] = []
    for section in sorted(_sections(session), key=lambda one: list(Restored).index(one.kind)):
        limit = min(settings.restore_file_tokens, room_tokens)
        text = cut(section.text.strip(), tokens=limit)
        if text:
            texts.append(f"## {section.kind}\n{text}")
            room_tokens -= estimate_tokens(texts[-1])
    if with_files:
        await asyncio.to_thread(session.files.refresh)
        found = session.files.files_for_restoration(
            max_files=settings.restore_max_files,
            max_tokens=min(settings.restore_budget_tokens, max(0, room_tokens)),
            per_file_tokens=settings.restore_file_tokens,
        )
        if found:
            texts.append("## Files read before, as they are now\n" + "\n".join(map(_file, found)))
    if not texts:
        return None
    body = "\n\n".join(texts)
    return user_message(
        f"<system-reminder>\nShown again after compaction.\n\n{body}\n</system-reminder>",
        kind=MessageKind.RESTORED,
    )


def _file(file: RestoredFile) -> str:
    return f'<file path="{escape(str(file.path), quote=True)}">\n{file.content}\n</file>'


def _sections(session: AgentSession) -> Iterable[RestoredSection]:
    if session.todos:
        lines = (f"- [{_MARKS.get(status, ' ')}] {text}" for text, status in session.todos)
        yield RestoredSection(Restored.TODOS, "\n".join(lines))
    if jobs := session.jobs.all():
        commands = (" ".join(job.process.command.split()) for job in jobs)
        lines = (
            f"- {job.id} ({job.status}): {shorten(command, limit=200)}"
            for job, command in zip(jobs, commands, strict=True)
        )
        yield RestoredSection(Restored.TASKS, "Commands in the background:\n" + "\n".join(lines))
    has_plan = False
    for capability in session.capabilities:
        if not isinstance(capability, RestoresContext):
            continue
        try:
            sections = list(capability.restored_sections())
        except Exception as error:  # noqa: BLE001 - a capability is somebody else's code
            session.report(capability.name, f"could not be restored: {error}")
            continue
        has_plan |= any(one.kind is Restored.PLAN for one in sections)
        yield from sections
    plan = session.permissions.plan_files.get(session.agent)
    if not has_plan and plan is not None and plan.is_file():
        try:
            text = plan.read_text("utf-8", "replace")
        except OSError as error:
            session.report("compaction", f"The plan could not be read: {error}")
            return
        yield RestoredSection(Restored.PLAN, f"{plan}\n{text}")


Trigger: TypeAlias = Literal["auto", "manual", "overflow"]
Tier: TypeAlias = Literal["none", "session_memory", "full", "extract"]
_LAST_REQUEST_TOKENS = 1_500
_EXTRACT_TAIL_SHARE = 0.4
_OPEN_ROUND_SHARE = 0.5


@record(kw_only=True)
class CompactionResult:
    """What a compaction did. `problem` says why no model's summary was used; `kept_in` is the file
    with the replaced messages."""

    tier: Tier
    removed_messages: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    summary: str = ""
    problem: str = ""
    kept_in: str = ""


@record(kw_only=True)
class _Plan:
    """What goes (`turns[:start]`), what stays, and what stands in its place."""

    tier: Tier
    turns: tuple[Message, ...]
    start: int
    summary: Summary | None = None
    problem: str = ""

    @property
    def going(self) -> tuple[Message, ...]:
        return self.turns[: self.start]

    @property
    def staying(self) -> tuple[Message, ...]:
        return self.turns[self.start :]


class Compactor:
    """Compacts the conversation of one session."""

    def __init__(
        self,
        session: AgentSession,
        settings: CompactionSettings,
        *,
        meter: TokenMeter,
        files: SessionFiles,
        memory: SessionMemory | None,
        timeline: Timeline | None,
        environment: Mapping[str, str],
    ) -> None:
        self._session = session
        self._settings = settings
        self._meter = meter
        self._files = files
        self._memory = memory
        self._timeline = timeline
        self._environment = environment

    async def compact(
        self, *, trigger: Trigger, limits: Thresholds, instructions: str = ""
    ) -> CompactionResult:
        """Compact now."""
        session = self._session
        before = self._meter.estimate(session.conversation.messages)
        told = await pre_compact(
            session,
            self._settings,
            trigger=trigger,
            instructions=instructions,
            environment=self._environment,
        )
        plan = None if instructions.strip() else await self._with_running_summary(limits)
        plan = plan or self._with_new_summary(limits)
        await session.hooks.compaction(session.context, plan.going)
        session.emit(CompactionStarted(trigger))
        if plan.summary is None and plan.going:
            wanted = "\n".join(filter(None, (self._settings.instructions, instructions, told)))
            try:
                summary = await self._summarised(plan.going, wanted, limits, trigger)
                plan = replace(plan, summary=summary)
            except SummaryFailedError as error:
                plan = await self._extracted(plan, limits, str(error))
        kept_in = await self._kept(plan.going)
        await self._replace(plan, trigger, limits, kept_in)
        result = CompactionResult(
            tier=plan.tier,
            removed_messages=len(plan.going),
            tokens_before=before,
            tokens_after=self._meter.estimate(session.conversation.messages),
            summary="" if plan.summary is None else plan.summary.text,
            problem=plan.problem,
            kept_in=kept_in,
        )
        self._told(plan, result)
        if plan.tier != "session_memory":
            await session.hooks.session_start(session.context)
        return result

    # -- What goes, and what stands in its place --------------------------------------------------

    async def _with_running_summary(self, limits: Thresholds) -> _Plan | None:
        """The plan with the session's running summary; None when it will not do."""
        memory, settings = self._memory, self._settings
        if memory is None or not (memory.is_enabled and settings.session_memory_compact):
            return None
        await memory.settled()
        text = await asyncio.to_thread(memory.files.summary)
        metadata = await asyncio.to_thread(memory.files.metadata)
        if text is None or metadata is None:
            return None
        conversation = self._session.conversation
        turns = tuple(conversation.turns)
        index = conversation.index_of(metadata.last_summarized_id)
        if index is None:
            return None
        start = safe_cut(turns, min(index + 1, open_round(turns)))
        tokens = estimate_tokens(text)
        saved = self._meter.estimate(turns[:start]) - tokens
        left = self._meter.estimate(conversation.messages) - saved
        if tokens > settings.session_memory_max_tokens or saved < (
            settings.session_memory_min_tokens
        ):
            return None
        if self._with_margin(left) >= limits.auto_compact:
            return None
        return _Plan(tier="session_memory", turns=turns, start=start, summary=Summary(text, tokens))

    def _with_new_summary(self, limits: Thresholds) -> _Plan:
        turns = tuple(self._session.conversation.turns)
        tail = min(self._settings.tail_tokens, limits.limit // 10)
        start = tail_start(turns, max_tokens=tail, tokens=self._meter.message)
        return _Plan(tier="full", turns=turns, start=start)

    async def _summarised(
        self, going: Sequence[Message], instructions: str, limits: Thresholds, trigger: Trigger
    ) -> Summary:
        fits = self._with_margin(self._meter.estimate(going)) < limits.blocking
        return await summarise(
            self._session,
            going,
            self._settings,
            instructions=instructions,
            limit=limits.limit,
            as_it_stands=self._session.model.info.has_prompt_cache
            and fits
            and trigger != "overflow",
        )

    async def _extracted(self, plan: _Plan, limits: Thresholds, problem: str) -> _Plan:
        """The plan without a model: all old results are cleared, a longer tail stays, and an
        extract by rules stands for the rest."""
        turns = plan.turns
        loose = replace(self._settings, micro_threshold=0, micro_min_savings=1)
        names = frozenset(r.name for message in turns for r in message.tool_results)
        planned = micro.plan(turns, loose, self._meter, tools=names)
        cleared = await asyncio.to_thread(micro.apply, turns, planned, loose, self._files)
        turns = turns if cleared is None else cleared.turns
        room = int(limits.limit * _EXTRACT_TAIL_SHARE / self._settings.safety_margin)
        start = tail_start(turns, max_tokens=room, tokens=self._meter.message)
        most = min(self._settings.summary_tokens, limits.limit // 8)
        text = digest(plan.turns[:start], max_tokens=most) if start else ""
        summary = Summary(text, estimate_tokens(text)) if start else None
        return _Plan(tier="extract", turns=turns, start=start, summary=summary, problem=problem)

    # -- Doing it ---------------------------------------------------------------------------------

    async def _kept(self, going: Sequence[Message]) -> str:
        """The file with the messages that go; empty when it could not be written."""
        if not going:
            return ""
        try:
            path = await asyncio.to_thread(
                self._files.write_compacted, going[-1].id, as_text(going)
            )
        except (OSError, WellkeptError) as error:
            self._session.report("compaction", f"The replaced messages were not kept: {error}")
            return ""
        return str(path)

    async def _replace(
        self, plan: _Plan, trigger: Trigger, limits: Thresholds, kept_in: str
    ) -> None:
        """Put the new messages in place; what would be too much again gives way."""
        conversation = self._session.conversation
        layers = len(conversation.messages) - len(conversation.turns)
        fixed = self._meter.estimate(conversation.messages[:layers])
        head = (
            []
            if plan.summary is None
            else [
                _boundary(plan, trigger),
                _summary_message(plan, plan.summary, kept_in),
            ]
        )
        staying = plan.staying
        room = int(limits.auto_compact / self._settings.safety_margin) - fixed
        room -= self._meter.estimate(head)
        if self._meter.estimate(staying) > room * _OPEN_ROUND_SHARE:
            staying = await asyncio.to_thread(
                shrunk, staying, max_tokens=int(room * _OPEN_ROUND_SHARE), files=self._files
            )
        room -= self._meter.estimate(staying)
        again = await restored(
            self._session,
            self._settings,
            room_tokens=max(0, room // 2),
            with_files=plan.tier == "full",
        )
        self._session.replace_turns([*head, *([] if again is None else [again]), *staying])
        self._meter.forget(self._session.conversation.messages)

    def _told(self, plan: _Plan, result: CompactionResult) -> None:
        """Tell listeners and the timeline."""
        if plan.problem:
            where = f" They are in {result.kept_in}." if result.kept_in else ""
            self._session.report(
                "compaction",
                f"{plan.problem} Old tool results were cleared, and an extract by rules stands for "
                f"the oldest {result.removed_messages} messages.{where}",
            )
        tokens = 0 if plan.summary is None else plan.summary.tokens
        if plan.tier == "session_memory":
            saved = self._meter.estimate(plan.going) - tokens
            self._session.emit(SessionMemoryCompactApplied(saved, tokens))
        else:
            self._session.emit(CompactionCompleted(len(plan.going), tokens))
        if self._timeline is not None and plan.summary is not None:
            self._timeline.add(
                self._session.id, segments=len(plan.going), summary=plan.summary.text
            )

    def _with_margin(self, tokens: int) -> int:
        return math.ceil(tokens * self._settings.safety_margin)


def _boundary(plan: _Plan, trigger: Trigger) -> Message:
    text = (
        f'<compaction-boundary trigger="{trigger}" removed_messages="{len(plan.going)}" />\n'
        "Earlier messages of this conversation were replaced by what follows."
    )
    return user_message(text, kind=MessageKind.BOUNDARY)


def _summary_message(plan: _Plan, summary: Summary, kept_in: str) -> Message:
    parts = [f"<summary>\n{summary.text}\n</summary>"]
    asked = _last_request(plan)
    if asked:
        parts.append(f"The person's last request, word for word:\n{asked}")
    if kept_in:
        parts.append(
            f"The replaced messages in full: {kept_in}. What was replaced or cleared before: "
            f"{Path(kept_in).parent.parent}. Search there for exact wording that the summary lacks."
        )
    return user_message("\n\n".join(parts), kind=MessageKind.SUMMARY)


def _last_request(plan: _Plan) -> str:
    """The last prompt of the person, when it goes; empty when a later one stays."""
    if any(_is_prompt(message) for message in plan.staying):
        return ""
    asked = next((m.text for m in reversed(plan.going) if _is_prompt(m)), "")
    return middle_cut(asked.strip(), max_tokens=_LAST_REQUEST_TOKENS)


def _is_prompt(message: Message) -> bool:
    return message.role is Role.USER and message.kind is MessageKind.PLAIN


# -- Where a conversation may be cut: never between a tool call and its result --------------------


_MADE_BY_COMPACTION = (MessageKind.BOUNDARY, MessageKind.SUMMARY, MessageKind.RESTORED)


def safe_cut(turns: Sequence[Message], index: int) -> int:
    """The nearest cut at or before an index that takes no result away from its call."""
    index = max(0, min(index, len(turns)))
    while index > 0 and index < len(turns) and turns[index].role is Role.TOOL:
        index -= 1
    return index


def open_round(turns: Sequence[Message]) -> int:
    """Where the part begins that the model has not answered yet: its last calls with their
    results, or the person's prompt. The length of the turns when everything is answered."""
    index = len(turns)
    while index > 0 and turns[index - 1].role is not Role.ASSISTANT:
        index -= 1
    answered = index == len(turns)
    if not answered and turns[index].role is Role.TOOL:
        index -= 1  # the assistant message that made the calls
    return len(turns) if answered else max(0, index)


def tail_start(
    turns: Sequence[Message], *, max_tokens: int, tokens: Callable[[Message], int]
) -> int:
    """Where the tail begins: the open round in any case, and before it as many messages as fit."""
    start = open_round(turns)
    used = sum(map(tokens, turns[start:]))
    best = start
    for index in range(start - 1, -1, -1):
        used += tokens(turns[index])
        if used > max_tokens or turns[index].kind in _MADE_BY_COMPACTION:
            break
        if safe_cut(turns, index) == index:
            best = index
    return best


# -- The PreCompact command of the settings: a person's own script, run before compaction ---------


_MAX_CHARS = 10_000


async def pre_compact(
    session: AgentSession,
    settings: CompactionSettings,
    *,
    trigger: str,
    instructions: str,
    environment: Mapping[str, str],
) -> str:
    """What the command printed; empty without a command or when it failed."""
    if not settings.pre_compact_command.strip():
        return ""
    told = {
        "hook_event_name": "PreCompact",
        "session_id": session.id,
        "cwd": str(session.working_directory),
        "trigger": trigger,
        "custom_instructions": instructions,
    }
    run = await asyncio.to_thread(
        run_command,
        settings.pre_compact_command,
        cwd=session.working_directory,
        environment=filtered_environment(environment),
        stdin=json.dumps(told).encode(),
        timeout_s=settings.pre_compact_time_limit_s,
    )
    problem = _problem(run, settings.pre_compact_time_limit_s)
    if problem:
        session.report("PreCompact", problem)
        return ""
    return shorten(clean(run.stdout).strip(), limit=_MAX_CHARS)


def _problem(run: HookRun, time_limit_s: float) -> str:
    if run.timed_out:
        return f"The command took longer than {time_limit_s:g} s."
    if run.exit_code == 0:
        return ""
    said = shorten(run.stderr.strip() or run.stdout.strip(), limit=500)
    return f"The command failed ({run.problem or f'exit code {run.exit_code}'}): {said}"
