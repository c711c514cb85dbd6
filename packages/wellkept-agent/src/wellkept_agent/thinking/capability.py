"""Thinking as a capability of the loop: decides at each prompt how much the model thinks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from wellkept_agent.capability import Capability
from wellkept_agent.thinking.effective import ThinkingConfig, ThinkingResult, effective_thinking
from wellkept_agent.thinking.settings import ThinkingSettings
from wellkept_agent.thinking.state import ThinkingState

if TYPE_CHECKING:
    from wellkept_agent.hooks import HookContext
    from wellkept_agent.session import AgentSession


class Thinking(Capability):
    """Sets the session's thinking for each turn.

    `state` is for a person's hotkey, `for_next_turn` for a caller; `result` says what was decided
    last, for a user interface.
    """

    name: ClassVar[str] = "thinking"
    in_subagents: ClassVar[bool] = True

    def __init__(self, settings: ThinkingSettings | None = None) -> None:
        self.settings = settings or ThinkingSettings()
        self.state = ThinkingState()
        self.result: ThinkingResult | None = None
        self._next: ThinkingConfig | None = None

    def attach(self, session: AgentSession) -> None:
        """Remember the session."""
        self._session = session

    def for_subagent(self) -> Thinking:
        """A sub-agent thinks as the settings say; the person's hotkey is not meant for it."""
        return Thinking(self.settings)

    def for_next_turn(self, config: ThinkingConfig | None) -> None:
        """Say how much to think in the next turn only."""
        self._next = config

    def preview(self, prompt: str) -> ThinkingResult:
        """What would be decided for a prompt; changes nothing."""
        return effective_thinking(
            prompt,
            settings=self.settings,
            support=self._session.model.info.thinking,
            state=self.state,
            per_turn=self._next,
        )

    async def on_user_message(self, context: HookContext, text: str) -> None:  # noqa: ARG002
        """Decide for this turn."""
        self.result = self.preview(text)
        self._next = None
        self._session.thinking = self.result.request()
