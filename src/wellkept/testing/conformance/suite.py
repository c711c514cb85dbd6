"""`StoreConformance`: the suite of a whole store. The package docstring says how to use it."""

from __future__ import annotations

from wellkept.testing.conformance.activity import ActivityConformance
from wellkept.testing.conformance.injections import InjectionsConformance
from wellkept.testing.conformance.memories import MemoryConformance
from wellkept.testing.conformance.reports import ReportsConformance
from wellkept.testing.conformance.scratchpads import ScratchpadConformance
from wellkept.testing.conformance.search import SearchConformance
from wellkept.testing.conformance.sessions import SessionsConformance
from wellkept.testing.conformance.shared_records import SharedRecordsConformance
from wellkept.testing.conformance.skills import GeneratedSkillConformance, SkillUsesConformance
from wellkept.testing.conformance.tables import TableConformance
from wellkept.testing.conformance.undo import UndoConformance
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
    InjectionsConformance,
    ReportsConformance,
    UndoConformance,
    SharedRecordsConformance,
    SkillUsesConformance,
    GeneratedSkillConformance,
):
    """Contract of `wellkept.core.ports.store.Store`."""
