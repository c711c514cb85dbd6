"""The files of a session's running summary: `summary.md`, `metadata.json`, `.lastSummarizedId`.

Each is replaced in one step. The summary is written first: a process that dies in between leaves a
summary that knows more than its metadata says, which loses nothing. Synchronous.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import cast

from wellkept.core.records import record
from wellkept.skills.documents.atomic_write import write_atomically
from wellkept.text.secrets.redaction import redact

SECTIONS = (
    "Current Task",
    "Key Decisions",
    "Files Modified",
    "Open Items",
    "Important Context",
)
TEMPLATE = """## Current Task
[What the user is working on]

## Key Decisions
- [Important choices made]
- [Approaches selected]

## Files Modified
- [List of files changed and why]

## Open Items
- [Pending tasks or questions]

## Important Context
- [Technical details that should be preserved]
"""


@record(kw_only=True)
class SessionMemoryMetadata:
    """What the summary covers."""

    last_summarized_id: str
    last_extraction: datetime
    summary_token_count: int
    messages_summarized: int


class SessionMemoryFiles:
    """The summary of one session in its folder."""

    def __init__(self, session_folder: Path) -> None:
        self.folder = session_folder / "session-memory"
        self.summary_path = self.folder / "summary.md"
        self.metadata_path = self.folder / "metadata.json"
        self.last_id_path = self.folder / ".lastSummarizedId"

    def summary(self) -> str | None:
        """The summary; None when there is none, or only the empty template."""
        try:
            text = self.summary_path.read_text("utf-8")
        except (OSError, ValueError):
            return None
        return text if text.strip() and text.strip() != TEMPLATE.strip() else None

    def metadata(self) -> SessionMemoryMetadata | None:
        """What the summary covers; None when that is not known."""
        try:
            read: object = json.loads(self.metadata_path.read_text("utf-8"))
            known = cast("dict[str, object]", read)
            return SessionMemoryMetadata(
                last_summarized_id=str(known["last_summarized_id"]),
                last_extraction=datetime.fromisoformat(str(known["last_extraction"])),
                summary_token_count=int(str(known["summary_token_count"])),
                messages_summarized=int(str(known["messages_summarized"])),
            )
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def write(self, summary: str, metadata: SessionMemoryMetadata) -> None:
        """Replace the summary, then what is known of it."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _replace(self.summary_path, redact(summary).text)
        _replace(self.last_id_path, metadata.last_summarized_id + "\n")
        known = {
            "last_summarized_id": metadata.last_summarized_id,
            "last_extraction": metadata.last_extraction.isoformat(),
            "summary_token_count": metadata.summary_token_count,
            "messages_summarized": metadata.messages_summarized,
        }
        _replace(self.metadata_path, json.dumps(known, indent=2) + "\n")


def _replace(path: Path, text: str) -> None:
    write_atomically(path, text.encode("utf-8", "replace"), mode=0o600)
