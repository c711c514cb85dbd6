"""What the loop needs of the skills of a project, given from above. Calls block: use a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.codec import Json
    from wellkept.skills.commands.rendering import RenderedPrompt
    from wellkept.skills.hooks.runner import HookReport, ListedHook


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
