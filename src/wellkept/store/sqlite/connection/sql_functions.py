"""The two SQL functions that every connection has besides SQLite's own."""

from __future__ import annotations

import sqlite3

from wellkept.core.ids import is_full_id, short_id


def install(connection: sqlite3.Connection) -> None:
    """Make the functions known to a new connection."""
    connection.create_function("holds", 2, holds, deterministic=True)
    connection.create_function("short_of", 1, short_of, deterministic=True)


def holds(content: str, folded_fragment: str) -> bool:
    """Whether a content holds a fragment that is already in lower case."""
    return folded_fragment in content.lower()


def short_of(full_id: str) -> str | None:
    """The short form of a full id; NULL for anything else."""
    return short_id(full_id) if is_full_id(full_id) else None
