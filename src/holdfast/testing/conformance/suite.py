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

from holdfast.testing.conformance.activity import NewsConformance
from holdfast.testing.conformance.generated_skills import SkillLibraryConformance
from holdfast.testing.conformance.memories import RowsConformance
from holdfast.testing.conformance.scratchpads import ObserverConformance
from holdfast.testing.conformance.search import SearchConformance
from holdfast.testing.conformance.sessions import SessionsConformance
from holdfast.testing.conformance.skill_uses import SkillUsesConformance
from holdfast.testing.conformance.tables import ShelfConformance
from holdfast.testing.conformance.vectors import VectorConformance

__all__ = ["StoreConformance"]


class StoreConformance(
    RowsConformance,
    SearchConformance,
    VectorConformance,
    ShelfConformance,
    SessionsConformance,
    NewsConformance,
    ObserverConformance,
    SkillUsesConformance,
    SkillLibraryConformance,
):
    """Every promise of `holdfast.core.ports.store.Store`."""
