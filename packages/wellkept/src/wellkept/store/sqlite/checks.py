"""Integrity checks of a store file. Changes nothing.

Quick checks use counts and samples; deep checks read every page and row.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from wellkept.core.errors import StoreCorruptError
from wellkept.core.query import Finding
from wellkept.core.types import Severity
from wellkept.store.memory_rows import SELECTED, to_memory
from wellkept.store.sqlite.checksums import (
    TABLES,
    SummedTable,
    count_missing,
    joined,
    raw_columns,
    sum_of_bytes,
    vector_checksum,
)
from wellkept.store.sqlite.database import Connection, SqlValue
from wellkept.store.sqlite.search.fulltext import quote

_SAMPLE = 400
_MAX_NAMED = 50
_NONSENSE = (AttributeError, TypeError, ValueError, OverflowError)
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_TEXT_INDEXES = ("words", "fragments")


def run(db: Connection, *, deep: bool, may_write: bool) -> list[Finding]:
    """All findings; a check that fails on a damaged file is a finding too."""
    step = 1 if deep else _sampling_step(db)
    checks: list[Callable[[Connection], Iterator[Finding]]] = [
        lambda db: _damage(db, deep=deep),
        _orphans,
        _index_counts,
        _index_samples,
        lambda db: _labels(db, step=step),
        _dimensions,
        _homes,
        lambda db: _shorts(db, step=step),
        _successors,
    ]
    if deep:
        checks += [_checksums, _unreadable]
        if may_write:
            checks.append(_index_integrity)
    return [finding for check in checks for finding in _run_check(db, check)]


def unfinished_copies(paths: Sequence[Path]) -> Iterator[Finding]:
    """Temporary copies that a killed process left beside the database."""
    if paths:
        message = f"{len(paths)} unfinished copies are beside the database: {paths[0].name}."
        yield Finding("copies", message, Severity.WARNING, repairable=True, count=len(paths))


def _sampling_step(db: Connection) -> int:
    """Sampling step of quick checks; 1 for a damaged file."""
    try:
        (newest,) = db.execute("SELECT coalesce(max(row), 0) FROM memories").fetchone()
    except sqlite3.DatabaseError:
        return 1
    return max(1, int(newest) // _SAMPLE)


def _run_check(
    db: Connection, check: Callable[[Connection], Iterator[Finding]]
) -> Sequence[Finding]:
    try:
        return list(check(db))
    except sqlite3.DatabaseError as error:
        return [_error("damage", f"The file cannot be read: {error}.", repairable=False)]
    except _NONSENSE:
        # A value of another kind than its column: text that became a number or nothing.
        return [_error("damage", "A record holds what it cannot hold.", repairable=False)]


def _error(check: str, message: str, *, repairable: bool = True, count: int = 1) -> Finding:
    return Finding(check, message, Severity.ERROR, repairable, count)


def _damage(db: Connection, *, deep: bool) -> Iterator[Finding]:
    pragma = "integrity_check" if deep else "quick_check"
    messages = [text for (text,) in db.execute(f"PRAGMA {pragma}") if text != "ok"]
    if messages:
        only_indexes = all(" index " in text for text in messages)
        yield _error(
            "damage", f"SQLite found damage: {messages[0]}.",
            repairable=only_indexes, count=len(messages),
        )  # fmt: skip


def _orphans(db: Connection) -> Iterator[Finding]:
    counts: dict[str, int] = {}
    for table, *_ in db.execute("PRAGMA foreign_key_check"):
        counts[table] = counts.get(table, 0) + 1
    for table, count in counts.items():
        yield _error(
            "orphans", f"{count} rows of {table} reference no memory or model.", count=count
        )


def _index_counts(db: Connection) -> Iterator[Finding]:
    (rows,) = db.execute("SELECT count(*) FROM memories").fetchone()
    for index in _TEXT_INDEXES:
        (entries,) = db.execute(f"SELECT count(*) FROM {index}_docsize").fetchone()
        if entries != rows:
            yield _error(
                index, f"The index {index} has {entries} entries for {rows} memories.",
                count=abs(entries - rows),
            )  # fmt: skip


def _index_samples(db: Connection) -> Iterator[Finding]:
    """Sampled memories must be found by their own text."""
    rows = db.execute(
        "SELECT row, content FROM memories WHERE row % ? = 0", (_sampling_step(db),)
    ).fetchall()
    for index, probe in (("words", _word_probe), ("fragments", _fragment_probe)):
        lost = sum(not _is_found(db, index, row, probe(content)) for row, content in rows)
        if lost:
            yield _error(index, f"The index {index} misses text of {lost} memories.", count=lost)


def _is_found(db: Connection, index: str, row: int, probe: str | None) -> bool:
    if probe is None:
        return True
    return bool(
        db.execute(
            f"SELECT 1 FROM {index} WHERE {index} MATCH ? AND rowid = ?", (probe, row)
        ).fetchone()
    )


def _word_probe(content: str) -> str | None:
    """A word between spaces, which is a token of its own."""
    words = (w for w in content.split() if _ASCII_WORD.fullmatch(w))
    return next((f"content : {quote(w)}" for w in words), None)


def _fragment_probe(content: str) -> str | None:
    head = content[:3]
    return quote(head) if len(head) == 3 and "\0" not in head else None


def _index_integrity(db: Connection) -> Iterator[Finding]:
    """FTS5's own integrity check. It is a write command, so it is rolled back."""
    for index in _TEXT_INDEXES:
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError:
            yield _error(index, f"The index {index} does not agree with the memories.")
        finally:
            db.execute("ROLLBACK")


def expected_labels(*, step: int) -> str:
    """A query for the labels the rows should have, of every `step`th row."""
    parts = (
        f"SELECT '{kind}', j.value, m.row FROM memories m, json_each(m.{column}) j"
        f" WHERE m.{column} <> '[]' AND m.row % {step} = 0"
        for kind, column in (("tag", "tags"), ("file", "files"), ("module", "modules"))
    )
    return " UNION ALL ".join(parts)


def _labels(db: Connection, *, step: int) -> Iterator[Finding]:
    expected = expected_labels(step=step)
    actual = f"SELECT * FROM labels WHERE memory % {step} = 0"
    (missing,) = db.execute(
        f"SELECT count(*) FROM (SELECT * FROM ({expected}) EXCEPT {actual})"
    ).fetchone()
    (extra,) = db.execute(
        f"SELECT count(*) FROM ({actual} EXCEPT SELECT * FROM ({expected}))"
    ).fetchone()
    if missing or extra:
        yield _error(
            "labels", f"The label index lacks {missing} entries and has {extra} too many.",
            count=missing + extra,
        )  # fmt: skip


def _dimensions(db: Connection) -> Iterator[Finding]:
    (wrong,) = db.execute(
        "SELECT count(*) FROM vectors v JOIN models d ON d.model = v.model"
        " WHERE length(v.codes) <> d.dimension"
    ).fetchone()
    if wrong:
        yield _error(
            "dimensions", f"{wrong} vectors have the wrong dimension for their model.", count=wrong
        )


def _homes(db: Connection) -> Iterator[Finding]:
    (wrong,) = db.execute(
        "SELECT count(*) FROM vectors v JOIN memories m ON m.row = v.memory WHERE v.home <> m.home"
    ).fetchone()
    if wrong:
        yield _error("homes", f"{wrong} vectors are stored under the wrong project.", count=wrong)


def _shorts(db: Connection, *, step: int) -> Iterator[Finding]:
    (wrong,) = db.execute(
        "SELECT count(*) FROM memories WHERE row % ? = 0 AND short IS NOT short_of(id)", (step,)
    ).fetchone()
    if wrong:
        yield _error("short ids", f"{wrong} memories have a wrong short id.", count=wrong)


def _successors(db: Connection) -> Iterator[Finding]:
    (broken,) = db.execute(
        "SELECT count(*) FROM memories m WHERE m.superseded_by IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM memories s WHERE s.id = m.superseded_by)"
    ).fetchone()
    if broken:
        yield Finding(
            "successors",
            f"{broken} closed memories name a successor that does not exist.",
            Severity.WARNING,
            repairable=False,
            count=broken,
        )


def _checksums(db: Connection) -> Iterator[Finding]:
    """Records that do not match their checksum, each by its name."""
    broken = list(damaged_records(db))
    for one in broken[:_MAX_NAMED]:
        name = f"{one.table.what} {one.name}"
        yield _error(
            f"checksum of {name}",
            f"The {name} is damaged: its checksum is another. `wellkept admin doctor --repair`"
            " mends it where that is sure; otherwise restore a backup, or correct it by hand.",
        )
    if len(broken) > _MAX_NAMED:
        left = len(broken) - _MAX_NAMED
        yield _error("checksums", f"{left} more records do not match their checksum.", count=left)
    if vectors := damaged_vectors(db):
        yield _error(
            "vector checksums",
            f"{len(vectors)} vectors are damaged; a repair removes them, for `admin reindex`.",
            count=len(vectors),
        )
    if missing := count_missing(db):
        yield Finding(
            "missing checksums",
            f"{missing} records of an older version have no checksum yet; the next maintenance"
            " makes them.",
            Severity.WARNING,
            repairable=True,
            count=missing,
        )


def _unreadable(db: Connection) -> Iterator[Finding]:
    broken: list[str] = []
    # Text that is no longer UTF-8 must not hide the rows after it.
    db.text_factory = partial(str, encoding="utf-8", errors="replace")
    try:
        for row in db.execute(f"SELECT {SELECTED} FROM memories m"):
            try:
                to_memory(row)
            except StoreCorruptError:
                broken.append(str(row[0]))
    finally:
        db.text_factory = str
    if broken:
        yield _error(
            "rows", f"{len(broken)} memories cannot be read, the first is {broken[0]}.",
            repairable=False, count=len(broken),
        )  # fmt: skip


# -- Damaged records ------------------------------------------------------------------------------


Raw = bytes | None
# So many bytes are summed up in the search for one record: about two seconds.
_MAX_WORK_BYTES = 1 << 31
_BITS = tuple(1 << bit for bit in range(8))
_OTHER_BYTES = tuple(change for change in range(1, 256) if change not in _BITS)
_INTEGER_BITS = 63


class DamagedRecord(NamedTuple):
    """A record that does not match its checksum: its key and values as bytes."""

    table: SummedTable
    key: tuple[Raw, ...]
    name: str
    values: tuple[Raw, ...]
    checksum: SqlValue


def damaged_records(db: Connection) -> Iterator[DamagedRecord]:
    """Every record that does not match its checksum."""
    for table in TABLES:
        keys = ", ".join(f"CAST({name} AS BLOB)" for name in table.order)
        width = len(table.order)
        rows = db.execute(
            f"SELECT {keys}, CAST({table.named_by} AS BLOB), checksum,"
            f" {', '.join(raw_columns(table))} FROM {table.name} WHERE checksum IS NOT NULL"
        )
        for row in rows:
            values = row[width + 2 :]
            if sum_of_bytes(joined(values)) != row[width + 1]:
                name = (row[width] or b"").decode("utf-8", "replace")
                yield DamagedRecord(table, row[:width], name, values, row[width + 1])


def damaged_vectors(db: Connection) -> list[int]:
    """The numbers of the vectors that do not match their checksum."""
    rows = db.execute("SELECT seq, scale, codes, checksum FROM vectors WHERE checksum IS NOT NULL")
    return [
        seq
        for seq, scale, codes, sum_ in rows
        # A damaged row can hold values of another kind than its columns.
        if not (isinstance(scale, float) and isinstance(codes, bytes))
        or vector_checksum(scale, codes) != sum_
    ]


def mend(db: Connection, copies: Sequence[Path]) -> None:
    """Mend what can be mended, inside the caller's transaction. The text indexes do not follow:
    they are to be made anew afterwards."""
    db.executemany("DELETE FROM vectors WHERE seq = ?", [(seq,) for seq in damaged_vectors(db)])
    found = list(damaged_records(db))
    if not found:
        return
    triggers = db.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'memories'"
        " AND name LIKE 'memories_index_%'"
    ).fetchall()
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    for record in found:
        if not isinstance(record.checksum, int):
            continue  # the checksum itself is damaged: nothing can be compared with it
        values = _from_copies(record, copies) or _changed_back(record)
        if values is not None:
            _write(db, record, values)
    for _, sql in triggers:
        db.execute(sql)


def _write(db: Connection, record: DamagedRecord, values: Sequence[Raw]) -> None:
    table = record.table
    changed = [
        (column, new)
        for column, old, new in zip(table.columns, record.values, values, strict=True)
        if old != new
    ]
    # A TEXT column takes a blob only as text; an INTEGER column turns digits into a number.
    settings = ", ".join(f"{column} = CAST(? AS TEXT)" for column, _ in changed)
    own = " AND ".join(f"CAST({column} AS BLOB) IS ?" for column in table.order)
    after = dict(changed)
    key = [after.get(column, old) for column, old in zip(table.order, record.key, strict=True)]
    try:
        db.execute(
            f"UPDATE {table.name} SET {settings} WHERE {own}",
            (*(new for _, new in changed), *record.key),
        )
        # The change took the checksum away, as any that comes without one.
        db.execute(f"UPDATE {table.name} SET checksum = ? WHERE {own}", (record.checksum, *key))
    except sqlite3.IntegrityError:
        return


# -- Values that fit ------------------------------------------------------------------------------


def _from_copies(record: DamagedRecord, copies: Iterable[Path]) -> tuple[Raw, ...] | None:
    """The values of the same record in a copy of the database."""
    own = " AND ".join(f"CAST({column} AS BLOB) IS ?" for column in record.table.order)
    for path in copies:
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
                rows = db.execute(
                    f"SELECT {', '.join(raw_columns(record.table))} FROM {record.table.name}"
                    f" WHERE {own}",
                    record.key,
                ).fetchall()
        except sqlite3.Error:
            continue
        for row in rows:
            if sum_of_bytes(joined(row)) == record.checksum:
                return tuple(row)
    return None


def _changed_back(record: DamagedRecord) -> tuple[Raw, ...] | None:
    """The values with the one byte or number changed back that makes them fit."""
    assert isinstance(record.checksum, int)
    for index, value in enumerate(record.values):
        if value is not None and value.lstrip(b"-").isdigit():
            for bit in range(_INTEGER_BITS):
                changed = b"%d" % (int(value) ^ (1 << bit))
                values = (*record.values[:index], changed, *record.values[index + 1 :])
                if sum_of_bytes(joined(values)) == record.checksum:
                    return values
    data = joined(record.values)
    at = _flipped(data, record.checksum)
    if at is None:
        return None
    place, byte = at
    mended = data[:place] + bytes([byte]) + data[place + 1 :]
    return _split(mended, record.values)


def _flipped(data: bytes, wanted: int) -> tuple[int, int] | None:
    """Where another byte makes the data fit its checksum: a flipped bit first, then any byte."""
    low, work = wanted & 0xFFFF_FFFF, 0
    for changes in (_BITS, _OTHER_BYTES):
        if (work := work + len(data) * len(data) // 2 * len(changes)) > _MAX_WORK_BYTES:
            return None
        before = 0
        for place, byte in enumerate(data):
            rest = memoryview(data)[place + 1 :]
            for change in changes:
                other = byte ^ change
                if crc32(rest, crc32(bytes((other,)), before)) == low:
                    mended = data[:place] + bytes((other,)) + data[place + 1 :]
                    if sum_of_bytes(mended) == wanted:
                        return place, other
            before = crc32(bytes((byte,)), before)
    return None


def _split(data: bytes, like: Sequence[Raw]) -> tuple[Raw, ...] | None:
    """The values again; None when the change was not inside a text."""
    values: list[Raw] = []
    at = 0
    for one in like:
        size = 1 if one is None else len(one)
        part = data[at : at + size]
        values.append(None if one is None and part == b"\x00" else part)
        at += size + 1
    try:
        for value in values:
            (value or b"").decode()
    except UnicodeDecodeError:
        return None
    return tuple(values) if joined(values) == data else None
