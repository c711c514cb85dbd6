"""Skills in the loop: used by the person as `/name`, or by the model through the Skill tool.

Finding, rendering and trusting skills is not done here, but in `wellkept.skills`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from wellkept.context.skill_lines import shown_id
from wellkept.core.chat.messages import MessageKind, user_message
from wellkept.core.errors import NotFoundError, WellkeptError
from wellkept.core.records import record, replace
from wellkept.core.skills import HookEvent, SkillContext
from wellkept.core.text import shorten
from wellkept.skills.commands.rendering import read_command
from wellkept.skills.commands.table import CommandKind
from wellkept.skills.hooks.runner import HookState
from wellkept.skills.selection.injection import without_frame
from wellkept_agent.budgets import PromptBudgets, PromptParts, SkillText, trimmed
from wellkept_agent.compaction.compactor import Restored, RestoredSection
from wellkept_agent.counters import CountUsage
from wellkept_agent.hooks import Capability
from wellkept_agent.permissions import Decision, PermissionRequest
from wellkept_agent.recall import SHOWN
from wellkept_agent.settings import FeatureFlags
from wellkept_agent.tools.base import ToolOutput, failure, not_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.chat.messages import Message, ModelResponse, ToolCallPart
    from wellkept.core.codec import Json
    from wellkept.skills.commands.rendering import RenderedPrompt
    from wellkept.skills.hooks.runner import HookReport
    from wellkept.skills.library.api import Skills
    from wellkept.skills.selection.select import SkillChoice
    from wellkept_agent.hooks import HookContext, SessionSummary
    from wellkept_agent.session import AgentSession, RunResult
    from wellkept_agent.tools.base import ToolContext


# -- `MatchSkills`: a skill that clearly fits a prompt is told with it, within its budget ---------


TOLD = "session:skills.told"
MATCH_LIMIT_S = 1.0
_FRAME = "wellkept-memory"


@record
class MatchedSkill:
    """A skill for a prompt. `id` is what recall knows it by, so that it is not named again."""

    skill: SkillText
    id: str


class _SkillMatcher(Protocol):
    """The skills that fit a prompt, best first. Synchronous; called in a thread."""

    def __call__(self, prompt: str, /) -> Sequence[MatchedSkill]: ...


class MatchSkills(Capability):
    """Tells skills that fit. Comes before `Recall`, and after `SkillUse`."""

    name: ClassVar[str] = "matched skills"

    def __init__(
        self,
        match: _SkillMatcher,
        *,
        budgets: PromptBudgets | None = None,
        flags: FeatureFlags | None = None,
    ) -> None:
        self._match = match
        self._max_chars = (flags or FeatureFlags()).skills_max_injected_chars
        # Memories have a room of their own, which they may have filled.
        self._budgets = replace(budgets or PromptBudgets(), memories_tokens=0)

    def attach(self, session: AgentSession) -> None:
        """Remember the session."""
        self._session = session

    async def on_user_message(self, context: HookContext, text: str) -> None:
        """Tell the skills that fit a prompt and were not told yet."""
        if not text.strip() or text.lstrip().startswith("/"):
            return
        try:
            matched = await asyncio.wait_for(asyncio.to_thread(self._match, text), MATCH_LIMIT_S)
        except TimeoutError:
            return  # the thread goes on: the next prompt finds the indexes built
        self._count(matched)
        new = [one for one in matched if one.id not in self._listed(TOLD)]
        parts = PromptParts(skills=tuple(one.skill for one in new))
        kept = trimmed(parts, self._budgets, skills_chars=self._max_chars).skills
        if not kept:
            return
        names = {skill.name for skill in kept}
        self._note([one.id for one in new if one.skill.name in names])
        self._session.add(user_message(_framed(kept), kind=MessageKind.REMINDER))

    async def on_compaction(self, context: HookContext, messages: Sequence[Message]) -> None:
        """What was told is about to go: it may be told again."""
        self._session.state.remove(TOLD)

    def _count(self, matched: Sequence[MatchedSkill]) -> None:
        for capability in self._session.capabilities:
            if isinstance(capability, CountUsage):
                for one in matched:
                    capability.matched(one.skill.name, one.skill.score)

    def _note(self, ids: Sequence[str]) -> None:
        for key in (TOLD, SHOWN):
            self._session.state.set(key, [*sorted({*self._listed(key), *ids})])

    def _listed(self, key: str) -> set[str]:
        found = self._session.state.get(key)
        return {str(one) for one in found} if isinstance(found, list) else set()


def _framed(skills: Sequence[SkillText]) -> str:
    body = "\n\n".join(skill.text for skill in skills)
    return (
        f'<{_FRAME} about="skills">\nInstructions for such work; use what fits.\n\n{body}\n'
        f"</{_FRAME}>"
    )


# -- `SkillUse`: a skill's instructions, limits, hooks and reminders in a session -----------------


TIME_LIMIT_S = 3_600.0
_SHOWN_NAMES = 20


class SkillUse(Capability):
    """Uses the skills of an open project in one session. Also what the Skill tool calls."""

    name: ClassVar[str] = "skills"
    time_limit_s = TIME_LIMIT_S

    def __init__(self, skills: Skills) -> None:
        self._skills = skills
        self._not_ended_yet: str | None = None
        self._reported: set[str] = set()

    def for_subagent(self) -> Capability:
        """A sub-agent's calls meet the hooks of the skills in use too."""
        return SkillUse(self._skills)

    def attach(self, session: AgentSession) -> None:
        """Remember the session."""
        self._session = session
        self._limits = _TurnLimits(session)

    # -- Using a skill ----------------------------------------------------------------------------

    async def use(self, context: ToolContext, name: str, arguments: str) -> ToolOutput:
        """Use a skill that the model has chosen."""
        try:
            prompt = await self._rendered(name, arguments, by="model")
        except WellkeptError as error:
            return failure(str(error))
        if prompt is None:
            known = await asyncio.to_thread(self._skills.commands.list, by="model")
            names = [one.name for one in known if one.kind is CommandKind.PROMPT]
            listed = ", ".join(names[:_SHOWN_NAMES]) or "none"
            return failure(f"There is no skill {name!r} to use. There are: {listed}.")
        if prompt.context is SkillContext.FORK:
            return await self._followed(prompt)
        self._limits.apply(prompt)
        return ToolOutput(content=prompt.text, query=name)

    async def on_user_message(self, context: HookContext, text: str) -> str | None:
        """Replace `/name arguments` by what the skill says; remind of the skills in use."""
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
        """The prompt of a skill; its use counts, and its hooks are active from now on."""
        commands, session = self._skills.commands, self._session.id
        served = await self._served(name, arguments)

        def run() -> RenderedPrompt | None:
            try:
                command = commands.get(name, by=by)
            except NotFoundError:
                return None
            if command.kind is not CommandKind.PROMPT:
                return None
            return commands.run(name, arguments, by=by, session=session, served=served).prompt

        prompt = await asyncio.to_thread(run)
        if prompt is not None and prompt.skill.hooks:
            await self._ask_for_hooks(prompt.skill.name)
        return prompt

    async def _served(self, name: str, arguments: str) -> str | None:
        """The text of a prompt that only its server has; None for every other skill."""
        for capability in self._session.capabilities:
            if isinstance(capability, _ServesPrompts):
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
        hooks = self._skills.hooks
        listed = [
            one
            for one in await asyncio.to_thread(hooks.list)
            if one.skill.name == name and one.state in (HookState.NEW, HookState.CHANGED)
        ]
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
            await asyncio.to_thread(hooks.trust, name, seen=listed)
        except WellkeptError as error:
            self._session.report("skills", str(error))

    # -- Hooks of skills --------------------------------------------------------------------------

    async def on_before_tool(self, context: HookContext, call: ToolCallPart) -> ToolOutput | None:
        """A skill's hook may block a call."""
        report = await self._ran(HookEvent.PRE_TOOL_USE, call)
        return not_run(report.reason) if report is not None and report.is_blocked else None

    async def on_after_tool(
        self, context: HookContext, call: ToolCallPart, output: ToolOutput
    ) -> ToolOutput | None:
        """A skill's hook may have something to say to a result."""
        report = await self._ran(HookEvent.POST_TOOL_USE, call, output)
        if report is None or not report.is_blocked:
            return None
        return replace(output, content=f"{output.content}\n\n{report.reason}")

    async def on_after_llm(
        self, context: HookContext, response: ModelResponse
    ) -> ModelResponse | None:
        """When the model wants to stop, a skill's hook may have it go on."""
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
        self._limits.lift()

    def restored_sections(self) -> Sequence[RestoredSection]:
        """After compaction the model no longer has what a skill said."""
        text = self._reminder("detailed")
        return [RestoredSection(Restored.SKILLS, text)] if text else []

    async def on_session_end(self, context: HookContext, summary: SessionSummary) -> None:
        """The hooks of skills in use end with the session."""
        if self._session.parent is None:
            self._skills.hooks.end(self._session.id)

    async def _ran(
        self, event: HookEvent, call: ToolCallPart | None = None, output: ToolOutput | None = None
    ) -> HookReport | None:
        """Run the hooks of the skills in use; problems are reported once."""
        session = self._session
        if not self._skills.hooks.in_use(session.id):
            return None
        given: Json = None if call is None else call.args
        answer: Json = None if output is None else output.content
        name = "" if call is None else call.name.replace("mcp:", "mcp__").replace(":", "__")
        report = await asyncio.to_thread(
            self._skills.hooks.run,
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
        if self._session.parent is not None:
            return None
        reminder = await asyncio.to_thread(self._reminder, "sparse")
        return f"{text}\n\n{reminder}" if reminder else None

    def _reminder(self, level: str) -> str:
        """A reminder of the skills in use; those that are gone are left out."""
        names = self._skills.hooks.in_use(self._session.id)
        if not names:
            return ""
        index = self._skills.index()
        return self._skills.reminders(*(one for one in names if index.get(one)), level=level)


class SessionSkills:
    """What the Skill tool calls: the skills of whichever session the call belongs to."""

    async def use(self, context: ToolContext, name: str, arguments: str) -> ToolOutput:
        """Use a skill in the session of a call."""
        for capability in context.session.capabilities:
            if isinstance(capability, SkillUse):
                return await capability.use(context, name, arguments)
        return failure("This session has no skills.")


# -- What a skill changes for the rest of a turn: the tools that are allowed, and the model -------


class _TurnLimits:
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
class _ServesPrompts(Protocol):
    """A capability that has the texts of servers' prompts."""

    async def served_prompt(self, skill: str, arguments: str) -> str | None:
        """The text of the prompt that became a skill of this name; None when none did."""
        ...


# -- The skill that clearly fits a prompt, as the loop tells it -----------------------------------


_LINE_CHARS = 240


class ProjectSkillMatches:
    """`SkillMatcher` over `wk.skills`. Only what was forced, and at most one that is worth telling
    unasked."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    def __call__(self, prompt: str, /) -> Sequence[MatchedSkill]:
        hint = self._skills.hint(prompt)
        choices = (*self._skills.forced(), *([hint] if hint else []))
        by_name = {one.skill.name: one for one in reversed(choices)}  # a forced one counts
        return tuple(_matched(one) for one in reversed(by_name.values()))


def _matched(choice: SkillChoice) -> MatchedSkill:
    skill = choice.skill
    why = choice.reasons[0] if choice.reasons else "fits"
    text = SkillText(
        name=skill.name,
        heading=f"## {_line(skill.name)}\n({skill.source.kind.value} skill; {_line(why)})",
        body=without_frame(skill.body),
        score=min(1.0, max(0.0, choice.score)),
    )
    return MatchedSkill(text, shown_id(skill))


def _line(text: str) -> str:
    return shorten(without_frame(" ".join(text.split())), limit=_LINE_CHARS)
