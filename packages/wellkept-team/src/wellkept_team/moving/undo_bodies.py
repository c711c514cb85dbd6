"""Steps that can be undone, in a form that both engines make of theirs and read as theirs.

A step keeps memories as rows of its engine. Here a row has the values of SQLite's columns, a vector
the name of its model and its codes, a line that was given the project of its injection.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from wellkept.store.sqlite.search import quantization
from wellkept.store.sqlite.tables.memory_rows import COLUMNS, summed_row, to_memory, to_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from wellkept.store.sqlite.connection.database import Connection

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
