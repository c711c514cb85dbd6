"""The parts of `Wellkept` that the views read, so that no view imports the class itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.api.wiring.services import Services
    from wellkept.context.injection_log import InjectedLines
    from wellkept.core.memory import Memory
    from wellkept.graph.api import GraphApi
    from wellkept.memory.engine import Engine
    from wellkept.observe.observer.methodology import Methodologies


class ProjectParts(Protocol):
    """One open project."""

    @property
    def services(self) -> Services: ...

    @property
    def project(self) -> str: ...

    @property
    def project_name(self) -> str: ...

    @property
    def engine(self) -> Engine: ...

    @property
    def code_graph(self) -> GraphApi: ...

    @property
    def injected(self) -> InjectedLines: ...

    @property
    def methodology(self) -> Methodologies: ...

    def get(self, name: str, /) -> Memory: ...

    def moment(self, when: str | None, /) -> datetime | None: ...
