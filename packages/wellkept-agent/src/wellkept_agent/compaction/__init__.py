"""Keeps a conversation within the model's window, in three tiers.

1. Micro-compaction clears old tool results before a model call (`micro`).
2. The session's running summary replaces what it covers (`wellkept_agent.session_memory`).
3. The model writes a summary (`summary`); files, todos, plan and skills are shown again
   (`restore`).

Open `capability` first, then `compactor`.
"""

from __future__ import annotations

from wellkept_agent.compaction.capability import Compaction, TimelineEntry, TimelineWriter
from wellkept_agent.compaction.compactor import (
    CompactionResult,
    Restored,
    RestoredSection,
    RestoresContext,
)
from wellkept_agent.settings import CompactionSettings

__all__ = [
    "Compaction",
    "CompactionResult",
    "CompactionSettings",
    "Restored",
    "RestoredSection",
    "RestoresContext",
    "TimelineEntry",
    "TimelineWriter",
]
