"""The skills of an open project, as the loop uses them: one pipeline with the slash commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.core.errors import NotFoundError
from wellkept.skills.commands.table import CommandKind
from wellkept.skills.hooks.runner import HookState

if TYPE_CHECKING:
    from wellkept.core.codec import Json
    from wellkept.skills.commands.rendering import RenderedPrompt
    from wellkept.skills.hooks.runner import HookReport, ListedHook
    from wellkept.skills.library.api import Skills


class ProjectSkills:
    """`SkillBook` over `wk.skills`."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    def rendered(
        self, name: str, arguments: str, *, by: str, session: str, served: str | None = None
    ) -> RenderedPrompt | None:
        """The prompt of a skill; its use counts, and its hooks are active from now on."""
        commands = self._skills.commands
        try:
            command = commands.get(name, by=by)
        except NotFoundError:
            return None
        if command.kind is not CommandKind.PROMPT:
            return None
        return commands.run(name, arguments, by=by, session=session, served=served).prompt

    def names(self) -> Sequence[str]:
        """The skills that a model may use, the most used first."""
        listed = self._skills.commands.list(by="model")
        return [one.name for one in listed if one.kind is CommandKind.PROMPT]

    def undecided_hooks(self, name: str) -> Sequence[ListedHook]:
        """Hooks that are new or have changed since they were trusted."""
        undecided = (HookState.NEW, HookState.CHANGED)
        return [
            one
            for one in self._skills.hooks.list()
            if one.skill.name == name and one.state in undecided
        ]

    def trust(self, name: str, seen: Sequence[ListedHook]) -> None:
        """Trust hooks exactly as they were listed."""
        self._skills.hooks.trust(name, seen=seen)

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
        return self._skills.hooks.run(
            event, tool=tool, tool_input=tool_input, tool_response=tool_response, session=session
        )

    def in_use(self, session: str) -> Sequence[str]:
        """The skills that were used in a session."""
        return self._skills.hooks.in_use(session)

    def reminders(self, names: Sequence[str], *, level: str) -> str:
        """A reminder of skills in use; those that are gone are left out."""
        index = self._skills.index()
        return self._skills.reminders(*(one for one in names if index.get(one)), level=level)

    def end(self, session: str) -> None:
        """The session is over."""
        self._skills.hooks.end(session)
