"""mcp-memory-service's database: memories with tags and a type; deleted ones are only marked."""

from __future__ import annotations

from pathlib import Path

from wellkept.core.errors import UsageError
from wellkept.store.other_tools.records import Notes, ToolNote, moment
from wellkept.store.other_tools.sqlite_file import open_copy


def read(path: Path) -> Notes:
    """Every memory that is not deleted, oldest first."""
    with open_copy(path) as database:
        if not database.has("memories"):
            raise UsageError(f"{path} holds no memories of mcp-memory-service.")
        for row in database.rows("memories", order="created_at"):
            text = row.get("content")
            if row.get("deleted_at") is not None or not isinstance(text, str) or not text.strip():
                continue
            tags = str(row.get("tags") or "").split(",")
            yield ToolNote(
                ref=f"mcp-memory-service:{row.get('content_hash') or row.get('id')}",
                content=text,
                kind=str(row.get("memory_type") or "note"),
                at=moment(row.get("created_at")) or moment(row.get("created_at_iso")),
                tags=tuple(tag.strip() for tag in tags if tag.strip()),
            )
