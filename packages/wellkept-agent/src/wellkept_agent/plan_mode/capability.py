"""Plan mode: only reading, and a plan file; the person approves the plan.

The mode itself is a permission mode, and `permissions` enforces it. This capability gives the agent
its plan file and its tools, and recalls the rules: the first reminder in full, then one after every
few answers, each fifth of them in full again. Counting is done in the conversation, so that a
reminder that compaction removed is given again. The model stays the one that the person chose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from wellkept.core.chat.messages import Message, MessageKind, user_message
from wellkept.core.records import replace
from wellkept_agent.capability import Capability
from wellkept_agent.events import PlanModeEntered, PlanModeExited
from wellkept_agent.permissions import PermissionMode
from wellkept_agent.plan_mode import reminders
from wellkept_agent.plan_mode.settings import PlanModeSettings
from wellkept_agent.plan_mode.tools import EnterPlanMode, ExitPlanMode

if TYPE_CHECKING:
    from wellkept.core.chat.messages import ModelRequest
    from wellkept_agent.hooks import HookContext
    from wellkept_agent.session import AgentSession
    from wellkept_agent.tools.base import Tool

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
        return SubagentPlanMode(self)

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
        """In plan mode a turn ends with a question or with the plan."""
        if not self.is_active:
            return None
        return (
            "Plan mode is on: do not end your turn like this. Ask the person with AskUserQuestion,"
            " or call ExitPlanMode when the plan is written."
        )

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
        match reminders.due_attachment(self._since_entering(), self._settings):
            case reminders.Attachment.FULL:
                return reminders.full_reminder(
                    path,
                    plan_exists=path.exists(),
                    explore_agents=self._settings.explore_agents,
                    plan_agents=self._settings.plan_agents,
                )
            case reminders.Attachment.SPARSE:
                return reminders.sparse_reminder(path)
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
        return reminders.ended_reminder(path, plan_exists=path.exists())

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


class SubagentPlanMode(Capability):
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
        return SubagentPlanMode(self._parent)

    async def on_before_llm(
        self, context: HookContext, request: ModelRequest
    ) -> ModelRequest | None:
        """Recall the rules as often as the session's own agent is told them."""
        session = self._session
        if session is None or not self._parent.is_active:
            return None
        path = self._parent.plan_file(session.agent)
        session.permissions.plan_files[session.agent] = path
        if reminders.due_attachment(session.conversation.turns, self._parent.settings) is None:
            return None
        text = reminders.subagent_reminder(path, plan_exists=path.exists())
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
