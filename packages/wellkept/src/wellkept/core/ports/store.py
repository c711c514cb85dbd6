"""`Store`: the whole storage engine, composed of the parts in the other files of this package.

A store is canonical rows plus derived indexes. `apply` is all or nothing. Searches return ids with
scores, already filtered. Every engine passes `tests.support.conformance.StoreConformance`.
"""

from __future__ import annotations

from typing import Protocol

from wellkept.core.ports.activity import ActivityLog
from wellkept.core.ports.injections import InjectionLog
from wellkept.core.ports.key_values import FileLinkStore, KeyValueStore
from wellkept.core.ports.maintenance import StoreMaintenance
from wellkept.core.ports.memories import MemoryStore, ProjectStore
from wellkept.core.ports.reports import ReportStore
from wellkept.core.ports.scratchpads import ScratchpadStore
from wellkept.core.ports.search import SearchIndex, VectorStore
from wellkept.core.ports.sessions import SessionStore
from wellkept.core.ports.shared_records import SharedRecordStore
from wellkept.core.ports.skills import GeneratedSkillStore, SkillUseStore
from wellkept.core.ports.undo import UndoLog


class Store(
    MemoryStore,
    SearchIndex,
    VectorStore,
    ProjectStore,
    KeyValueStore,
    FileLinkStore,
    SessionStore,
    ActivityLog,
    SkillUseStore,
    ScratchpadStore,
    InjectionLog,
    ReportStore,
    UndoLog,
    SharedRecordStore,
    GeneratedSkillStore,
    StoreMaintenance,
    Protocol,
):
    """A whole storage engine."""
