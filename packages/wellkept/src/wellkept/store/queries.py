"""What every engine decides alike about a query: how much work it may be, where a page continues,
which neighbours belong to it, how often a memory was read."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias, TypeVar, cast

from wellkept.core.errors import UsageError
from wellkept.core.query import Order, SessionPosition
from wellkept.core.records import record
from wellkept.store.memory_rows import COLUMNS
from wellkept.store.rows import Row

_Name = TypeVar("_Name")
# Range of a stored integer.
_LEAST_SEQ, _LARGEST_SEQ = -(2**63), 2**63 - 1
_MAX_LIMIT = 2**62


def require_limit(limit: int, *, least: int = 0) -> None:
    """UsageError for a limit that is too small, or too large for SQLite."""
    if limit < least:
        raise UsageError(f"limit must be at least {least}, not {limit}.")
    if limit > _MAX_LIMIT:
        raise UsageError(f"A limit of {limit} is out of range.", hint="Use a smaller one.")


_Span: TypeAlias = tuple[str, int, int]
"""A session with the first and last position in it."""


def merged_spans(places: Sequence[SessionPosition], span: int) -> list[_Span]:
    """Position ranges by session, merged so that none overlap."""
    spans: list[_Span] = []
    for session, seq in sorted(set(places)):
        first, last = max(seq - span, _LEAST_SEQ), min(seq + span, _LARGEST_SEQ)
        if spans and spans[-1][0] == session and spans[-1][2] >= first:
            first = spans.pop()[1]
        spans.append((session, first, last))
    return spans


@record
class SearchEffort:
    """Limits on the work of one search.

    A project of at most `small_project_rows` rows, and less than half of the store, is searched by
    itself. Otherwise the best `first_pass` matches are filtered before all are. At most about
    `scored_rows` are scored. Terms in `ubiquitous_rows` or more are ignored if there are others.
    """

    small_project_rows: int = 20_000
    first_pass: int = 400
    scored_rows: int = 6_000
    ubiquitous_rows: int = 50_000


DEFAULT_EFFORT = SearchEffort()


def split_terms(
    rows: Mapping[_Name, int], *, least: int, effort: SearchEffort
) -> tuple[list[_Name], list[_Name]]:
    """The terms whose rows are scored, and those that only add to scores."""
    rare: list[_Name] = []
    common: list[_Name] = []
    total = 0
    for term in sorted(rows, key=lambda term: rows[term]):
        if total < least or total + rows[term] <= effort.scored_rows:
            rare.append(term)
            total += rows[term]
        elif rows[term] < effort.ubiquitous_rows:
            common.append(term)
    return rare, common


LabelKind = Literal["tag", "file", "module"]


MAX_TAGS = 100


class PagePosition(NamedTuple):
    """Sort value and id of a row."""

    value: float
    id: str


class _Sorting(NamedTuple):
    """Column and direction of an order."""

    column: str
    descending: bool = True


_SORTINGS: Mapping[Order, _Sorting] = MappingProxyType(
    {
        Order.NEWEST: _Sorting("created_ms"),
        Order.OLDEST: _Sorting("created_ms", descending=False),
        Order.UPDATED: _Sorting("updated_ms"),
        Order.IMPORTANCE: _Sorting("importance"),
        Order.ACCESSED: _Sorting("accessed_ms"),
        Order.EVENT: _Sorting("valid_from_ms", descending=False),
        Order.EVENT_LATEST: _Sorting("valid_from_ms"),
    }
)


def sorting_of(order: Order) -> _Sorting:
    """How an order sorts."""
    return _SORTINGS[order]


def position_of(row: Row, *, order: Order) -> PagePosition:
    """Sort position of a row."""
    return PagePosition(row[COLUMNS.index(_SORTINGS[order].column)], row[0])


def encode(row: Row, *, order: Order) -> str:
    """The cursor that continues after a row."""
    from base64 import urlsafe_b64encode

    position = position_of(row, order=order)
    text = json.dumps([order.value, position.value, position.id], separators=(",", ":"))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(cursor: str, *, order: Order) -> PagePosition:
    """The position of a cursor; UsageError when it is damaged or from another order."""
    from base64 import b64decode

    bad = UsageError(
        f"The cursor {cursor!r} does not belong to a listing in the order {order.value}.",
        hint="Start again without a cursor.",
    )
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        parts = cast("object", json.loads(b64decode(padded, altchars=b"-_", validate=True)))
    except (ValueError, RecursionError):
        raise bad from None
    match parts:
        case [str(name), int() | float() as value, str(id)] if name == order.value:
            return PagePosition(value, id)
        case _:
            raise bad


def parse_cursor(cursor: str) -> tuple[int, str]:
    """Time and id of the injection that a page ended with."""
    at_ms, _, injection_id = cursor.partition(":")
    if not at_ms.lstrip("-").isdecimal() or not injection_id or len(at_ms) > 18:
        raise UsageError(
            f"The cursor {cursor!r} does not belong to this listing.",
            hint="Start again without a cursor.",
        )
    return int(at_ms), injection_id


_MAX_IDS = 10_000


class AccessCount(NamedTuple):
    """How often a memory was read since the last flush, and when last."""

    times: int
    at_ms: int


class AccessBuffer:
    """Counts accesses by id until they are written."""

    def __init__(self, *, max_ids: int = _MAX_IDS) -> None:
        self._max_ids = max_ids
        self._pending: dict[str, AccessCount] = {}
        self._lock = threading.Lock()

    def add(self, accesses: Iterable[tuple[str, AccessCount]]) -> None:
        """Add accesses; the later time wins."""
        with self._lock:
            for full_id, access in accesses:
                before = self._pending.pop(full_id, AccessCount(0, access.at_ms))
                self._pending[full_id] = AccessCount(
                    before.times + access.times, max(before.at_ms, access.at_ms)
                )
            while len(self._pending) > self._max_ids:
                del self._pending[next(iter(self._pending))]

    def take_all(self) -> dict[str, AccessCount]:
        """Remove and return all buffered accesses."""
        with self._lock:
            buffered, self._pending = self._pending, {}
            return buffered
