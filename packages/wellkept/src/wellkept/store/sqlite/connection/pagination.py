"""Keyset pagination: a cursor names the last row, so pages have no gaps while rows are added.

Invariant: every order is total; ties break by id in the direction of the order.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, cast

from wellkept.core.errors import UsageError
from wellkept.core.query import Order
from wellkept.store.sqlite.connection.database import Connection
from wellkept.store.sqlite.tables.filters import Condition
from wellkept.store.sqlite.tables.memory_rows import COLUMNS, SELECTED, Row


class PagePosition(NamedTuple):
    """Sort value and id of a row."""

    value: float
    id: str


class Sorting(NamedTuple):
    """Column and direction of an order."""

    column: str
    descending: bool = True


_SORTINGS: Mapping[Order, Sorting] = MappingProxyType(
    {
        Order.NEWEST: Sorting("created_ms"),
        Order.OLDEST: Sorting("created_ms", descending=False),
        Order.UPDATED: Sorting("updated_ms"),
        Order.IMPORTANCE: Sorting("importance"),
        Order.ACCESSED: Sorting("accessed_ms"),
        Order.EVENT: Sorting("valid_from_ms", descending=False),
        Order.EVENT_LATEST: Sorting("valid_from_ms"),
    }
)


def fetch(
    db: Connection, filter_sql: Condition, *, order: Order, after: PagePosition | None, limit: int
) -> list[Row]:
    """The next rows in an order."""
    sorting = sorting_of(order)
    direction, beyond = ("DESC", "<") if sorting.descending else ("ASC", ">")
    follows = "" if after is None else f"AND (m.{sorting.column}, m.id) {beyond} (?, ?)"
    ordered = f"ORDER BY m.{sorting.column} {direction}, m.id {direction}"
    # The inner query reads narrow rows; only the page itself is read whole.
    return db.execute(
        f"SELECT {SELECTED} FROM memories m WHERE m.row IN"
        f" (SELECT m.row FROM memories m WHERE {filter_sql.sql} {follows} {ordered} LIMIT ?)"
        f" {ordered}",
        (*filter_sql.params, *(after or ()), limit),
    ).fetchall()


def sorting_of(order: Order) -> Sorting:
    """How an order sorts."""
    return _SORTINGS[order]


def position_of(row: Row, *, order: Order) -> PagePosition:
    """Sort position of a row."""
    return PagePosition(row[COLUMNS.index(_SORTINGS[order].column)], row[0])


def encode(row: Row, *, order: Order) -> str:
    """The cursor that continues after a row."""
    position = position_of(row, order=order)
    text = json.dumps([order.value, position.value, position.id], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(cursor: str, *, order: Order) -> PagePosition:
    """The position of a cursor; UsageError when it is damaged or from another order."""
    bad = UsageError(
        f"The cursor {cursor!r} does not belong to a listing in the order {order.value}.",
        hint="Start again without a cursor.",
    )
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        parts = cast("object", json.loads(base64.b64decode(padded, altchars=b"-_", validate=True)))
    except (ValueError, binascii.Error, RecursionError):
        raise bad from None
    match parts:
        case [str(name), int() | float() as value, str(id)] if name == order.value:
            return PagePosition(value, id)
        case _:
            raise bad
