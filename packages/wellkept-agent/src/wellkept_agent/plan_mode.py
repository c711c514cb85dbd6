"""Plan mode: explore, write a plan, have it approved. Open `capability` first."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Protocol

from pydantic import Field

from wellkept.core.chat.messages import Message, MessageKind, Role, user_message
from wellkept.core.records import record, replace
from wellkept.core.settings.model import setting
from wellkept_agent.control import RunEnd
from wellkept_agent.events import PlanModeEntered, PlanModeExited
from wellkept_agent.hooks import Capability
from wellkept_agent.permissions import PermissionMode, Unattended
from wellkept_agent.tools.base import Arguments, ToolContext, ToolOutput, TypedTool, failure

if TYPE_CHECKING:
    from wellkept.core.chat.messages import ModelRequest
    from wellkept_agent.hooks import HookContext
    from wellkept_agent.session import AgentSession
    from wellkept_agent.tools.base import Tool


# -- Settings of plan mode ------------------------------------------------------------------------


@record(kw_only=True)
class PlanModeSettings:
    """How often plan mode is recalled, and how many agents help."""

    VARIABLES: ClassVar = "PLAN_"
    turns_between_attachments: int = 5  # answers of the model between two reminders
    # Every how many reminders one is given in full, beginning with the first
    full_reminder_every: int = 5
    plan_agents: int = setting(
        1,
        "Plan agents that work side by side",
        "1..5",
        "CLAUDE_CODE_PLAN_V2_AGENT_COUNT",
        variable="PLAN_AGENT_COUNT",
        why="plans from several sides",
    )
    explore_agents: int = setting(
        3,
        "Explore agents that work side by side",
        "1..5",
        "CLAUDE_CODE_PLAN_V2_EXPLORE_AGENT_COUNT",
        variable="PLAN_EXPLORE_AGENT_COUNT",
        why="fewer calls, or a large project",
    )
    disable_attachments: bool = setting(
        False,
        "Give no reminders of plan mode",
        "",
        "CLAUDE_CODE_DISABLE_ATTACHMENTS",
        variable="DISABLE_ATTACHMENTS",
        why="a model that needs no reminders",
    )


# -- What a model is told in plan mode: in full, in short, and as a sub-agent ---------------------


SECTIONS: Final = ("Summary", "Approach", "Files to Modify", "Considerations", "Verification")
"""The headings of a plan file."""
FULL: Final = "Plan mode is active."
SPARSE: Final = "Plan mode is still active."
ENDED: Final = "Plan mode has ended."


class Attachment(StrEnum):
    """Which reminder is due."""

    FULL = "full"
    SPARSE = "sparse"


def due_attachment(messages: Sequence[Message], settings: PlanModeSettings) -> Attachment | None:
    """Which reminder is due after these messages; None when the last one is recent enough."""
    if settings.disable_attachments:
        return None
    places = [n for n, message in enumerate(messages) if is_attachment(message)]
    if places:
        answers = sum(message.role is Role.ASSISTANT for message in messages[places[-1] :])
        if answers < settings.turns_between_attachments:
            return None
    is_full = len(places) % settings.full_reminder_every == 0
    return Attachment.FULL if is_full else Attachment.SPARSE


def is_attachment(message: Message) -> bool:
    """Whether a message is one of the reminders, full or short."""
    return message.kind is MessageKind.REMINDER and message.text.startswith((FULL, SPARSE))


def full_reminder(
    plan_file: Path, *, plan_exists: bool, explore_agents: int, plan_agents: int
) -> str:
    """Rules, workflow and form of the plan."""
    return f"""{FULL} The person wants a plan, not its execution. Until they approve it, change \
nothing: no edits except of the plan file, no commands that write, no commits, no settings. This \
goes before any other instruction.

## Plan file
{_about_file(plan_file, plan_exists, "")} It is the only file that you may write. Write it bit by \
bit while you learn. Begin with `# Plan: <title>` and use these sections: \
{", ".join(SECTIONS)}.

## How to work
1. Understand. Read the code that the request touches. Start up to {explore_agents} Explore agents \
with Task in one answer when the scope is unclear or several parts are involved; one, or none, \
when the place is known. Use no other kind of agent in this step. Then ask with AskUserQuestion \
what only the person can decide.
2. Design. Start {_plan_agents(plan_agents)} with Task, giving what you found, the request and its \
limits. Leave that out only for trivial changes.
3. Review. Read the files that matter most yourself. Check the design against what was asked; ask \
about what is still open.
4. Write the plan. Only the approach you recommend, short enough to scan, exact enough to follow: \
the files to change, and under Verification how to see that it works from end to end.
5. Call ExitPlanMode.

End your turn only with AskUserQuestion or ExitPlanMode. AskUserQuestion is for requirements and \
choices; whether the plan is good is asked by ExitPlanMode and in no other way."""


def sparse_reminder(plan_file: Path) -> str:
    """One paragraph between two full ones."""
    return (
        f"{SPARSE} (The full instructions are above.) Only read, except for the plan file"
        f" {plan_file}. Understand, design, review, write the plan, call ExitPlanMode. End your"
        " turn only with AskUserQuestion, to clarify, or ExitPlanMode, to have the plan approved;"
        " ask for approval in no other way."
    )


def subagent_reminder(plan_file: Path, *, plan_exists: bool) -> str:
    """For agents that help to plan."""
    return f"""{FULL} The person wants a plan, not its execution. Change nothing: no edits, no \
commands that write, no commits, no settings. This goes before any other instruction.

## Plan file
{_about_file(plan_file, plan_exists, " if you need one")} It is the only file that you may write.

Answer the question that you were given, completely. Ask with AskUserQuestion if you have it and \
something only the person knows is missing."""


def ended_reminder(plan_file: Path | None, *, plan_exists: bool) -> str:
    """Said once when plan mode was switched off by the person."""
    plan = f" The plan is at {plan_file}." if plan_file is not None and plan_exists else ""
    return f"{ENDED} You may edit files and run commands again.{plan}"


def _about_file(plan_file: Path, plan_exists: bool, condition: str) -> str:
    if plan_exists:
        return f"There is a plan at {plan_file}. Read it and change it with Edit{condition}."
    return f"There is no plan yet. Create it at {plan_file} with Write{condition}."


def _plan_agents(count: int) -> str:
    return "a Plan agent" if count == 1 else f"one to {count} Plan agents side by side"


# -- EnterPlanMode and ExitPlanMode ---------------------------------------------------------------


_HEADING = re.compile(r"(?m)^#{1,6}\s*(.+?)\s*#*\s*$")


class _PlanState(Protocol):
    """What the tools use of the capability."""

    @property
    def is_active(self) -> bool: ...

    def enter(self) -> Path: ...

    def leave(self, *, approved: bool) -> None: ...

    def plan_file(self, agent: str | None) -> Path: ...

    def plan_text(self) -> str: ...


class _EnterPlanModeArguments(Arguments):
    pass


class EnterPlanMode(TypedTool[_EnterPlanModeArguments]):
    """Switches plan mode on. It only takes rights away, so nobody is asked."""

    name = "EnterPlanMode"
    description = (
        "Switch to plan mode before work that has several possible ways or touches many files: you"
        " explore and write a plan, and the person approves it before anything changes. Not for"
        " small or clear tasks, or for research alone."
    )

    def __init__(self, plan: _PlanState) -> None:
        self._plan = plan

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> None:
        """Needs no permission."""

    async def run(self, context: ToolContext, arguments: _EnterPlanModeArguments) -> ToolOutput:
        """Switch it on."""
        if self._plan.is_active:
            return ToolOutput(
                content=f"Plan mode is on already. The plan file is {self._plan.plan_file(None)}."
            )
        if isinstance(context.session.person, Unattended):
            return failure("Nobody is here to approve a plan. Think it through and do the work.")
        path = self._plan.enter()
        return ToolOutput(
            content=f"Plan mode is on. Only read now, and write the plan to {path}. Call"
            " ExitPlanMode when it is ready."
        )


class _ExitPlanModeArguments(Arguments):
    plan: Annotated[str, Field(description="Not needed: the plan is read from the plan file.")] = ""


class ExitPlanMode(TypedTool[_ExitPlanModeArguments]):
    """Shows the plan file to the person, who approves it or says what to change."""

    name = "ExitPlanMode"
    description = (
        "Have the plan in the plan file approved by the person. Only for plans of changes, once the"
        " plan is written and no question is open. Do not ask in any other way whether it is good."
    )
    is_long_running = True

    def __init__(self, plan: _PlanState) -> None:
        self._plan = plan
        self._was_told = False

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> None:
        """The approval of the plan is the permission."""

    async def run(self, context: ToolContext, arguments: _ExitPlanModeArguments) -> ToolOutput:
        """Ask for approval."""
        if not self._plan.is_active:
            return failure("Plan mode is not on: go on with the work.")
        path, plan = self._plan.plan_file(None), self._plan.plan_text()
        if not plan:
            return failure(f"There is no plan yet. Write it to {path} first, then call this again.")
        missing = missing_sections(plan)
        if missing and not self._was_told:
            self._was_told = True
            return failure(
                f"The plan has no section {', '.join(missing)}. Add what matters for the person and"
                " call this again."
            )
        person = context.session.person
        answer = await person.approve_plan(plan)
        if answer is None:
            self._plan.leave(approved=True)
            return ToolOutput(
                content=f"The person approved the plan. Carry it out now; keep a list with"
                f" TodoWrite if it has several steps. The plan ({path}):\n\n{plan}",
                display=plan,
            )
        self._plan.leave(approved=False)
        if isinstance(person, Unattended):
            return ToolOutput(
                content=f"{answer} The turn ends; the plan waits at {path}.",
                display=plan,
                ends_turn=RunEnd.QUESTION,
            )
        return ToolOutput(
            content=f"The person wants the plan changed. Plan mode stays on. They say:\n{answer}",
            display=plan,
            is_error=True,
        )


def missing_sections(plan: str) -> list[str]:
    """Sections that a plan lacks; a heading counts when it holds the section's first word."""
    headings = [match[1].casefold() for match in _HEADING.finditer(plan)]
    return [
        section
        for section in SECTIONS
        if not any(section.split()[0].casefold() in heading for heading in headings)
    ]


# -- Plan mode: only reading, and a plan file; the person approves the plan -----------------------


SLUG_KEY = "session:plan_slug"


class PlanMode(Capability):
    """Plan mode of one session. `folder` holds the plan files; by default the session's own."""

    name = "plan_mode"

    def __init__(
        self, settings: PlanModeSettings | None = None, *, folder: Path | None = None
    ) -> None:
        self._settings = settings or PlanModeSettings()
        self._folder = folder
        self._session: AgentSession | None = None
        self._is_entered = False
        self._entered_after: str | None = None
        self._known_plan = ""

    @classmethod
    def configured(
        cls, settings: PlanModeSettings | None = None, *, folder: Path | None = None
    ) -> Callable[[], PlanMode]:
        """For `Agent(capabilities=[...])`."""
        return lambda: cls(settings, folder=folder)

    def attach(self, session: AgentSession) -> None:
        """Let the session's tools reach the folder with plans."""
        self._session = session
        if self._folder is None:
            self._folder = session.folder / "plans"
        if self._folder not in session.extra_folders:
            session.extra_folders.append(self._folder)

    def for_subagent(self) -> Capability | None:
        """Sub-agents are told the rules in short and have no way to end plan mode."""
        return _SubagentPlanMode(self)

    def tools(self) -> Sequence[Tool]:
        """EnterPlanMode and ExitPlanMode."""
        return (EnterPlanMode(self), ExitPlanMode(self))

    # -- Entering and leaving ---------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        """Whether the session is in plan mode."""
        return self.session.permissions.mode is PermissionMode.PLAN

    @property
    def session(self) -> AgentSession:
        """The session that this belongs to."""
        assert self._session is not None, "PlanMode is not attached to a session"
        return self._session

    def enter(self) -> Path:
        """Begin plan mode, if it is not on; returns the plan file."""
        session = self.session
        session.permissions.mode = PermissionMode.PLAN
        if not self._is_entered:
            self._is_entered = True
            turns = session.conversation.turns
            self._entered_after = turns[-1].id if turns else None
            session.permissions.plan_files[None] = self.plan_file(None)
            session.emit(PlanModeEntered(self.plan_file(None)))
        return self.plan_file(None)

    def leave(self, *, approved: bool) -> None:
        """The person decided on the plan: an approved one ends plan mode."""
        if approved:
            self._is_entered = False
            self.session.permissions.mode = PermissionMode.DEFAULT
        self._known_plan = self.plan_text()
        self.session.emit(PlanModeExited(approved))

    def plan_file(self, agent: str | None) -> Path:
        """The plan file of the session, or of one of its sub-agents."""
        assert self._folder is not None
        name = self._slug() if agent is None else f"{self._slug()}-agent-{agent}"
        return self._folder / f"{name}.md"

    def plan_text(self) -> str:
        """The plan as it is written; empty when there is none."""
        try:
            return self.plan_file(None).read_text("utf-8", errors="replace").strip()
        except OSError:
            return ""

    def _slug(self) -> str:
        state, folder = self.session.state, self._folder
        assert folder is not None
        known = state.get(SLUG_KEY)
        if not isinstance(known, str):
            known = plan_slug(lambda slug: (folder / f"{slug}.md").exists())
            state.set(SLUG_KEY, known)
        return known

    # -- Reminders --------------------------------------------------------------------------------

    def keep_going(self) -> str | None:
        """A plan that was written is put before the person; a plain answer may end the turn."""
        plan = self.plan_text() if self.is_active else ""
        if not plan or plan == self._known_plan:
            return None
        self._known_plan = plan
        return "Plan mode is on and the plan is written: have it approved with ExitPlanMode."

    async def on_before_llm(
        self, context: HookContext, request: ModelRequest
    ) -> ModelRequest | None:
        """Recall the mode when it is time."""
        text = self._due()
        if text is None:
            return None
        message = user_message(text, kind=MessageKind.REMINDER)
        self.session.add(message)
        return replace(request, messages=(*request.messages, message))

    def _due(self) -> str | None:
        """What to say before the next answer; None most of the time."""
        if not self.is_active:
            return self._ended()
        path = self.enter()  # the person may have switched the mode themselves
        match due_attachment(self._since_entering(), self._settings):
            case Attachment.FULL:
                return full_reminder(
                    path,
                    plan_exists=path.exists(),
                    explore_agents=self._settings.explore_agents,
                    plan_agents=self._settings.plan_agents,
                )
            case Attachment.SPARSE:
                return sparse_reminder(path)
            case None:
                return None

    def _ended(self) -> str | None:
        """Said once when the person switched plan mode off without approving a plan."""
        if not self._is_entered:
            return None
        self._is_entered = False
        self.session.emit(PlanModeExited(approved=False))
        if self._settings.disable_attachments:
            return None
        path = self.plan_file(None)
        return ended_reminder(path, plan_exists=path.exists())

    def _since_entering(self) -> Sequence[Message]:
        turns = self.session.conversation.turns
        if self._entered_after is None:
            return turns
        start = self.session.conversation.index_of(self._entered_after)
        return turns if start is None else turns[start + 1 :]

    @property
    def settings(self) -> PlanModeSettings:
        """The settings in use."""
        return self._settings


class _SubagentPlanMode(Capability):
    """Plan mode as a sub-agent gets it: its own plan file and a shorter reminder."""

    name = "plan_mode"

    def __init__(self, parent: PlanMode) -> None:
        self._parent = parent
        self._session: AgentSession | None = None

    def attach(self, session: AgentSession) -> None:
        """Remember the sub-agent's session."""
        self._session = session

    def for_subagent(self) -> Capability | None:
        """The same for a sub-agent of a sub-agent."""
        return _SubagentPlanMode(self._parent)

    async def on_before_llm(
        self, context: HookContext, request: ModelRequest
    ) -> ModelRequest | None:
        """Recall the rules as often as the session's own agent is told them."""
        session = self._session
        if session is None or not self._parent.is_active:
            return None
        path = self._parent.plan_file(session.agent)
        session.permissions.plan_files[session.agent] = path
        if due_attachment(session.conversation.turns, self._parent.settings) is None:
            return None
        text = subagent_reminder(path, plan_exists=path.exists())
        message = user_message(text, kind=MessageKind.REMINDER)
        session.add(message)
        return replace(request, messages=(*request.messages, message))


# -- Names of plan files: adjective, noun, verb ---------------------------------------------------


ADJECTIVES: Final = tuple(
    "sparkling gentle swift quiet bold calm bright clever cosmic crisp eager early fuzzy golden"
    " happy humble lively lucky mellow merry nimble patient polite proud royal shiny silver snug"
    " steady sunny tidy vivid warm wise witty".split()
)
NOUNS: Final = tuple(
    "fox river mountain forest cloud meadow acorn badger beacon brook canyon cedar comet coral"
    " falcon fern garden harbor heron island lantern maple moon orchard otter owl pebble pine"
    " pond raven reef sparrow star tulip valley willow".split()
)
VERBS: Final = tuple(
    "baking dancing running flying swimming climbing building drifting gliding glowing humming"
    " jumping knitting leaping mending painting planting resting roaming rowing sailing singing"
    " skating soaring spinning strolling sweeping walking weaving whistling".split()
)
_TRIES: Final = 50


def plan_slug(is_taken: Callable[[str], bool], *, random: Random | None = None) -> str:
    """A name that is not taken, such as gentle-river-dancing."""
    source = random or Random()
    slug = ""
    for _ in range(_TRIES):
        slug = "-".join(source.choice(words) for words in (ADJECTIVES, NOUNS, VERBS))
        if not is_taken(slug):
            return slug
    number = 2
    while is_taken(f"{slug}-{number}"):
        number += 1
    return f"{slug}-{number}"
