"""Types of the library's keyword arguments, for type checkers.

Python, command line and HTTP take the same keywords; `requests` parses them and has the key tables
used at run time. Import this under `TYPE_CHECKING` only: creating the types takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeAlias, TypedDict

from wellkept.core.codec import Json, Payload
from wellkept.core.memory import Evidence, Relation, WorkUnitRef

Names: TypeAlias = str | Iterable[str]
When: TypeAlias = datetime | str | None


class FilterArgs(TypedDict, total=False):
    """Which memories match. A missing key sets no condition.

    Within one field any value matches, except `tags`: all are required. `since` and `until` bound
    the time of the event; `as_of` selects what was valid then. Times are datetimes, ISO dates, or
    ages (`7d`, `12h`).
    """

    types: Names
    scopes: Names
    sources: Names
    tags: Names
    files: Names
    modules: Names
    sessions: Names
    authors: Names
    methodologies: Names
    bands: Iterable[int]
    min_confidence: float
    min_importance: float
    since: When
    until: When
    as_of: When
    validity: str
    include_stale: bool
    only_stale: bool
    archived: bool | None
    needs_review: bool | None
    user_verified: bool | None
    pinned: bool | None
    all_projects: bool


class MemoryArgs(TypedDict, total=False):
    """Fields of a new memory besides its content."""

    type: str
    key: str | None
    tags: Names
    files: Names
    modules: Names
    importance: float | None
    confidence: float | None
    scope: str | None
    source: str
    author: str | None
    session: str | None
    seq: int | None
    at: When
    pinned: bool
    payload: Payload | Mapping[str, Json] | None
    evidence: Iterable[Evidence]
    relations: Iterable[Relation]
    work_unit: WorkUnitRef | None
    graph_node: str | None
    commit: str | None
    half_life_days: float | None
    needs_review: bool
    citation: str | None
    work_tokens: int | None


class EditArgs(TypedDict, total=False):
    """Fields that can be edited. New content or a new type opens a successor."""

    content: str
    type: str
    key: str
    tags: Names
    files: Names
    modules: Names
    importance: float
    confidence: float
    scope: str
    needs_review: bool
    user_verified: bool
    pinned: bool
    citation: str
    relations: Iterable[Relation]
    half_life_days: float
    payload: Payload | Mapping[str, Json]
