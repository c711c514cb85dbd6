"""Read fields of an untrusted payload.

A field may be missing, null, of the wrong type, or renamed in a new client version. Invariant:
nothing here raises, and text is safe to store.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from wellkept.core.text import clean

Fields: TypeAlias = Mapping[str, object]

_EMPTY: Final[Fields] = MappingProxyType({})


def text(source: Fields, *names: str) -> str:
    """The first of these fields that is a non-empty string, else an empty string."""
    for name in names:
        value = source.get(name)
        if isinstance(value, str) and value:
            return clean(value)
    return ""


def optional(source: Fields, *names: str) -> str | None:
    """Like `text`, but None instead of an empty string."""
    return text(source, *names) or None


def nested(source: Fields, *names: str) -> Fields:
    """The first of these fields that is an object; JSON text is parsed."""
    for name in names:
        found = as_fields(source.get(name))
        if found:
            return found
    return _EMPTY


def as_fields(value: object) -> Fields:
    """The value as an object; empty when it is not one."""
    if isinstance(value, dict):
        return cast("Fields", value)
    if isinstance(value, str):
        value = read_json(value)
    return cast("Fields", value) if isinstance(value, Mapping) else _EMPTY


def items(source: Fields, name: str) -> Sequence[object]:
    """The field as a list; empty when it is not one."""
    value = source.get(name)
    return cast("list[object]", value) if isinstance(value, list) else ()


def texts(source: Fields, *names: str) -> list[str]:
    """All non-empty strings in those of these fields that are lists."""
    found = (value for name in names for value in items(source, name))
    return [clean(value) for value in found if isinstance(value, str) and value]


def integer(source: Fields, *names: str) -> int | None:
    """The first of these fields that is a number, rounded."""
    for name in names:
        value = source.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if math.isfinite(value):
            return round(value)
    return None


def read_json(raw: str) -> object:
    """Parse a JSON object or array; None when it is neither."""
    if not raw.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def as_json(value: object) -> str:
    """The value as compact JSON; empty when it cannot be encoded."""
    try:
        return clean(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))
    except (ValueError, RecursionError):
        return ""
