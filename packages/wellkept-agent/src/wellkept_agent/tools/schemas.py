"""JSON schemas that every provider and model understands.

Pydantic and MCP servers write schemas with references, titles and unions that some providers
refuse and small models misread. `sanitised` writes references out, flattens what can be flattened,
and drops what only describes the schema. A schema may come from a stranger: its size, depth and
cycles are bounded, and what is malformed is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pydantic import BaseModel

_DROPPED = frozenset(
    """$schema $id $ref $defs definitions $comment $anchor $dynamicRef $dynamicAnchor $vocabulary
    title examples allOf not if then else dependentSchemas dependentRequired dependencies
    patternProperties propertyNames unevaluatedProperties unevaluatedItems contains prefixItems
    contentMediaType contentEncoding contentSchema readOnly writeOnly deprecated const
    """.split()
)
_UNTOLD = frozenset(
    "minimum maximum exclusiveMinimum minLength maxLength minItems maxItems".split()
)
_MAX_DEPTH = 12
_MAX_NODES = 2_000
_UNIONS = ("anyOf", "oneOf")
# Anthropic refuses a whole request for one property with another name.
_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@cache
def model_schema(kind: type[BaseModel]) -> Mapping[str, object]:
    """The schema of a pydantic model, sanitised, without what only its check needs to know."""
    return _told(sanitised(kind.model_json_schema()))


def _told(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of ours as short as it can be told: bounds and empty defaults are checked anyway."""
    kept = {k: v for k, v in schema.items() if k not in _UNTOLD and (v or k != "default")}
    if kept.get("additionalProperties") is False:
        del kept["additionalProperties"]
    if "properties" in kept:
        kept["properties"] = {name: _told(one) for name, one in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = _told(kept["items"])
    return kept


def sanitised(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without references and unions that can be written plainly; an object at the top."""
    roots = {**_table(schema.get("definitions")), **_table(schema.get("$defs"))}
    plain = _Flattening(roots).plain(schema, 0, ())
    if plain.get("type") != "object":
        plain = {"type": "object", "properties": plain.get("properties", {})}
    plain.setdefault("properties", {})
    return plain


class _Flattening:
    """One schema being flattened; counts how much is written."""

    def __init__(self, roots: Mapping[str, Any]) -> None:
        self._roots = roots
        self._nodes = 0

    def plain(self, schema: object, depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        """A part of the schema, written out. `inside` are the references that led here."""
        self._nodes += 1
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH or self._nodes > _MAX_NODES:
            return {}
        given = cast("Mapping[str, Any]", schema)
        reference = given.get("$ref")
        if isinstance(reference, str):
            return self._followed(given, reference, depth, inside)
        for one in _list(given.get("allOf")):
            given = _merged(given, self.plain(one, depth + 1, inside))
        for union in _UNIONS:
            if union in given:
                given = self._without_union(given, union, depth, inside)
        kept = {k: v for k, v in given.items() if k not in _DROPPED}
        if "const" in given:
            kept["enum"] = [given["const"]]
        self._write_inner(kept, depth, inside)
        return kept

    def _followed(
        self, given: Mapping[str, Any], reference: str, depth: int, inside: tuple[str, ...]
    ) -> dict[str, Any]:
        """What a reference points to; a schema inside itself ends there."""
        name = reference.rsplit("/", 1)[-1]
        if name in inside:
            return {"type": "object"}
        rest = {k: v for k, v in given.items() if k != "$ref"}
        target = {**_table(self._roots.get(name)), **rest}
        return self.plain(target, depth + 1, (*inside, name))

    def _write_inner(self, kept: dict[str, Any], depth: int, inside: tuple[str, ...]) -> None:
        """Write out the schemas of properties and items, and drop what is malformed."""
        if "properties" in kept:
            kept["properties"] = {
                name: self.plain(one, depth + 1, inside)
                for name, one in _table(kept["properties"]).items()
                if _PROPERTY.fullmatch(name)
            }
        if "required" in kept:
            known = kept.get("properties", {})
            names = [one for one in _list(kept["required"]) if isinstance(one, str)]
            kept["required"] = [one for one in dict.fromkeys(names) if one in known]
            if not kept["required"]:
                del kept["required"]
        for inner in ("items", "additionalProperties"):
            if isinstance(kept.get(inner), Mapping):
                kept[inner] = self.plain(kept[inner], depth + 1, inside)
            elif isinstance(kept.get(inner), list):
                del kept[inner]

    def _without_union(
        self, given: Mapping[str, Any], union: str, depth: int, inside: tuple[str, ...]
    ) -> dict[str, Any]:
        """Several plain types become a list of types, `X or null` too; other unions stay."""
        choices = [self.plain(one, depth + 1, inside) for one in _list(given[union])]
        real = [one for one in choices if one.get("type") != "null"]
        null = ["null"] if len(real) < len(choices) else []
        rest = {k: v for k, v in given.items() if k != union}
        if null and rest.get("default", 0) is None:
            del rest["default"]  # the same as leaving it out
        if not real:
            return rest
        if len(real) == 1 and (not null or isinstance(real[0].get("type"), str)):
            one = {**real[0], **rest}
            if null:
                one["type"] = [real[0]["type"], *null]
            if null and "enum" in one:
                one["enum"] = [*one["enum"], None]
            return one
        if all(set(one) == {"type"} and isinstance(one["type"], str) for one in real):
            return {**rest, "type": [one["type"] for one in real] + null}
        return {**rest, union: choices}


def _merged(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    """Both schemas at once: properties and required names add up."""
    merged = {**right, **left}
    properties = {**_table(right.get("properties")), **_table(left.get("properties"))}
    required = [*_list(right.get("required")), *_list(left.get("required"))]
    if properties:
        merged["properties"] = properties
    if required:
        merged["required"] = required
    return merged


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {}
    return {k: v for k, v in cast("Mapping[object, Any]", value).items() if isinstance(k, str)}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
