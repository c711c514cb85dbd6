"""What the agent needs of `Wellkept`. A protocol: the class itself imports this package."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from wellkept.context.moment import GivesContext
from wellkept.observe.observer.learn import LearningMemory

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.api.wiring.services import Services
    from wellkept.core.memory import Memory
    from wellkept.graph.api import GraphApi
    from wellkept.graph.code_index import CodeSearch
    from wellkept.memory.arguments import Names, When
    from wellkept.memory.recall.requests import RecallResult
    from wellkept.memory.remember import RememberResult
    from wellkept.memory.state import State
    from wellkept.observe.observer.methodology import Methodologies
    from wellkept.skills.library.api import Skills


class AgentMemory(GivesContext, LearningMemory, Protocol):
    """An open memory."""

    @property
    def services(self) -> Services: ...

    @property
    def project(self) -> str: ...

    @property
    def root(self) -> Path: ...

    @property
    def path(self) -> Path: ...

    @cached_property
    def skills(self) -> Skills: ...

    @cached_property
    def methodology(self) -> Methodologies: ...

    @cached_property
    def graph(self) -> GraphApi: ...

    @cached_property
    def code(self) -> CodeSearch: ...

    def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        types: Names = ...,
        since: When = ...,
        until: When = ...,
        min_confidence: float = ...,
        include_stale: bool = ...,
        phase: str | None = None,
    ) -> RecallResult: ...

    def remember(
        self,
        content: str,
        *,
        merge_similar: bool = True,
        importance: float | None = ...,
        type: str = ...,
        key: str | None = ...,
        source: str = ...,
        session: str | None = ...,
    ) -> RememberResult: ...

    def forget(self, *names: str, keep_history: bool = False) -> list[Memory]: ...

    def state(self, *, session: str | None = None) -> State: ...
