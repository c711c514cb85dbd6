"""Reading fields of a payload that may hold anything.

A client's payload is somebody else's data: a field may be missing, null or of the wrong type, and
a new version of the client may rename it. Invariant: nothing here raises, whatever the payload is;
text comes out storable.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from wellkept.core.text import clean

Fields: TypeAlias = Mapping[str, object]

_NONE: Final[Fields] = MappingProxyType({})


def text(source: Fields, *names: str) -> str:
    """The first of these fields that is a text and not empty, else an empty text."""
    for name in names:
        value = source.get(name)
        if isinstance(value, str) and value:
            return clean(value)
    return ""


def optional(source: Fields, *names: str) -> str | None:
    """As `text`, but None when there is none."""
    return text(source, *names) or None


def inner(source: Fields, *names: str) -> Fields:
    """The first of these fields that is an object; one that holds JSON text is read."""
    for name in names:
        found = as_fields(source.get(name))
        if found:
            return found
    return _NONE


def as_fields(value: object) -> Fields:
    """The value as an object with fields, empty when it is none."""
    if isinstance(value, dict):
        return cast("Fields", value)
    if isinstance(value, str):
        value = read_json(value)
    return cast("Fields", value) if isinstance(value, Mapping) else _NONE


def items(source: Fields, name: str) -> Sequence[object]:
    """The field as a list, empty when it is none."""
    value = source.get(name)
    return cast("list[object]", value) if isinstance(value, list) else ()


def texts(source: Fields, *names: str) -> list[str]:
    """Every text that is not empty in those of these fields that are lists."""
    found = (value for name in names for value in items(source, name))
    return [clean(value) for value in found if isinstance(value, str) and value]


def whole(source: Fields, *names: str) -> int | None:
    """The first of these fields that is a number, as a whole one."""
    for name in names:
        value = source.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if math.isfinite(value):
            return round(value)
    return None


def read_json(raw: str) -> object:
    """What a JSON text says, or None when it is none."""
    if not raw.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def as_json(value: object) -> str:
    """The value as compact JSON; empty when it cannot be told."""
    try:
        return clean(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))
    except (ValueError, RecursionError):
        return ""
