"""Arguments and results as JSON Schema: for the OpenAPI document and the list of tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from enum import Enum
from inspect import getdoc
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, cast, get_args, get_origin, get_type_hints

from wellkept.api.server.requests import PROJECT_HEADER
from wellkept.api.verbs.as_json import shown_names
from wellkept.api.verbs.params import Param, names_of
from wellkept.core.codec import Payload
from wellkept.core.records import fields, is_record

_PLAIN: Final[dict[Any, dict[str, Any]]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    NoneType: {"type": "null"},
}
_FORMS: Final[dict[str, dict[str, Any]]] = {
    "text": {"type": "string"},
    "moment": {"type": "string"},
    "choice": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "object": {"type": "object"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "ints": {"type": "array", "items": {"type": "integer"}},
    "records": {"type": "array", "items": {"type": "object"}},
    "any": {},
}
PROJECT: Final = {
    "name": PROJECT_HEADER,
    "in": "header",
    "schema": {"type": "string"},
    "description": "The project by name, folder or identity, percent-encoded where it is not ASCII."
    " Default: the one that the server was started in.",
}
_BOUNDS: Final = {"array": ("minItems", "maxItems"), "string": ("minLength", "maxLength")}


def of_param(param: Param, parts: dict[str, Any] | None = None, *, lean: bool = False) -> Any:
    """An argument; `lean` without its limits, for models. `parts` collects records in it."""
    schema: dict[str, Any] = dict(_FORMS[param.kind.form])
    if param.kind.form == "choice":
        schema["enum"] = list(param.kind.of)
    if parts is not None and is_record(param.kind.of):
        inner = of_type(param.kind.of, parts)
        schema = {"type": "array", "items": inner} if param.kind.form == "records" else inner
    if param.arg.help:
        schema["description"] = param.arg.help
    default = param.default
    if isinstance(default, (str, int, float)) and default not in ("", False):
        schema["default"] = default
    if lean:
        return schema
    low, high = _BOUNDS.get(schema.get("type", ""), ("minimum", "maximum"))
    bounds = {low: param.arg.low, high: param.arg.high}
    return schema | {name: bound for name, bound in bounds.items() if bound is not None}


def of_params(params: Iterable[Param], parts: dict[str, Any]) -> dict[str, Any]:
    """Arguments as an object."""
    known = list(params)
    takes: dict[str, Any] = {
        "type": "object",
        "properties": {one.name: of_param(one, parts) for one in known},
        "additionalProperties": False,
    }
    required = [one.name for one in known if one.required]
    return {**takes, "required": required} if required else takes


def reference(name: str) -> dict[str, Any]:
    """A part of the document, by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def body(takes: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A body that `takes` describes, with these fields."""
    content = {"application/json": {"schema": takes}}
    return {"required": bool(fields.get("required")), "content": content}


def query(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The fields of an object as parameters of a query."""
    required = fields.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": one}
        for name, one in fields["properties"].items()
    ]


def of_type(hint: Any, parts: dict[str, Any]) -> dict[str, Any]:
    """A value of a result; `parts` collects the schemas of records by their names."""
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return {"anyOf": [of_type(one, parts) for one in args]}
    if origin is Literal:
        return {"type": "string", "enum": list(args)}
    if origin in (tuple, list, frozenset, set) or str(origin).endswith("Sequence'>"):
        return {"type": "array", "items": of_type(args[0], parts)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": of_type(args[1], parts)}
    if isinstance(hint, type):
        if issubclass(hint, Enum):
            values: list[Any] = [one.value for one in hint]
            return _named(hint, parts, lambda: {"type": "string", "enum": values})
        if issubclass(hint, Payload):
            return {"type": "object", "additionalProperties": True}
        if issubclass(hint, PurePath):
            return {"type": "string"}
        kind = cast("type[Any]", hint)
        if is_record(kind):
            return _named(kind, parts, lambda: _record(kind, parts))
    if is_record(origin):
        return _record(origin, parts, inner=args[0])
    return {}


def _named(kind: type[Any], parts: dict[str, Any], make: Any) -> dict[str, Any]:
    name = kind.__name__
    if name not in parts:
        parts[name] = {}
        parts[name].update({**make(), "description": " ".join((getdoc(kind) or "").split())})
    return reference(name)


def _record(kind: Any, parts: dict[str, Any], *, inner: Any = None) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for base in reversed(kind.__mro__[:-1]):
        names |= names_of(base.__module__)
    hints = get_type_hints(kind, names)
    own = {field.name for field in fields(kind)}
    properties: dict[str, Any] = {}
    for name in shown_names(kind):
        if name in own:
            hint = hints[name]
        else:
            hint = get_type_hints(getattr(kind, name).fget, names).get("return")
        properties[name] = of_type(_filled(hint, inner), parts)
    return {"type": "object", "properties": properties, "required": list(properties)}


def _filled(hint: Any, inner: Any) -> Any:
    """A hint with the type variable of a generic record filled in."""
    if inner is None or not getattr(hint, "__parameters__", ()):
        return hint
    return hint[inner]
