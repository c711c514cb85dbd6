"""The areas of an open memory beside its memories: skills, the code graph, code search,
the way of working, the observer.

Each is made on first use and loads its package only then, so that who asks for none of them pays
for none.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

from wellkept.core.types import Phase

if TYPE_CHECKING:
    from wellkept.app.facade import Wellkept
    from wellkept.app.graph.api import GraphApi
    from wellkept.app.graph.code_search import CodeSearch
    from wellkept.app.observer.api import Observer
    from wellkept.app.observer.methodology import Methodologies
    from wellkept.app.skills.api import Skills
    from wellkept.app.wiring.services import Services
    from wellkept.memory.context.build import ContextRequest
    from wellkept.memory.context.packing import ExtraLine


class Areas:
    """What `Wellkept` offers as parts of their own."""

    _wires: Services

    @cached_property
    def skills(self) -> Skills:
        """The skills of this project and of this person, looked for on first use."""
        from wellkept.app.skills.api import Skills

        return Skills(self._wires, memory=lambda: cast("Wellkept", self))

    def skill_extras(
        self, request: ContextRequest, *, within_s: float | None = None
    ) -> tuple[ExtraLine, ...]:
        """Lines that name the skills for a moment; none when the settings say so."""
        if self._wires.settings.context_skills == "off":
            return ()
        offers = self.skills.offers
        return (
            offers.offers(request) if within_s is None else offers.offers_within(within_s, request)
        )

    @cached_property
    def graph(self) -> GraphApi:
        """The code graph of this project's folder, opened on first use."""
        from wellkept.app.graph.api import GraphApi

        return GraphApi(self._wires)

    @cached_property
    def code(self) -> CodeSearch:
        """The code of this project's folder, for searching; read on first use."""
        from wellkept.app.graph.code_search import CodeSearch

        return CodeSearch(self._wires, self.graph)

    @cached_property
    def methodology(self) -> Methodologies:
        """The way of working in use: its phases, units of work and what is handed on."""
        from wellkept.app.observer.methodology import Methodologies

        return Methodologies(self._wires)

    @cached_property
    def observer(self) -> Observer:
        """What is learned from sessions: verdicts, promotion, and why a memory is there."""
        from wellkept.app.observer.api import Observer

        return Observer(self._wires)

    def _phase(self, name: str | None) -> Phase | None:
        """The phase that a caller means; plugins are only asked about names that are not ours."""
        if name is None:
            return None
        plain = name.strip().lower()
        return Phase(plain) if plain in set(Phase) else self.methodology.phase(name)

    def close_areas(self) -> None:
        """Let go of the files of those that were used."""
        for name in ("graph", "code"):
            used: GraphApi | CodeSearch | None = self.__dict__.get(name)
            if used is not None:
                used.close()
