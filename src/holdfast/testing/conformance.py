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

from holdfast.testing.conformance_news import NewsConformance
from holdfast.testing.conformance_observer import ObserverConformance
from holdfast.testing.conformance_rows import RowsConformance
from holdfast.testing.conformance_search import SearchConformance
from holdfast.testing.conformance_sessions import SessionsConformance
from holdfast.testing.conformance_shelf import ShelfConformance
from holdfast.testing.conformance_skill_library import SkillLibraryConformance
from holdfast.testing.conformance_skill_uses import SkillUsesConformance
from holdfast.testing.conformance_vectors import VectorConformance

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
    """Every promise of `holdfast.core.ports.Store`."""
