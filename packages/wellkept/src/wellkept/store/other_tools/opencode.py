"""OpenCode's database: sessions with their messages and parts, as its own export shows them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast

from wellkept.core.errors import UsageError
from wellkept.store.other_tools.sqlite_file import open_copy

_Row = dict[str, object]


class SessionDatabase:
    """A copy of the database, which lasts as long as this object."""

    def __init__(self, path: Path) -> None:
        self._stack = ExitStack()
        self._database = self._stack.enter_context(open_copy(path))
        missing = [one for one in ("session", "message", "part") if not self._database.has(one)]
        if missing:
            raise UsageError(f"{path} has no table {missing[0]!r}, so it is not OpenCode's.")

    def sessions(self) -> Iterator[tuple[_Row, int]]:
        """Every session, and how much its parts hold; the oldest first."""
        sizes = Counter[str]()
        for row in self._database.rows("part", order="id"):
            sizes[str(row.get("session_id"))] += len(str(row.get("data")))
        for row in self._database.rows("session", order="time_created"):
            name = str(row.get("id"))
            info = {
                "id": name,
                "parentID": row.get("parent_id"),
                "directory": row.get("directory"),
                "title": row.get("title"),
                "time": {"created": row.get("time_created"), "updated": row.get("time_updated")},
            }
            yield info, sizes[name]

    def messages(self, session: str) -> Iterator[_Row]:
        """The messages of a session with their parts, in order."""
        parts: dict[str, list[_Row]] = {}
        of = ("session_id", session)
        for row in self._database.rows("part", order="id", where=of):
            parts.setdefault(str(row.get("message_id")), []).append(_read(row))
        for row in self._database.rows("message", order="time_created", where=of):
            yield {"info": _read(row), "parts": parts.get(str(row.get("id")), [])}


def _read(row: _Row) -> _Row:
    """The document of a row, with its id."""
    try:
        data: object = json.loads(str(row.get("data")))
    except (ValueError, RecursionError):
        data = None
    fields = cast("_Row", data) if isinstance(data, dict) else {}
    return {**fields, "id": row.get("id")}
