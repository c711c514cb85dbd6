"""Records to and from JSON, checked field by field.

The annotations of a record are its schema: `record_from_json` accepts exactly those fields with
exactly those types and names what does not fit. Invariant: `record_from_json(type(r),
record_to_json(r)) == r`. Knows nothing of particular records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin

from wellkept.core.clock import format_moment, parse_moment
from wellkept.core.errors import UsageError
from wellkept.core.records import Field, field_types, fields, is_record, record, replace

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
TextFilter: TypeAlias = Callable[[str, str], str]
"""Changes a text while it is read, e.g. to redact it: field name and text to text."""


@record
class Payload:
    """Base of the typed part of a memory."""


_Record = TypeVar("_Record")
_PLAIN: frozenset[object] = frozenset({str, int, bool, type(None)})


# -- Writing --------------------------------------------------------------------------------------


def record_to_json(value: object) -> dict[str, Json]:
    """A record as plain JSON, defaults included."""
    return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}


def to_json(value: Any) -> Json:
    """A value of a record's field as plain JSON."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, tuple):
        return [to_json(item) for item in cast("tuple[Any, ...]", value)]
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, datetime):
        return format_moment(value)
    return record_to_json(value) if is_record(value) else value


# -- Reading --------------------------------------------------------------------------------------


def record_from_json(
    kind: type[_Record],
    data: Mapping[str, Json],
    *,
    where: str | None = None,
    text: TextFilter | None = None,
) -> _Record:
    """Build a record from JSON; a UsageError names the field that does not fit.

    `where` begins the names of fields in errors; the default is the name of the class.
    """
    return _read_record(kind, data, where=kind.__name__ if where is None else where, text=text)


@record
class _Shape:
    """What an annotation allows. Worked out once for each annotation."""

    form: Literal["scalar", "list", "record", "choice", "enum", "object"]
    inner: Any
    optional: bool = False


@record
class _Schema:
    known: Mapping[str, Field]
    required: tuple[str, ...]
    shapes: Mapping[str, _Shape]


@cache
def _schema(kind: type[object]) -> _Schema:
    known = {f.name: f for f in fields(kind)}
    required = tuple(name for name, f in known.items() if f.required)
    return _Schema(known, required, {n: _shape(hint) for n, hint in field_types(kind).items()})


@cache
def _shape(hint: Any) -> _Shape:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        shape = _shape(next(a for a in args if a is not type(None)))
        return replace(shape, optional=type(None) in args)
    if origin is Literal:
        return _Shape("choice", args)
    if origin is tuple:
        return _Shape("list", _shape(args[0]))
    if origin is dict:
        return _Shape("object", hint)
    if is_record(hint):
        return _Shape("record", hint)
    return _Shape(
        "enum" if isinstance(hint, type) and issubclass(hint, StrEnum) else "scalar", hint
    )


def _read_record(
    kind: type[_Record], data: object, *, where: str, text: TextFilter | None
) -> _Record:
    if not isinstance(data, Mapping):
        raise UsageError(f"{where or 'A record'} must be an object, not {type(data).__name__}.")
    given, schema = cast("Mapping[str, object]", data), _schema(kind)
    for name in given:
        if name not in schema.known:
            raise UsageError(
                f"{where or kind.__name__} has no field {name!r}.",
                hint=f"It has: {', '.join(schema.known)}.",
            )
    for name in schema.required:
        if name not in given:
            raise UsageError(f"{where or kind.__name__} needs the field {name!r}.")
    prefix = f"{where}." if where else ""
    return kind(
        **{
            name: _read(schema.shapes[name], value, name, where=prefix + name, text=text)
            for name, value in given.items()
        }
    )


def _read(
    shape: _Shape, value: object, name: str, *, where: str, text: TextFilter | None
) -> object:
    if value is None and shape.optional:
        return None
    match shape.form:
        case "scalar":
            found = _read_scalar(shape.inner, value, where=where)
            return text(name, found) if text and isinstance(found, str) else found
        case "list":
            if not isinstance(value, (list, tuple)):
                raise UsageError(f"{where} must be a list, not {type(value).__name__}.")
            items = enumerate(cast("list[object]", value))
            return tuple(
                _read(shape.inner, item, name, where=f"{where}[{i}]", text=text)
                for i, item in items
            )
        case "record":
            return _read_record(shape.inner, value, where=where, text=text)
        case "choice":
            if value not in shape.inner:
                raise UsageError(f"{where} must be one of: {', '.join(map(str, shape.inner))}.")
            return value
        case "enum":
            return _read_enum(shape.inner, value, where=where)
        case "object":
            if not isinstance(value, dict):
                raise UsageError(f"{where} must be an object.")
            return cast("dict[str, object]", value)


def _read_scalar(hint: Any, value: Any, *, where: str) -> object:
    if type(value) is hint and hint is not float:
        return value
    if hint is float and type(value) in (int, float):
        return finite(value, where=where)
    if hint is datetime and isinstance(value, str):
        return parse_moment(value)
    if isinstance(hint, type) and isinstance(value, hint) and not isinstance(value, bool):
        return cast("object", value)
    expected = hint.__name__ if isinstance(hint, type) else str(hint)
    raise UsageError(f"{where} must be {expected}, not {type(value).__name__}.")


def _read_enum(kind: type[StrEnum], value: object, *, where: str) -> StrEnum:
    from wellkept.core.types import MemoryType, parse_choice, parse_type

    if not isinstance(value, str):
        raise UsageError(f"{where} must be text, not {type(value).__name__}.")
    return parse_type(value) if kind is MemoryType else parse_choice(kind, value, what=where)


def finite(value: float, *, where: str) -> float:
    """The value as a float; UsageError for NaN, infinity and numbers too large for one."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise UsageError(f"{where} must be a finite number.")
    return number
