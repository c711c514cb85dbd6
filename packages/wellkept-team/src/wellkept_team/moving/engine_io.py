"""Reads and writes the rows of `tables.py` in either engine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.store import quantization
from wellkept.store.memory_rows import COLUMNS, summed_row, to_memory, to_row
from wellkept.store.sqlite.checksums import Covered
from wellkept_team.moving.tables import MovedTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from wellkept.store.sqlite.database import Connection
    from wellkept.store.sqlite.database import Database as SqliteDatabase
    from wellkept_team.postgres.connection.database import Database as PostgresDatabase

Row: TypeAlias = tuple[Any, ...]
UNDO = "undo_steps"


class Side(Protocol):
    """One of the two stores."""

    def read(self, table: MovedTable, *, after: Row | None, limit: int) -> list[Row]:
        """The next rows in the order of the key."""
        ...

    def write(self, table: MovedTable, rows: Sequence[Row]) -> None:
        """Write rows in one transaction; one that is there already is overwritten."""
        ...

    def count(self, table: MovedTable) -> int:
        """How many rows there are."""
        ...

    def clear(self, table: MovedTable) -> None:
        """Delete all rows."""
        ...

    def require_owner(self, person: str) -> None:
        """UsageError where a store has no people; NotFoundError for one who is no member."""
        ...

    def give_to(self, person: str) -> None:
        """Make a person the owner of every memory that has none; what was shared stays with whoever
        shared it."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class SqliteSide:
    """Rows of an SQLite file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def read(self, table: MovedTable, *, after: Row | None, limit: int) -> list[Row]:
        names = ", ".join(map(_quoted, table.columns))
        key = ", ".join(map(_quoted, table.key))
        beyond = f"WHERE ({key}) > ({', '.join('?' * len(table.key))})" if after else ""
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {names} FROM ({table.sqlite}) {beyond} ORDER BY {key} LIMIT ?",
                (*(after or ()), limit),
            ).fetchall()
            if table.name == UNDO:
                rows = [(*row[:-1], from_sqlite(db, row[-1])) for row in rows]
        return [_with_flags(table, row) for row in rows]

    def write(self, table: MovedTable, rows: Sequence[Row]) -> None:
        stored = table.sqlite_columns or table.columns
        places = [table.columns.index(name) for name in stored]
        picked = [tuple(_plain(row[place]) for place in places) for row in rows]
        names = list(stored)
        with self._database.writing() as db:
            if table.name == UNDO:
                picked = [(*row[:-1], to_sqlite(db, row[-1])) for row in picked]
            if table.name == "processed_events":
                db.executemany(
                    "INSERT OR REPLACE INTO processed_events (event_id, session)"
                    " SELECT ?, row FROM sessions WHERE id = ?",
                    [(row[1], row[2]) for row in rows],
                )
                return
            if table.summed is not None:
                covered = Covered(table.summed, stored)
                picked = [(*row, covered.checksum(row)) for row in picked]
                names.append("checksum")
            listed = ", ".join(map(_quoted, names))
            marks = ", ".join("?" * len(names))
            db.executemany(
                f"INSERT OR REPLACE INTO {table.name} ({listed}) VALUES ({marks})", picked
            )

    def count(self, table: MovedTable) -> int:
        with self._database.reading() as db:
            return int(db.execute(f"SELECT count(*) FROM ({table.sqlite})").fetchone()[0])

    def clear(self, table: MovedTable) -> None:
        with self._database.writing() as db:
            db.execute(f"DELETE FROM {table.name}")

    def require_owner(self, person: str) -> None:
        raise UsageError(
            f"A file has no people, so nothing can be given to {person}.",
            hint="Leave out --organisation and --person, or move to a team's database.",
        )

    def give_to(self, person: str) -> None:
        self.require_owner(person)

    def close(self) -> None:
        self._database.close()


class PostgresSide:
    """Rows of one tenant in PostgreSQL."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def read(self, table: MovedTable, *, after: Row | None, limit: int) -> list[Row]:
        names = ", ".join(map(_quoted, table.columns))
        key = ", ".join(map(_quoted, table.key))
        beyond = f" AND ({key}) > ({', '.join(f'%(k{n})s' for n in range(len(table.key)))})"
        params = {f"k{n}": value for n, value in enumerate(after or ())}
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {names} FROM {table.name} WHERE tenant = %(tenant)s{_only(table)}"
                f"{beyond if after else ''} ORDER BY {key} LIMIT %(limit)s",
                **params,
                limit=limit,
            )
        if table.name == UNDO:
            rows = [(*row[:-1], from_postgres(row[-1])) for row in rows]
        return [_with_flags(table, row) for row in rows]

    def write(self, table: MovedTable, rows: Sequence[Row]) -> None:
        if table.name == UNDO:
            rows = [(*row[:-1], to_postgres(row[-1])) for row in rows]
        names = ", ".join(map(_quoted, table.columns))
        values = ", ".join(f"%(c{n})s" for n in range(len(table.columns)))
        unique = dict.fromkeys(("tenant", "project", *table.key))
        key = ", ".join(map(_quoted, unique))
        others = [name for name in table.columns if name not in unique]
        update = ", ".join(f"{_quoted(name)} = excluded.{_quoted(name)}" for name in others)
        with self._database.writing() as db:
            db.many(
                f"INSERT INTO {table.name} (tenant, {names}) VALUES (%(tenant)s, {values})"
                f" ON CONFLICT ({key}) DO {f'UPDATE SET {update}' if update else 'NOTHING'}",
                [{f"c{n}": value for n, value in enumerate(row)} for row in rows],
            )
            if table.name == "activity" and rows:
                db.run(
                    "INSERT INTO activity_numbers (tenant, project, last)"
                    " VALUES (%(tenant)s, '', %(last)s) ON CONFLICT (tenant, project)"
                    " DO UPDATE SET last = excluded.last",
                    last=rows[-1][table.columns.index("number")],
                )

    def count(self, table: MovedTable) -> int:
        with self._database.reading() as db:
            return int(
                db.value(
                    f"SELECT count(*) FROM {table.name} WHERE tenant = %(tenant)s{_only(table)}"
                )
            )

    def clear(self, table: MovedTable) -> None:
        with self._database.writing() as db:
            db.run(f"DELETE FROM {table.name} WHERE tenant = %(tenant)s")

    def require_owner(self, person: str) -> None:
        with self._database.reading() as db:
            known = db.value(
                "SELECT 1 FROM people WHERE tenant = %(tenant)s AND project = ''"
                " AND name = %(person)s AND removed_ms IS NULL",
                person=person,
            )
        if not known:
            raise NotFoundError(
                f"{person!r} is no member of the organisation {self._database.tenant!r}.",
                hint="Add the person first: wellkept team user add NAME --org ORGANISATION",
            )

    def give_to(self, person: str) -> None:
        with self._database.writing() as db:
            db.run(
                "UPDATE memories m SET owner = coalesce((SELECT r.owner FROM shared_records r"
                " WHERE r.tenant = m.tenant AND r.project = m.home AND r.id = m.id),"
                " %(person)s) WHERE m.tenant = %(tenant)s AND m.owner = ''",
                person=person,
            )

    def close(self) -> None:
        self._database.close()


def _only(table: MovedTable) -> str:
    return " AND space <> 'move'" if table.name == "key_values" else ""


def _quoted(name: str) -> str:
    return f'"{name}"'


def _with_flags(table: MovedTable, row: Sequence[Any]) -> Row:
    """The same values from either engine."""
    pairs = zip(table.columns, row, strict=True)
    return tuple(bool(value) if name in table.flags else value for name, value in pairs)


def _plain(value: object) -> Any:
    return int(value) if isinstance(value, bool) else cast("Any", value)


# -- Steps that can be undone, in a form that both engines make of theirs and read as theirs ------


_SCOPE, _PROJECT = COLUMNS.index("scope"), COLUMNS.index("project")


def codes_text(codes: list[int]) -> str:
    """Codes as pgvector reads them."""
    return f"[{','.join(map(str, codes))}]"


def from_postgres(text: str) -> str:
    """The common form of a step of PostgreSQL."""

    def kept(one: dict[str, Any]) -> dict[str, Any]:
        vectors = [[name, [int(n) for n in json.loads(codes)]] for name, codes in one["vectors"]]
        return {**one, "row": list(to_row(to_memory(one["row"]))), "vectors": sorted(vectors)}

    return _with_each(text, kept)


def to_postgres(text: str) -> str:
    """A step in the common form, as PostgreSQL keeps it."""

    def kept(one: dict[str, Any]) -> dict[str, Any]:
        vectors = [
            [name, json.dumps(codes, separators=(",", ":"))] for name, codes in one["vectors"]
        ]
        return {**one, "vectors": vectors}

    return _with_each(text, kept)


def from_sqlite(db: Connection, text: str) -> str:
    """The common form of a step of SQLite."""
    models = dict(db.execute("SELECT model, model_id FROM models").fetchall())
    projects = dict(db.execute("SELECT id, project FROM injections").fetchall())

    def kept(one: dict[str, Any]) -> dict[str, Any]:
        row = one["row"]
        vectors = [
            [models[model], list(quantization.codes(bytes.fromhex(codes)))]
            for model, _, _, codes in one["vectors"]
            if model in models
        ]
        lines = [[projects.get(line[0], row[_PROJECT]), *line] for line in one["lines"]]
        plain = list(to_row(to_memory(row[: len(COLUMNS)])))
        return {
            **one, "row": plain, "extra": row[-1], "vectors": sorted(vectors), "lines": lines,
        }  # fmt: skip

    return _with_each(text, kept)


def to_sqlite(db: Connection, text: str) -> str:
    """A step in the common form, as SQLite keeps it."""
    models = dict(db.execute("SELECT model_id, model FROM models").fetchall())

    def kept(one: dict[str, Any]) -> dict[str, Any]:
        row, extra = one["row"], one["extra"]
        home = "" if row[_SCOPE] == "user" else row[_PROJECT]
        packed = [
            (models[name], *quantization.pack(quantization.unpack_codes(codes)))
            for name, codes in one["vectors"]
            if name in models
        ]
        rest = {key: value for key, value in one.items() if key != "extra"}
        return {
            **rest,
            "row": [*summed_row(to_memory(row)), extra],
            "vectors": [[model, home, scale, codes.hex()] for model, scale, codes in packed],
            "lines": [line[1:] for line in one["lines"]],
        }

    return _with_each(text, kept)


def _with_each(text: str, kept: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    body = cast("dict[str, Any]", json.loads(text))
    body["before"] = [kept(one) for one in body["before"]]
    return json.dumps(body, sort_keys=True)
