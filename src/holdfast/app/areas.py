"""The areas of an open memory beside its memories: skills, the code graph, code search.

Each is made on first use and loads its package only then, so that who asks for none of them pays
for none.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from holdfast.app.code_search import CodeSearch
    from holdfast.app.facade import Holdfast
    from holdfast.app.graph import Graph
    from holdfast.app.skills import Skills
    from holdfast.app.wiring import Wires


class Areas:
    """What `Holdfast` offers as parts of their own."""

    _wires: Wires

    @cached_property
    def skills(self) -> Skills:
        """The skills of this project and of this person, looked for on first use."""
        from holdfast.app.skills import Skills

        return Skills(self._wires, memory=lambda: cast("Holdfast", self))

    @cached_property
    def graph(self) -> Graph:
        """The code graph of this project's folder, opened on first use."""
        from holdfast.app.graph import Graph

        return Graph(self._wires)

    @cached_property
    def code(self) -> CodeSearch:
        """The code of this project's folder, for searching; read on first use."""
        from holdfast.app.code_search import CodeSearch

        return CodeSearch(self._wires, self.graph)

    def close_areas(self) -> None:
        """Let go of the files of those that were used."""
        for name in ("graph", "code"):
            used: Graph | CodeSearch | None = self.__dict__.get(name)
            if used is not None:
                used.close()
