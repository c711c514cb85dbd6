"""Memories as rows: the columns of `store.memory_rows` and where a memory is seen
from."""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.memory import Memory
from wellkept.core.types import Scope
from wellkept.store.memory_rows import (
    COLUMNS,
    SELECTED,
    SELECTED_CANDIDATE,
    to_candidate,
    to_memory,
    to_row,
)
from wellkept_team.postgres.connection.database import Value
from wellkept_team.postgres.tables.index_keys import index_key

__all__ = [
    "SELECTED",
    "SELECTED_CANDIDATE",
    "WRITTEN",
    "home_of",
    "to_candidate",
    "to_memory",
    "values_of",
]

WRITTEN: Sequence[str] = (*COLUMNS, "home", "key_index")
"""Columns that the writer of a memory sets, besides tenant, number and extra text."""


def home_of(memory: Memory) -> str:
    """Where a memory is seen from: its project, or everywhere ('')."""
    return "" if memory.scope is Scope.USER else memory.project


def values_of(memory: Memory) -> dict[str, Value]:
    """The values of `WRITTEN`; UsageError for a memory that cannot be stored."""
    values: dict[str, Value] = dict(zip(COLUMNS, to_row(memory), strict=True))
    values["home"] = home_of(memory)
    values["key_index"] = None if memory.key is None else index_key(memory.key)
    return values
