"""Finds records whose text no longer matches their checksum, and mends them where that is sure.

A record is mended only with values that fit its checksum: those of a copy of the database beside
it, or its own with one byte, or one bit of a number, changed back. Anything else would be a guess,
so the record is named and left as it is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from wellkept.store.sqlite.checksums import (
    TABLES,
    SummedTable,
    joined,
    raw_columns,
    sum_of_bytes,
    vector_checksum,
)
from wellkept.store.sqlite.connection.database import Connection, SqlValue

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
