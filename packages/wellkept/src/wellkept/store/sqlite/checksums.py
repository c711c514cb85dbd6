"""A checksum for each record, so that text that a disk changed by itself is seen.

Covered are the columns that only the writer of a record sets. A project can be renamed, and scores,
counts and marks move, so they are not. A record without a checksum is older than migration 13:
`backfill` makes them in bounded steps. A program of an older version that changes a record takes
its checksum away. Text is read as bytes here, because damaged text may not be text any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from wellkept.core.records import record

if TYPE_CHECKING:
    from wellkept.store.sqlite.database import Connection, SqlValue

BACKFILL_ROWS: Final = 500
_MASK: Final = (1 << 63) - 1


@record
class SummedTable:
    """A table whose records have a checksum: how they are named, ordered, and what is covered."""

    name: str
    what: str
    named_by: str
    order: tuple[str, ...]
    columns: tuple[str, ...]


MEMORIES: Final = SummedTable(
    "memories", "memory", "id", ("row",),
    (
        "id", "type", "scope", "source", "session_id", "seq", "author", "created_ms",
        "valid_from_ms", "key", "content_chars", "tags", "files", "modules",
        "provenance_sessions", "commit_sha", "work_unit", "relations", "evidence", "graph_node",
        "citation", "work_tokens", "payload", "content",
    ),
)  # fmt: skip
SESSIONS: Final = SummedTable(
    "sessions", "session", "id", ("row",),
    (
        "id", "client", "started_ms", "last_event_ms", "cwd", "ended_ms", "end_reason", "title",
        "model", "branch", "commit_sha", "prompt_count", "turn_count", "tool_count",
        "error_count", "agent_count", "observation_count", "discovery_tokens", "summarised_ms",
        "summarised_turn", "revision", "work", "input_tokens", "cached_tokens", "output_tokens",
    ),
)  # fmt: skip
SCRATCHPADS: Final = SummedTable(
    "scratchpads", "scratchpad of session", "session_id", ("rowid",),
    ("session_id", "state", "updated_ms", "revision", "body"),
)  # fmt: skip
SIGNALS: Final = SummedTable(
    "signals", "signal of session", "session_id", ("project", "kind", "subject", "session_id"),
    ("kind", "subject", "session_id", "at_ms", "count", "module", "detail"),
)  # fmt: skip
EXPLANATIONS: Final = SummedTable(
    "explanations", "explanation of memory", "memory_id", ("memory_id",),
    ("memory_id", "at_ms", "body"),
)  # fmt: skip
SKILLS: Final = SummedTable(
    "skills", "skill", "name", ("id",),
    (
        "id", "name", "text", "created_ms", "updated_ms", "origin", "made_by", "review",
        "reviewed_ms", "enabled", "note", "session_ids", "observation_ids", "commit_sha",
        "revision",
    ),
)  # fmt: skip
SKILL_VERSIONS: Final = SummedTable(
    "skill_versions", "former version of skill", "skill", ("skill", "revision"),
    ("skill", "revision", "text", "made_by", "until_ms"),
)  # fmt: skip
KEY_VALUES: Final = SummedTable(
    "key_values", "value of", "space", ("space", "key"), ("space", "key", "value")
)
TABLES: Final = (
    MEMORIES, SESSIONS, SCRATCHPADS, SIGNALS, EXPLANATIONS, SKILLS, SKILL_VERSIONS, KEY_VALUES,
)  # fmt: skip
_VECTORS: Final = "vectors"


# -- Sums -----------------------------------------------------------------------------------------


def checksum(values: Iterable[SqlValue]) -> int:
    """The checksum of the covered values of a record, in the order of their columns."""
    return sum_of_bytes(joined(map(_as_bytes, values)))


def joined(raw: Iterable[bytes | None]) -> bytes:
    """What the checksum is made of."""
    return b"\x1f".join(b"\x00" if one is None else one for one in raw)


def sum_of_bytes(data: bytes) -> int:
    """Two checksums in one number: by chance one in 2^63 fits other data."""
    from zlib import adler32, crc32

    return (adler32(data) << 32 | crc32(data)) & _MASK


def with_checksum(table: str, row: Mapping[str, Any]) -> dict[str, SqlValue]:
    """A whole row as it is stored: with a checksum where its table has them."""
    summed = _BY_NAME.get(table)
    if summed is None:
        return dict(row)
    return {**row, "checksum": checksum(row[name] for name in summed.columns)}


def vector_checksum(scale: float, codes: bytes) -> int:
    """The checksum of a stored vector."""
    return checksum((repr(float(scale)), codes))


def _as_bytes(value: SqlValue) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else b"%d" % value


class Covered:
    """Picks what a table's checksum covers out of a row with given columns."""

    def __init__(self, table: SummedTable, columns: Sequence[str]) -> None:
        self._pick = itemgetter(*(columns.index(name) for name in table.columns))

    def checksum(self, row: Sequence[SqlValue]) -> int:
        """The checksum of a row."""
        return checksum(self._pick(row))


# -- Migration 13 ---------------------------------------------------------------------------------


# The tables of this migration; the sixteenth gives some another name.
_FORMER: Final = {
    "signals": "sightings",
    "skills": "skill_library",
    "skill_versions": "skill_editions",
    "key_values": "shelf",
}


def _guard(table: SummedTable, name: str) -> str:
    changed = " OR ".join(f"old.{name} IS NOT new.{name}" for name in table.columns)
    own = " AND ".join(f"{name} = new.{name}" for name in table.order)
    return f"""CREATE TRIGGER {name}_drop_checksum
    AFTER UPDATE OF {", ".join(table.columns)} ON {name}
    WHEN new.checksum IS old.checksum AND new.checksum IS NOT NULL AND ({changed}) BEGIN
        UPDATE {name} SET checksum = NULL WHERE {own};
    END"""


# Filling in checksums must not look like a change of the memories.
_NOTED: Final = (
    "id", "short", "project", "type", "scope", "source", "session_id", "seq", "author",
    "importance", "confidence", "created_ms", "updated_ms", "valid_from_ms", "valid_to_ms",
    "accessed_ms", "access_count", "stale_ms", "archived_ms", "needs_review", "user_verified",
    "pinned", "key", "superseded_by", "content_chars", "tags", "files", "modules",
    "provenance_sessions", "commit_sha", "work_unit", "relations", "evidence", "graph_node",
    "half_life_days", "citation", "work_tokens", "payload", "content", "extra",
)  # fmt: skip


def add_checksums(db: Connection) -> None:
    """The migration. Existing records get their checksums later, in bounded steps."""
    named = {_FORMER.get(table.name, table.name): table for table in TABLES}
    names = (*named, _VECTORS)
    for name in names:
        db.execute(f"ALTER TABLE {name} ADD COLUMN checksum INTEGER")
    for name, table in named.items():
        db.execute(_guard(table, name))
    db.execute("DROP TRIGGER memories_note_update")
    db.execute(
        f"""CREATE TRIGGER memories_note_update AFTER UPDATE OF {", ".join(_NOTED)} ON memories
    BEGIN
        INSERT INTO changed_rows (memory) VALUES (old.row);
        DELETE FROM changed_rows
            WHERE number <= (SELECT max(number) FROM changed_rows) - 5000;
    END"""
    )
    db.execute("DROP TRIGGER memories_move_vectors")
    db.execute(
        """CREATE TRIGGER memories_move_vectors AFTER UPDATE OF project, scope ON memories
    WHEN old.home IS NOT new.home BEGIN
        INSERT OR REPLACE INTO vectors (memory, model, home, scale, codes, checksum)
            SELECT memory, model, new.home, scale, codes, checksum FROM vectors
            WHERE memory = new.row;
    END"""
    )
    # Tables with records that have no checksum yet, and the key of the last one looked at.
    db.execute(
        "CREATE TABLE unsummed (name TEXT PRIMARY KEY, after TEXT NOT NULL) STRICT, WITHOUT ROWID"
    )
    for name in names:
        db.execute(
            f"INSERT INTO unsummed SELECT '{name}', '[]' WHERE EXISTS (SELECT 1 FROM {name})"
        )


def rename_guards(db: Connection) -> None:
    """What the sixteenth migration does about checksums, after it has renamed the tables."""
    for name, former in _FORMER.items():
        db.execute(f"DROP TRIGGER {former}_drop_checksum")
        db.execute(_guard(_BY_NAME[name], name))
        db.execute("UPDATE unsummed SET name = ? WHERE name = ?", (name, former))


def backfill(db: Connection, *, limit: int = BACKFILL_ROWS) -> bool:
    """Make the checksums of some older records; False when there are none left."""
    import json

    found = db.execute("SELECT name, after FROM unsummed ORDER BY name LIMIT 1").fetchone()
    if found is None:
        return False
    name, after = found[0], json.loads(found[1])
    order = ("seq",) if name == _VECTORS else _BY_NAME[name].order
    beyond = f"({', '.join(order)}) > ({', '.join('?' * len(order))})" if after else "1"
    last = _fill(db, name, order, f"{beyond} ORDER BY {', '.join(order)} LIMIT ?", (*after, limit))
    if last is None:
        db.execute("DELETE FROM unsummed WHERE name = ?", (name,))
    else:
        db.execute("UPDATE unsummed SET after = ? WHERE name = ?", (json.dumps(last), name))
    return True


def fill_missing(db: Connection) -> None:
    """Make every checksum that is missing."""
    for table in TABLES:
        _fill(db, table.name, table.order, "checksum IS NULL", ())
    _fill(db, _VECTORS, ("seq",), "checksum IS NULL", ())
    db.execute("DELETE FROM unsummed")


def count_missing(db: Connection) -> int:
    """How many records have no checksum."""
    counts = (
        db.execute(f"SELECT count(*) FROM {name} WHERE checksum IS NULL").fetchone()[0]
        for name in (*_BY_NAME, _VECTORS)
    )
    return sum(counts)


def _fill(
    db: Connection, name: str, order: Sequence[str], where: str, values: Sequence[SqlValue]
) -> list[SqlValue] | None:
    """Fill in what is missing among some rows; the key of the last one."""
    covered = ("scale", "codes") if name == _VECTORS else raw_columns(_BY_NAME[name])
    rows = db.execute(
        f"SELECT {', '.join((*order, 'checksum', *covered))} FROM {name} WHERE {where}",
        tuple(values),
    ).fetchall()
    width = len(order)
    made = [
        (
            vector_checksum(*row[width + 1 :])
            if name == _VECTORS
            else sum_of_bytes(joined(row[width + 1 :])),
            *row[:width],
        )
        for row in rows
        if row[width] is None
    ]
    own = " AND ".join(f"{column} = ?" for column in order)
    db.executemany(f"UPDATE {name} SET checksum = ? WHERE {own} AND checksum IS NULL", made)
    return list(rows[-1][:width]) if rows else None


def raw_columns(table: SummedTable) -> tuple[str, ...]:
    """The covered columns as bytes: the digits of a number, the UTF-8 of a text."""
    return tuple(f"CAST({name} AS BLOB)" for name in table.columns)


_BY_NAME: Final = {table.name: table for table in TABLES}
