"""A running summary of the session, kept by a small agent in the background.

Open `capability` first: when an update starts. `extraction` is the update itself, `files` what is
kept. Compaction uses the summary instead of asking a model at the moment it is needed.
"""

from __future__ import annotations

from wellkept_agent.session_memory.capability import SessionMemory
from wellkept_agent.session_memory.settings import SessionMemorySettings

__all__ = ["SessionMemory", "SessionMemorySettings"]
