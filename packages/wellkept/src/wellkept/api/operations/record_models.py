"""Pydantic models derived from records, so that no field is written down twice.

    class RelationRecord(record_model(Relation)):
        "A typed link to another memory or to a file."

Pydantic needs the fields when a class is made, so the derived model is a base class. Knows no
routes.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, Self, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, PrivateAttr, create_model

from wellkept.api.operations.inputs import Model
from wellkept.api.operations.outputs import Output
from wellkept.core.codec import Payload, record_to_json
from wellkept.core.records import field_types, is_record


class RecordModel(Model):
    """A record of the library, field by field."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


def _payload(value: object) -> object:
    return record_to_json(value) if isinstance(value, Payload) else value


_PAYLOAD = Annotated[dict[str, Any] | None, BeforeValidator(_payload)]


def record_model(
    kind: type[object],
    *,
    models: Mapping[Any, type[BaseModel]] | None = None,
    leave_out: tuple[str, ...] = (),
    extra: Mapping[str, Any] | None = None,
) -> type[RecordModel]:
    """A model with the fields of a record, all required.

    `models` has the models of records inside it. `extra` adds properties of the record: name to
    `Field`, each a text, listed after the first field.
    """
    known: Mapping[Any, type[BaseModel]] = {} if models is None else models
    types = {n: t for n, t in field_types(kind).items() if n not in leave_out}
    fields = {name: (_model_type(hint, known), ...) for name, hint in types.items()}
    first, *rest = fields
    more: dict[str, Any] = {
        name: (bool if name == "closed" else str, about) for name, about in (extra or {}).items()
    }
    ordered: dict[str, Any] = {first: fields[first], **more, **{n: fields[n] for n in rest}}
    return create_model(f"{kind.__name__}Fields", __base__=RecordModel, **ordered)


def _model_type(hint: Any, models: Mapping[Any, type[BaseModel]]) -> Any:
    """The type of a field in a model: lists for tuples, models for records, JSON for payloads."""
    args = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        if Payload in args:
            return _PAYLOAD
        inner = [a for a in args if a is not type(None)]
        return _model_type(inner[0], models) | None if len(inner) == 1 else hint
    if get_origin(hint) is tuple:
        return list[_model_type(args[0], models)]
    return models[hint] if is_record(hint) else hint


@cache
def view_model(kind: type[object]) -> type[RecordModel]:
    """A model of a record and of the records inside it, named after them, all fields required.

    Memories and sessions are shown as everywhere else.
    """
    from wellkept.api.operations.records import SHOWN_RECORDS

    if kind in SHOWN_RECORDS:
        return SHOWN_RECORDS[kind]
    model = record_model(kind, models=_ViewModels())
    return create_model(f"{kind.__name__}Record", __base__=model, __doc__=inspect.getdoc(kind))


class _ViewModels(dict[Any, type[BaseModel]]):
    """Models of records, made when they are asked for."""

    def __missing__(self, kind: Any) -> type[BaseModel]:
        return view_model(kind)


class ViewOutput(Output):
    """An output that is one record of the library, and the same in words."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)
    _text: str = PrivateAttr(default="")

    @classmethod
    def of(cls, view: object, *, text: str) -> Self:
        """The output for a record."""
        made = cls.model_validate(view)
        made._text = text
        return made

    def text(self) -> str:
        return self._text


def output_model(kind: type[object]) -> type[ViewOutput]:
    """The output of an operation that answers with one record of the library."""
    fields: dict[str, Any] = {
        name: (info.annotation, info) for name, info in view_model(kind).model_fields.items()
    }
    return create_model(f"{kind.__name__}Fields", __base__=ViewOutput, **fields)
