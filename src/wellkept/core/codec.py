"""Payloads to and from JSON, checked field by field.

A payload class is a record whose annotations are the schema: `payload_from_json`
accepts exactly those fields with exactly those types and says by name what does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import (
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from wellkept.core.errors import UsageError
from wellkept.core.records import fields, is_record, record

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@record
class Payload:
    """Marker for the typed part of a memory."""


_Record = TypeVar("_Record")
# Of these a value is what it is, without a closer look; a float may be no number.
_PLAIN: frozenset[object] = frozenset({str, int, bool, type(None)})


def payload_to_json(payload: object) -> dict[str, Json]:
    """A payload (or a part of one) as plain JSON, defaults included."""
    return {f.name: _encode(getattr(payload, f.name)) for f in fields(payload)}


def payload_from_json(kind: type[_Record], data: Mapping[str, Json]) -> _Record:
    """Build a payload from JSON; a UsageError names the field that does not fit."""
    return _decode_record(kind, data, where=kind.__name__)


def _encode(value: Any) -> Json:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, tuple):
        return [_encode(item) for item in cast("tuple[Any, ...]", value)]
    return payload_to_json(value) if is_record(value) else value


@cache
def _hints(kind: type[object]) -> dict[str, object]:
    return cast("dict[str, object]", get_type_hints(kind))


def _decode_record(kind: type[_Record], data: object, *, where: str) -> _Record:
    if not isinstance(data, Mapping):
        raise UsageError(f"{where} must be an object, not {type(data).__name__}.")
    given = cast("Mapping[str, object]", data)
    hints = _hints(kind)
    known = {f.name: f for f in fields(kind)}
    if unknown := sorted(set(given) - set(known)):
        raise UsageError(
            f"{where} has no field {unknown[0]!r}.", hint=f"It has: {', '.join(known)}."
        )
    required = [name for name, f in known.items() if f.required]
    if missing := [name for name in required if name not in given]:
        raise UsageError(f"{where} needs the field {missing[0]!r}.")
    return kind(**{n: _decode(hints[n], v, where=f"{where}.{n}") for n, v in given.items()})


def _decode(hint: object, value: object, *, where: str) -> object:
    if type(value) in _PLAIN and isinstance(hint, type) and type(value) is hint:
        return value
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if value is None and type(None) in args:
            return None
        return _decode(next(a for a in args if a is not type(None)), value, where=where)
    if origin is Literal:
        if value not in args:
            raise UsageError(f"{where} must be one of: {', '.join(map(str, args))}.")
        return value
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise UsageError(f"{where} must be a list.")
        items = cast("list[object]", value)
        return tuple(_decode(args[0], item, where=f"{where}[{i}]") for i, item in enumerate(items))
    if origin is dict:
        if not isinstance(value, dict):
            raise UsageError(f"{where} must be an object.")
        return cast("dict[str, object]", value)
    if isinstance(hint, type) and is_record(hint):
        return _decode_record(cast("type[object]", hint), value, where=where)
    return _decode_scalar(hint, value, where=where)


def _decode_scalar(hint: object, value: object, *, where: str) -> object:
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise UsageError(f"{where} must be a finite number.")
        return float(value)
    if (
        isinstance(hint, type)
        and isinstance(value, hint)
        and (hint is bool or not isinstance(value, bool))
    ):
        return value
    name = hint.__name__ if isinstance(hint, type) else str(hint)
    raise UsageError(f"{where} must be {name}, not {type(value).__name__}.")
