"""`StoreConformance`: the suite of a whole store. The package docstring says how to use it."""

from __future__ import annotations

from tests.support.conformance.activity import ActivityConformance
from tests.support.conformance.injections import InjectionsConformance
from tests.support.conformance.memories import MemoryConformance
from tests.support.conformance.reports import ReportsConformance
from tests.support.conformance.scratchpads import ScratchpadConformance
from tests.support.conformance.search import SearchConformance
from tests.support.conformance.sessions import SessionsConformance
from tests.support.conformance.shared_records import SharedRecordsConformance
from tests.support.conformance.skills import GeneratedSkillConformance, SkillUsesConformance
from tests.support.conformance.tables import TableConformance
from tests.support.conformance.undo import UndoConformance
from tests.support.conformance.vectors import VectorConformance

__all__ = ["StoreConformance"]


class StoreConformance(
    MemoryConformance,
    SearchConformance,
    VectorConformance,
    TableConformance,
    SessionsConformance,
    ActivityConformance,
    ScratchpadConformance,
    InjectionsConformance,
    ReportsConformance,
    UndoConformance,
    SharedRecordsConformance,
    SkillUsesConformance,
    GeneratedSkillConformance,
):
    """Contract of `wellkept.core.ports.store.Store`."""
