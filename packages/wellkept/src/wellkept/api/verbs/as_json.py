"""The one JSON of results, for `--json`, HTTP and MCP: records field by field.

A record may name properties that are shown beside its fields (`also_shown`, after its first one)
and fields that are not (`not_shown`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import Any, cast

from wellkept.core.codec import Json
from wellkept.core.records import fields, is_record


@cache
def shown_names(kind: type[object]) -> tuple[str, ...]:
    """What is shown of a record, in order."""
    hidden: tuple[str, ...] = getattr(kind, "not_shown", ())
    first, *rest = [field.name for field in fields(kind) if field.name not in hidden] or [""]
    return tuple(filter(None, (first, *getattr(kind, "also_shown", ()), *rest)))


def plain(value: object) -> Json:
    """Records as JSON: fields by name, moments in ISO 8601 with milliseconds."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Enum):
        return cast("Json", value.value)
    if isinstance(value, str):
        return value
    if is_record(value):
        return {name: plain(getattr(value, name)) for name in shown_names(type(value))}
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (list, tuple, frozenset, set)):
        return [plain(item) for item in cast("Sequence[object]", value)]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in cast("dict[object, object]", value).items()}
    return str(value) if isinstance(value, PurePath) else cast("Any", value)


def encoded(value: object) -> bytes:
    """Records as the bytes of their JSON."""
    import msgspec

    return msgspec.json.encode(plain(value))
