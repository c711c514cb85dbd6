"""Mem0's history database: every change of every memory, of which the last words are taken.

Mem0 keeps the memories themselves in a vector store, which is not always a file that can be read;
the history beside it tells what each of them last said.
"""

from __future__ import annotations

from pathlib import Path

from wellkept.core.errors import UsageError
from wellkept.store.other_tools.records import Notes, ToolNote, moment
from wellkept.store.other_tools.sqlite_file import open_copy


def read(path: Path) -> Notes:
    """What each memory said last, oldest first; deleted ones are left out."""
    with open_copy(path) as database:
        if not database.has("history"):
            raise UsageError(f"{path} holds no history of Mem0.")
        last: dict[str, dict[str, object]] = {}
        for row in database.rows("history", order="created_at"):
            key = str(row.get("memory_id"))
            last.pop(key, None)
            last[key] = row
    for key, row in last.items():
        text = row.get("new_memory")
        if row.get("event") == "DELETE" or row.get("is_deleted") or not isinstance(text, str):
            continue
        at = moment(row.get("updated_at")) or moment(row.get("created_at"))
        yield ToolNote(ref=f"mem0:{key}", content=text, kind="memory", at=at)
