"""`SkillUse`: a skill's instructions, limits, hooks and reminders in a session.

A skill in the main context puts its text into the conversation and limits tools and model until the
turn ends. A forked one is followed by a sub-agent, whose report comes back. Hooks of a skill run
only after the person has said yes to exactly these commands; without a yes the skill works without
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from wellkept.core.errors import WellkeptError
from wellkept.core.records import replace
from wellkept.core.skills import HookEvent, SkillContext
from wellkept.skills.commands.arguments import read_command
from wellkept_agent.capability import Capability
from wellkept_agent.compaction.restore import Restored, RestoredSection
from wellkept_agent.tools.arguments import argument_fields
from wellkept_agent.tools.base import ToolOutput, failure, not_run
from wellkept_agent.user import Decision, PermissionRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.chat.messages import ModelResponse, ToolCallPart
    from wellkept.core.codec import Json
    from wellkept.skills.commands.rendering import RenderedPrompt
    from wellkept.skills.hooks.runner import HookReport, ListedHook
    from wellkept_agent.hooks import HookContext, SessionSummary
    from wellkept_agent.session import AgentSession, RunResult
    from wellkept_agent.tools.context import ToolContext

TIME_LIMIT_S = 3_600.0
_SHOWN_NAMES = 20


class SkillUse(Capability):
    """Uses skills in one session. Also what the Skill tool calls."""

    name: ClassVar[str] = "skills"
    time_limit_s = TIME_LIMIT_S

    def __init__(self, book: SkillBook) -> None:
        self._book = book
        self._not_ended_yet: str | None = None
        self._reported: set[str] = set()

    def for_subagent(self) -> Capability:
        """A sub-agent's calls meet the hooks of the skills in use too."""
        return SkillUse(self._book)

    def attach(self, session: AgentSession) -> None:
        """Remember the session."""
        self._session = session
        self._limits = TurnLimits(session)

    # -- Using a skill ----------------------------------------------------------------------------

    async def use(self, context: ToolContext, name: str, arguments: str) -> ToolOutput:
        """Use a skill that the model has chosen."""
        _ = context
        try:
            prompt = await self._rendered(name, arguments, by="model")
        except WellkeptError as error:
            return failure(str(error))
        if prompt is None:
            known = await asyncio.to_thread(self._book.names)
            listed = ", ".join(known[:_SHOWN_NAMES]) or "none"
            return failure(f"There is no skill {name!r} to use. There are: {listed}.")
        if prompt.context is SkillContext.FORK:
            return await self._followed(prompt)
        self._limits.apply(prompt)
        return ToolOutput(content=prompt.text, query=name)

    async def on_user_message(self, context: HookContext, text: str) -> str | None:
        """Replace `/name arguments` by what the skill says; remind of the skills in use."""
        _ = context
        typed = read_command(text) if text.lstrip().startswith("/") else None
        if typed is not None:
            prompt = await self._rendered(typed.name, typed.arguments.text, by="person")
            if prompt is not None:
                shown = f"/{typed.name} {typed.arguments.text}".strip()
                return await self._as_message(shown, prompt)
        return await self._with_reminder(text)

    async def _as_message(self, typed: str, prompt: RenderedPrompt) -> str:
        if prompt.context is SkillContext.FORK:
            report = await self._followed(prompt)
            return f"{typed}\n\nA sub-agent has done this. Its report:\n\n{report.content}"
        self._limits.apply(prompt)
        return f"{typed}\n\n{prompt.text}"

    async def _rendered(self, name: str, arguments: str, *, by: str) -> RenderedPrompt | None:
        prompt = await asyncio.to_thread(
            self._book.rendered,
            name,
            arguments,
            by=by,
            session=self._session.id,
            served=await self._served(name, arguments),
        )
        if prompt is not None and prompt.skill.hooks:
            await self._ask_for_hooks(prompt.skill.name)
        return prompt

    async def _served(self, name: str, arguments: str) -> str | None:
        """The text of a prompt that only its server has; None for every other skill."""
        for capability in self._session.capabilities:
            if isinstance(capability, ServesPrompts):
                return await capability.served_prompt(name, arguments)
        return None

    async def _followed(self, prompt: RenderedPrompt) -> ToolOutput:
        """Let a sub-agent follow a skill."""
        session = self._session
        with self._limits.during(prompt):
            result = await session.delegate(
                prompt.text,
                agent_type=prompt.agent or prompt.skill.name,
                description=f"/{prompt.skill.name}",
                tools=tool_names(prompt.allowed_tools, session.tools.names()),
                model=prompt.model,
            )
        text = result.text or "[The sub-agent gave no report.]"
        return ToolOutput(
            content=text if result.ok else f"{text}\n[It ended early: {result.detail}]",
            is_error=not result.ok,
            query=prompt.skill.name,
        )

    async def _ask_for_hooks(self, name: str) -> None:
        """Ask the person once for hooks that were never allowed, or have changed."""
        listed = await asyncio.to_thread(self._book.undecided_hooks, name)
        if not listed:
            return
        commands = "\n".join(f"{one.hook.event.value}: {one.hook.command}" for one in listed)
        decision = await self._session.person.permit(
            PermissionRequest(
                tool="Skill",
                arguments=name,
                reason=f"run the hooks of the skill {name}",
                preview=commands,
            )
        )
        if decision is Decision.DENY:
            self._session.report("skills", f"The hooks of the skill {name} do not run.")
            return
        try:
            await asyncio.to_thread(self._book.trust, name, listed)
        except WellkeptError as error:
            self._session.report("skills", str(error))

    # -- Hooks of skills --------------------------------------------------------------------------

    async def on_before_tool(self, context: HookContext, call: ToolCallPart) -> ToolOutput | None:
        """A skill's hook may block a call."""
        _ = context
        report = await self._ran(HookEvent.PRE_TOOL_USE, call)
        return not_run(report.reason) if report is not None and report.is_blocked else None

    async def on_after_tool(
        self, context: HookContext, call: ToolCallPart, output: ToolOutput
    ) -> ToolOutput | None:
        """A skill's hook may have something to say to a result."""
        _ = context
        report = await self._ran(HookEvent.POST_TOOL_USE, call, output)
        if report is None or not report.is_blocked:
            return None
        return replace(output, content=f"{output.content}\n\n{report.reason}")

    async def on_after_llm(
        self, context: HookContext, response: ModelResponse
    ) -> ModelResponse | None:
        """When the model wants to stop, a skill's hook may have it go on."""
        _ = context
        self._not_ended_yet = None
        if not response.message.tool_calls and self._session.parent is None:
            report = await self._ran(HookEvent.STOP)
            if report is not None and report.is_blocked:
                self._not_ended_yet = report.reason
        return None

    def keep_going(self) -> str | None:
        """What a skill's Stop hook said."""
        reason, self._not_ended_yet = self._not_ended_yet, None
        return reason

    def turn_ended(self, result: RunResult) -> None:
        """Limits of skills end with the turn."""
        _ = result
        self._limits.lift()

    def restored_sections(self) -> Sequence[RestoredSection]:
        """After compaction the model no longer has what a skill said."""
        names = self._book.in_use(self._session.id)
        text = self._book.reminders(names, level="detailed") if names else ""
        return [RestoredSection(Restored.SKILLS, text)] if text else []

    async def on_session_end(self, context: HookContext, summary: SessionSummary) -> None:
        """The hooks of skills in use end with the session."""
        _ = context, summary
        if self._session.parent is None:
            self._book.end(self._session.id)

    async def _ran(
        self, event: HookEvent, call: ToolCallPart | None = None, output: ToolOutput | None = None
    ) -> HookReport | None:
        """Run the hooks of the skills in use; problems are reported once."""
        session = self._session
        if not self._book.in_use(session.id):
            return None
        given: Json = None if call is None else argument_fields(call.arguments)
        answer: Json = None if output is None else output.content
        name = "" if call is None else call.name.replace("mcp:", "mcp__").replace(":", "__")
        report = await asyncio.to_thread(
            self._book.run_hooks,
            event.value,
            session=session.id,
            tool=name,
            tool_input=given,
            tool_response=answer,
        )
        for problem in report.problems:
            if problem not in self._reported:
                self._reported.add(problem)
                session.report("skills", problem)
        return report

    async def _with_reminder(self, text: str) -> str | None:
        names = self._book.in_use(self._session.id)
        if not names or self._session.parent is not None:
            return None
        reminder = await asyncio.to_thread(self._book.reminders, names, level="sparse")
        return f"{text}\n\n{reminder}" if reminder else None


class SessionSkills:
    """What the Skill tool calls: the skills of whichever session the call belongs to."""

    async def use(self, context: ToolContext, name: str, arguments: str) -> ToolOutput:
        """Use a skill in the session of a call."""
        for capability in context.session.capabilities:
            if isinstance(capability, SkillUse):
                return await capability.use(context, name, arguments)
        return failure("This session has no skills.")


# -- What a skill changes for the rest of a turn: the tools that are allowed, and the model -------


class TurnLimits:
    """Limits that skills set in a turn, and what was there before."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._before: tuple[tuple[str, ...] | None, str | None] | None = None

    def apply(self, prompt: RenderedPrompt) -> None:
        """From now on and until the end of the turn, work as a skill says."""
        session = self._session
        if self._before is None:
            self._before = (session.permissions.only, session.model_override)
        if prompt.allowed_tools:
            session.permissions.only = narrowed(session.permissions.only, prompt.allowed_tools)
        if prompt.model:
            session.model_override = prompt.model

    def lift(self) -> None:
        """The turn is over."""
        if self._before is not None:
            self._session.permissions.only, self._session.model_override = self._before
            self._before = None

    @contextmanager
    def during(self, prompt: RenderedPrompt) -> Generator[None]:
        """Limit the tools only while a sub-agent follows a skill."""
        permissions = self._session.permissions
        before = permissions.only
        if prompt.allowed_tools:
            permissions.only = narrowed(before, prompt.allowed_tools)
        try:
            yield
        finally:
            permissions.only = before


def narrowed(limit: Sequence[str] | None, rules: Sequence[str]) -> tuple[str, ...]:
    """Rules within a limit: all of them without one, else those that it covers."""
    if limit is None:
        return tuple(rules)
    return tuple(rule for rule in rules if any(_covers(wide, rule) for wide in limit))


def _covers(wide: str, rule: str) -> bool:
    wide_name, has_pattern, _ = wide.partition("(")
    name = rule.partition("(")[0]
    return wide == rule or (not has_pattern and fnmatchcase(name, wide_name))


def tool_names(rules: Sequence[str], known: Sequence[str]) -> list[str]:
    """The tools that rules speak of; all of them without rules."""
    if not rules:
        return list(known)
    plain = [rule.strip().partition("(")[0] for rule in rules]
    return [name for name in known if any(fnmatchcase(name, one) for one in plain)]


# -- Skill port -----------------------------------------------------------------------------------


@runtime_checkable
class ServesPrompts(Protocol):
    """A capability that has the texts of servers' prompts."""

    async def served_prompt(self, skill: str, arguments: str) -> str | None:
        """The text of the prompt that became a skill of this name; None when none did."""
        ...


class SkillBook(Protocol):
    """The skills of a project."""

    def rendered(
        self, name: str, arguments: str, *, by: str, session: str, served: str | None = None
    ) -> RenderedPrompt | None:
        """The prompt of a skill, and note its use in the session; None when `name` is no skill that
        this side may run. `by` is "person" or "model"; `served` is the text of a server's prompt.
        """
        ...

    def names(self) -> Sequence[str]:
        """The skills that a model may use."""
        ...

    def undecided_hooks(self, name: str) -> Sequence[ListedHook]:
        """Hooks of a skill that the person has not trusted as they are now."""
        ...

    def trust(self, name: str, seen: Sequence[ListedHook]) -> None:
        """Trust the hooks of a skill exactly as they were listed."""
        ...

    def run_hooks(
        self,
        event: str,
        *,
        session: str,
        tool: str = "",
        tool_input: Json = None,
        tool_response: Json = None,
    ) -> HookReport:
        """Run the hooks of the skills in use."""
        ...

    def in_use(self, session: str) -> Sequence[str]:
        """The skills that were used in a session."""
        ...

    def reminders(self, names: Sequence[str], *, level: str) -> str:
        """A reminder of skills in use."""
        ...

    def end(self, session: str) -> None:
        """The session is over."""
        ...
