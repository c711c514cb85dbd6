"""A memory as one JSON object and back, exactly.

The fields are those of `Memory`, read from its annotations, so a new field needs no change here.
Invariant: `memory_from_json(memory_to_json(m)) == m` for every memory that may be stored. Reading
is strict: an unknown field, a wrong type or a number out of range is refused by name, because
what is dropped silently is lost. Knows nothing of files or stores.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from wellkept.core.clock import parse_moment
from wellkept.core.codec import Json, Payload, payload_from_json, payload_to_json
from wellkept.core.errors import UsageError
from wellkept.core.ids import is_full_id
from wellkept.core.memory import MAX_CONTENT_CHARS, Memory, Relation
from wellkept.core.records import fields, is_record, record, replace
from wellkept.core.text import clean
from wellkept.core.types import TYPE_RULES, MemoryType, parse_choice, parse_type

Purge = Callable[[str], str]
"""What is done to every free text of a record on its way in, e.g. redaction."""

_MAX_COUNT = 2**53
_SHARES = ("importance", "confidence")
_COUNTS = ("seq", "access_count", "work_tokens")
# Times that follow from the creation when a record made elsewhere leaves them out.
_CREATION_TIMES = ("updated_at", "valid_from", "accessed_at")
# Names of things, not text: these must arrive as they are, or links would break.
_NAMES = frozenset({"id", "superseded_by", "target_id"})
_Record = TypeVar("_Record")


def memory_to_json(memory: Memory) -> dict[str, Json]:
    """Every field of a memory as plain JSON."""
    return {field.name: _encode(getattr(memory, field.name)) for field in fields(memory)}


def memory_from_json(data: Mapping[str, Json], *, purge: Purge = clean) -> Memory:
    """The memory that a JSON object describes; UsageError says what does not fit."""
    record = dict(data)
    for name in _CREATION_TIMES:
        record.setdefault(name, record.get("created_at"))
    payload = record.pop("payload", None)
    memory = _decode_record(Memory, record, where="", purge=purge)
    memory = replace(memory, payload=_payload(memory.type, payload, purge=purge))
    _require_sound(memory)
    return memory


def moment_to_json(moment: datetime) -> str:
    """A moment in UTC with milliseconds, always of the same length."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_json(text: str) -> Json:
    """Read JSON as the standard has it: no NaN, no endless nesting; UsageError says what is bad."""
    try:
        return cast("Json", json.loads(text, parse_constant=_no_constant))
    except RecursionError:
        raise UsageError("The JSON is nested too deeply.") from None
    except ValueError as error:
        raise UsageError(f"This is not JSON: {error}.") from None


def _no_constant(name: str) -> object:
    raise UsageError(f"{name} is not a number that can be kept.")


# -- Writing --------------------------------------------------------------------------------------


def _encode(value: object) -> Json:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, datetime):
        return moment_to_json(value)
    if isinstance(value, tuple):
        return [_encode(item) for item in cast("tuple[object, ...]", value)]
    if isinstance(value, Payload):
        return payload_to_json(value)
    if is_record(value):
        return {field.name: _encode(getattr(value, field.name)) for field in fields(value)}
    return cast("Json", value)


# -- Reading --------------------------------------------------------------------------------------


@cache
def _hints(kind: type[object]) -> dict[str, object]:
    return cast("dict[str, object]", get_type_hints(kind))


def _decode_record(kind: type[_Record], data: object, *, where: str, purge: Purge) -> _Record:
    if not isinstance(data, Mapping):
        raise UsageError(f"{where or 'A record'} must be an object, not {type(data).__name__}.")
    given = cast("Mapping[str, object]", data)
    known = {field.name: field for field in fields(kind)}
    if unknown := sorted(set(given) - set(known)):
        raise UsageError(f"Unknown field {where + unknown[0]!r}.")
    for name, field in known.items():
        if name not in given and field.required:
            raise UsageError(f"The field {where + name!r} is missing.")
    hints = _hints(kind)
    values = {
        name: _decode(hints[name], value, where=where + name, purge=_keep(name, purge))
        for name, value in given.items()
    }
    return kind(**values)


def _keep(name: str, purge: Purge) -> Purge:
    return clean if name in _NAMES else purge


def _decode(hint: object, value: object, *, where: str, purge: Purge) -> object:
    shape = _shape(hint)
    if value is None and shape.optional:
        return None
    if shape.form == "list":
        if not isinstance(value, list):
            raise _misfit(where, "a list", value)
        items = cast("list[object]", value)
        return tuple(_decode(shape.inner, item, where=f"{where}[]", purge=purge) for item in items)
    if shape.form == "record":
        kind = cast("type[object]", shape.inner)
        return _decode_record(kind, value, where=f"{where}.", purge=purge)
    return _decode_scalar(shape.inner, value, where=where, purge=purge)


@record
class _Shape:
    """What an annotation asks for; worked out once, for there are many records."""

    form: Literal["list", "record", "scalar"]
    inner: object
    optional: bool = False


@cache
def _shape(hint: object) -> _Shape:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return replace(_shape(args[0]), optional=True)
    if origin is tuple:
        return _Shape("list", args[0])
    if isinstance(hint, type) and is_record(hint):
        return _Shape("record", cast("object", hint))
    return _Shape("scalar", cast("object", hint))


def _decode_scalar(hint: object, value: object, *, where: str, purge: Purge) -> object:
    match value:
        case bool() if hint is bool:
            return value
        case str() if hint is str:
            return purge(clean(value))
        case str() if hint is datetime:
            return _moment(value, where=where)
        case str() if hint is MemoryType:
            return parse_type(value)
        case str() if isinstance(hint, type) and issubclass(hint, StrEnum):
            return parse_choice(hint, value, what=where)
        case int() if hint is int and not isinstance(value, bool):
            return value
        case int() | float() if hint is float and not isinstance(value, bool):
            return _number(value, where=where)
        case _:
            name = hint.__name__ if isinstance(hint, type) else str(hint)
            raise _misfit(where, name, value)


def _moment(text: str, *, where: str) -> datetime:
    try:
        return parse_moment(text)
    except OverflowError:
        raise UsageError(f"{where}: the time {text!r} is out of range.") from None


def _number(value: float, *, where: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise UsageError(f"{where} must be a finite number.")
    return number


def _misfit(where: str, wanted: str, value: object) -> UsageError:
    return UsageError(f"{where} must be {wanted}, not {type(value).__name__}.")


def _payload(type: MemoryType, data: Json, *, purge: Purge) -> Payload | None:
    rule = TYPE_RULES[type]
    if data is None:
        if rule.payload_required:
            raise UsageError(f"A memory of type {type.value} needs a payload.")
        return None
    if rule.payload is None:
        raise UsageError(f"A memory of type {type.value} takes no payload.")
    if not isinstance(data, dict):
        raise UsageError("payload must be an object.")
    try:
        kept = {name: _purged(value, purge=purge) for name, value in data.items()}
    except RecursionError:
        raise UsageError("The payload is nested too deeply.") from None
    return payload_from_json(rule.payload, kept)


def _purged(value: Json, *, purge: Purge) -> Json:
    if isinstance(value, str):
        return purge(clean(value))
    if isinstance(value, list):
        return [_purged(item, purge=purge) for item in value]
    if isinstance(value, dict):
        return {clean(key): _purged(item, purge=purge) for key, item in value.items()}
    if isinstance(value, float):
        return _number(value, where="payload")
    return value


# -- Soundness ------------------------------------------------------------------------------------


def _require_sound(memory: Memory) -> None:
    """Refuse what no memory can be, whatever file it came from."""
    for name in _SHARES:
        _require_share(getattr(memory, name), where=name)
    for name in _COUNTS:
        count = getattr(memory, name)
        if count is not None and not 0 <= count < _MAX_COUNT:
            raise UsageError(f"{name} is out of range: {count}.")
    if memory.half_life_days is not None and memory.half_life_days <= 0:
        raise UsageError(f"A half-life of {memory.half_life_days} days makes no sense.")
    if memory.valid_to is not None and memory.valid_to < memory.valid_from:
        raise UsageError("valid_to lies before valid_from.")
    if memory.key == "" or not memory.project.strip():
        raise UsageError("key and project may not be empty text.")
    _require_content(memory.content)
    for name in (memory.id, memory.superseded_by):
        if name is not None and not is_full_id(name):
            raise UsageError(f"{name!r} is not a memory id.")
    for relation in memory.relations:
        _require_relation(relation)


def _require_content(content: str) -> None:
    if not content.strip():
        raise UsageError("The content is empty.")
    if len(content) > MAX_CONTENT_CHARS:
        raise UsageError(
            f"The content has {len(content):,} characters; at most {MAX_CONTENT_CHARS:,} fit."
        )


def _require_share(value: float, *, where: str) -> None:
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{where} must lie between 0 and 1, not {value}.")


def _require_relation(relation: Relation) -> None:
    if (relation.target_id is None) == (relation.target_file is None):
        raise UsageError("A relation points either to a memory or to a file.")
    if relation.target_id is not None and not is_full_id(relation.target_id):
        raise UsageError(f"{relation.target_id!r} is not a memory id.")
    _require_share(relation.confidence, where="relations.confidence")
