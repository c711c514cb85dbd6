"""A model that can be asked as another one of the same vendor, as a skill or sub-agent wishes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wellkept.core.chat.messages import ModelChunk, ModelInfo, ModelRequest
    from wellkept.core.ports.agent_model import AgentModel


class ModelWithOverrides:
    """Sends a request to the model that it names, else to its own.

    `known` gives the vendor's name of a model that is asked for; None when the vendor in use does
    not have it, and then the own model answers.
    """

    def __init__(
        self,
        model: AgentModel,
        *,
        opened: Callable[[str], AgentModel],
        known: Callable[[str], str | None],
    ) -> None:
        self._model = model
        self._opened = opened
        self._known = known
        self._others: dict[str, AgentModel] = {}

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream an answer."""
        return self._chosen(request.model).stream(request)

    def _chosen(self, wanted: str | None) -> AgentModel:
        name = self._known(wanted) if wanted else None
        if name is None or name == self.info.name:
            return self._model
        if name not in self._others:
            self._others[name] = self._opened(name)
        return self._others[name]
