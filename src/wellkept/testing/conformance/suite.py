"""What every storage engine must do, as tests. Needs pytest.

An engine's test file subclasses `StoreConformance` and gives it an `open_at` fixture:

    class TestMyEngine(StoreConformance):
        @pytest.fixture
        def open_at(self):
            return my_engine.open

`open_at(path)` opens the database at a path, making it if need be; twice with the same path gives
two handles on one database. A file that `backup` wrote can be opened like any other.
"""

from __future__ import annotations

from wellkept.testing.conformance.activity import ActivityConformance
from wellkept.testing.conformance.generated_skills import GeneratedSkillConformance
from wellkept.testing.conformance.memories import MemoryConformance
from wellkept.testing.conformance.scratchpads import ScratchpadConformance
from wellkept.testing.conformance.search import SearchConformance
from wellkept.testing.conformance.sessions import SessionsConformance
from wellkept.testing.conformance.skill_uses import SkillUsesConformance
from wellkept.testing.conformance.tables import TableConformance
from wellkept.testing.conformance.vectors import VectorConformance

__all__ = ["StoreConformance"]


class StoreConformance(
    MemoryConformance,
    SearchConformance,
    VectorConformance,
    TableConformance,
    SessionsConformance,
    ActivityConformance,
    ScratchpadConformance,
    SkillUsesConformance,
    GeneratedSkillConformance,
):
    """Every promise of `wellkept.core.ports.store.Store`."""
