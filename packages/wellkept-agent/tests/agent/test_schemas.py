"""Schemas that every provider takes (G3): written out, flattened, bounded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept_agent.tools.schemas import sanitised

pytestmark = pytest.mark.feature("G3")


def test_references_are_written_out_and_descriptions_of_the_schema_go() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "x",
        "title": "Move",
        "type": "object",
        "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        "properties": {
            "to": {"$ref": "#/$defs/Point", "description": "Where to."},
            "by": {"$ref": "#/definitions/Way"},
            "mode": {"const": "fast"},
        },
        "definitions": {"Way": {"enum": ["air", "sea"]}},
        "required": ["to"],
    }
    assert sanitised(schema) == {
        "type": "object",
        "properties": {
            "to": {
                "type": "object",
                "properties": {"x": {"type": "integer"}},
                "description": "Where to.",
            },
            "by": {"enum": ["air", "sea"]},
            "mode": {"enum": ["fast"]},
        },
        "required": ["to"],
    }


_ODD: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": ["string", "null"]}),
    (
        {"anyOf": [{"enum": ["a"], "type": "string"}, {"type": "null"}], "default": None},
        {"enum": ["a", None], "type": ["string", "null"]},
    ),
    (
        {"anyOf": [{"anyOf": [{"items": {}}, {"enum": [1]}]}, {"type": "null"}]},
        {"anyOf": [{"anyOf": [{"items": {}}, {"enum": [1]}]}, {"type": "null"}]},
    ),
    (
        {"oneOf": [{"type": "string"}, {"type": "integer"}], "default": 1},
        {"type": ["string", "integer"], "default": 1},
    ),
    (
        {"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]},
        {"properties": {"b": {}, "a": {}}, "required": ["a"]},
    ),
    ({"anyOf": []}, {}),
    ({"anyOf": "nonsense", "type": "string"}, {"type": "string"}),
    ({"type": "array", "items": [{"type": "string"}]}, {"type": "array"}),
    ({"properties": 3, "required": "x"}, {"properties": {}}),
    ({"if": {}, "then": {}, "patternProperties": {}, "type": "object"}, {"type": "object"}),
]


@pytest.mark.parametrize(("schema", "expected"), _ODD)
def test_unions_and_oddities_become_plain(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    inner = sanitised({"type": "object", "properties": {"p": schema}})["properties"]["p"]
    assert inner == expected


def test_a_schema_inside_itself_ends() -> None:
    tree = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}
    found = sanitised({"$ref": "#/$defs/Tree", "$defs": {"Tree": tree}})
    assert found["properties"]["child"] == {"type": "object"}


def test_a_schema_that_grows_without_end_is_bounded() -> None:
    """Each level refers ten times to the next: written out it would have 10^12 parts."""
    levels = {
        f"l{n}": {
            "type": "object",
            "properties": {f"p{i}": {"$ref": f"#/$defs/l{n + 1}"} for i in range(10)},
        }
        for n in range(13)
    }
    assert len(json.dumps(sanitised({"$ref": "#/$defs/l0", "$defs": levels}))) < 500_000


def test_names_that_a_provider_refuses_are_left_out() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"fine": {}, "größe": {}, "a b": {}, "x" * 65: {}, "": {}},
        "required": ["fine", "größe"],
    }
    assert sanitised(schema) == {
        "type": "object",
        "properties": {"fine": {}},
        "required": ["fine"],
    }


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "anyOf", "allOf", "$ref", "$defs", "required", "a"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "$defs", "$ref", "anyOf"]), _JSON))
def test_whatever_a_server_sends_becomes_an_object_schema(schema: dict[str, Any]) -> None:
    found = sanitised(schema)
    assert found["type"] == "object"
    assert isinstance(found["properties"], dict)
    assert "$ref" not in found
    json.dumps(found)
