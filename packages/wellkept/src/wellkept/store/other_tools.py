"""Other tools' databases, read and never touched: what they kept, in words that all of them share.

The file and its write-ahead log are copied and the copy is opened: the tool may be running, its log
may hold what the file does not, and SQLite would write beside the file even to read it.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, cast, get_args

from wellkept.core.codec import Payload
from wellkept.core.errors import UsageError
from wellkept.core.payloads import Observation, Prompt, SessionSummary
from wellkept.core.records import record

_Row = dict[str, object]
_MAGIC = b"SQLite format 3\0"
_MOST_COPIES = 5


class ToolDatabase:
    """A database whose schema may be of any version: what is not there reads as None."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.row_factory = sqlite3.Row

    def has(self, table: str) -> bool:
        """Whether there is a table of that name."""
        found = self._connection.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        )
        return found.fetchone() is not None

    def rows(
        self, table: str, *, order: str, where: tuple[str, str] | None = None
    ) -> Generator[dict[str, object], None, None]:
        """Every row of a table, or those with a value in a column, as far as it can be read."""
        columns = {row["name"] for row in self._connection.execute(f'PRAGMA table_info("{table}")')}
        by = f'"{order}"' if order in columns else "rowid"
        only = f'WHERE "{where[0]}" = ?' if where else ""
        given = where[1:] if where else ()
        for row in self._connection.execute(f'SELECT * FROM "{table}" {only} ORDER BY {by}', given):
            yield {name: row[name] for name in row.keys()}  # noqa: SIM118 - a Row is no mapping


@contextmanager
def open_copy(path: Path) -> Generator[ToolDatabase, None, None]:
    """A copy of a database, gone when it is closed. UsageError when the file is none."""
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise UsageError(f"{path} is no SQLite database.", hint="Name another file.")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None
    with TemporaryDirectory(prefix="wellkept-import-") as folder:
        copy = Path(folder) / "copy.db"
        try:
            _copy_both(path, copy)
            with closing(sqlite3.connect(copy)) as connection:
                connection.text_factory = partial(str, encoding="utf-8", errors="replace")
                yield ToolDatabase(connection)
        except sqlite3.DatabaseError as error:
            raise UsageError(f"{path} cannot be read as a database: {error}.") from None
        except OSError as error:
            raise UsageError(f"{path} cannot be copied: {error.strerror or error}.") from None


def _copy_both(path: Path, copy: Path) -> None:
    """Copy the file and its log as they were at one moment: again when either changed meanwhile,
    since a log does not fit a file that has taken it in."""
    log = path.with_name(path.name + "-wal")
    for _ in range(_MOST_COPIES):
        before = _state(path), _state(log)
        shutil.copyfile(path, copy)
        copied_log = copy.with_name(copy.name + "-wal")
        copied_log.unlink(missing_ok=True)
        if before[1] is not None:
            shutil.copyfile(log, copied_log)
        if before == (_state(path), _state(log)):
            return
    raise UsageError(
        f"{path} is being written all the time.", hint="Close the program that uses it."
    )


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


@record(kw_only=True)
class ToolNote:
    """One thing that another tool kept. `ref` names it there and never changes."""

    ref: str
    content: str
    kind: str = "note"
    at: datetime | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    project: str | None = None
    session_id: str | None = None
    payload: Payload | None = None


@record
class DamagedRow:
    """A row that could not be read, and why."""

    ref: str
    reason: str


Notes = Iterator["ToolNote | DamagedRow"]


def moment(value: object) -> datetime | None:
    """A moment told as text, or as seconds or milliseconds since 1970; without zone it is UTC."""
    try:
        if isinstance(value, str) and value:
            at = datetime.fromisoformat(value)
            return at if at.tzinfo else at.replace(tzinfo=UTC)
        if isinstance(value, (int, float)) and value > 0:
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


_Kind = Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"]


def read_claude_mem(path: Path) -> Notes:
    """Everything that claude-mem kept, oldest first."""
    with open_copy(path) as database:
        sessions = _sessions(database)
        for table, note in (
            ("observations", _observation),
            ("session_summaries", _summary),
            ("user_prompts", _prompt),
        ):
            if database.has(table):
                for row in database.rows(table, order="created_at_epoch"):
                    made = note(row, sessions)
                    if made.content.strip():
                        yield made


def _sessions(database: ToolDatabase) -> dict[str, tuple[str, str]]:
    """The client's session and the project, by either of the two names a session has."""
    found: dict[str, tuple[str, str]] = {}
    for row in database.rows("sdk_sessions", order="id") if database.has("sdk_sessions") else ():
        told = (_text(row, "content_session_id", "claude_session_id"), _text(row, "project"))
        for name in (
            "content_session_id",
            "claude_session_id",
            "memory_session_id",
            "sdk_session_id",
        ):
            if key := _text(row, name):
                found[key] = told
    return found


def _observation(row: _Row, sessions: dict[str, tuple[str, str]]) -> ToolNote:
    kind = _text(row, "type")
    told = Observation(
        kind=cast("_Kind", kind) if kind in get_args(_Kind) else "discovery",
        title=(_text(row, "title") or _text(row, "text").partition("\n")[0] or "Observation")[:200],
        subtitle=_text(row, "subtitle") or None,
        facts=_list(row, "facts"),
        narrative=_text(row, "narrative", "text") or None,
        concepts=_list(row, "concepts"),
        files_read=_list(row, "files_read"),
        files_modified=_list(row, "files_modified"),
    )
    lines = [told.title, told.subtitle or "", *(f"- {fact}" for fact in told.facts)]
    return ToolNote(
        ref=f"claude-mem:observation:{_text(row, 'id')}",
        content="\n".join(line for line in (*lines, told.narrative or "") if line),
        kind="observation",
        at=moment(row.get("created_at_epoch")) or moment(row.get("created_at")),
        tags=(kind,) if kind else (),
        files=told.files_modified,
        project=_text(row, "project") or None,
        session_id=_session(row, sessions),
        payload=told,
    )


def _summary(row: _Row, sessions: dict[str, tuple[str, str]]) -> ToolNote:
    names = ("request", "investigated", "learned", "completed", "next_steps", "notes")
    parts = {name: _text(row, name) or None for name in names}
    told = SessionSummary(
        request=parts["request"],
        investigated=parts["investigated"],
        learned=parts["learned"],
        completed=parts["completed"],
        next_steps=parts["next_steps"],
        notes=parts["notes"],
        files_read=_list(row, "files_read"),
        files_modified=_list(row, "files_edited"),
        made_by="model",
    )
    said = [
        f"{name.replace('_', ' ').capitalize()}: {text}" for name, text in parts.items() if text
    ]
    return ToolNote(
        ref=f"claude-mem:summary:{_text(row, 'id')}",
        content="\n".join(said),
        kind="summary",
        at=moment(row.get("created_at_epoch")) or moment(row.get("created_at")),
        files=told.files_modified,
        project=_text(row, "project") or None,
        session_id=_session(row, sessions),
        payload=told,
    )


def _prompt(row: _Row, sessions: dict[str, tuple[str, str]]) -> ToolNote:
    name = _text(row, "content_session_id", "claude_session_id")
    session_id, project = sessions.get(name, (name, ""))
    number = row.get("prompt_number")
    return ToolNote(
        ref=f"claude-mem:prompt:{_text(row, 'id')}",
        content=_text(row, "prompt_text"),
        kind="prompt",
        at=moment(row.get("created_at_epoch")) or moment(row.get("created_at")),
        project=project or None,
        session_id=session_id or None,
        payload=Prompt(number if isinstance(number, int) else 0),
    )


def _session(row: _Row, sessions: dict[str, tuple[str, str]]) -> str | None:
    name = _text(row, "memory_session_id", "sdk_session_id")
    return sessions.get(name, ("", ""))[0] or None


def _text(row: _Row, *names: str) -> str:
    found = (row.get(name) for name in names)
    return next((str(value) for value in found if value not in (None, "")), "")


def _list(row: _Row, name: str) -> tuple[str, ...]:
    """A column that holds a JSON list of texts."""
    try:
        read: object = json.loads(_text(row, name) or "[]")
    except ValueError:
        return ()
    items = cast("list[object]", read) if isinstance(read, list) else []
    return tuple(item for item in items if isinstance(item, str) and item.strip())


def read_mcp_memory_service(path: Path) -> Notes:
    """Every memory of mcp-memory-service that is not marked as deleted, oldest first."""
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


def read_mem0(path: Path) -> Notes:
    """What each memory of Mem0 said last, oldest first; deleted ones are left out.

    Mem0 keeps the memories in a vector store, which is not always a file that can be read; the
    history beside it has every change.
    """
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


class SessionDatabase:
    """A copy of OpenCode's database, which lasts as long as this object."""

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
