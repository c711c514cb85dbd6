"""Editing JSON that people write: only what must change does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.clients.install import jsonc
from wellkept.clients.install.jsonc import Json, JsonNode, ParseError

pytestmark = pytest.mark.feature("C4")

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab é"\\/*\n', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab/*", max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
_GAPS = st.sampled_from(["", " ", "\n", "\r\n  ", "\n\t", "/*C}*/", '//C] "\n', " \n //C]\n  "])


@st.composite
def _documents(draw: st.DrawFn, value: Json | None = None, *, depth: int = 0) -> str:
    """A value as somebody might write it: odd spacing, comments, trailing commas."""
    value = draw(_VALUES) if depth == 0 else value
    gap = draw(_GAPS)
    if isinstance(value, list):
        parts = [draw(_documents(item, depth=depth + 1)) for item in value]
        return _joined(draw, "[", parts, "]", gap)
    if isinstance(value, dict):
        parts = [
            f"{draw(_GAPS)}{json.dumps(key)}{draw(_GAPS)}:{draw(_documents(item, depth=depth + 1))}"
            for key, item in value.items()
        ]
        return _joined(draw, "{", parts, "}", gap)
    return f"{gap}{json.dumps(value)}{draw(_GAPS)}"


def _joined(draw: st.DrawFn, opening: str, parts: list[str], closing: str, gap: str) -> str:
    comma = "," if parts and draw(st.booleans()) else ""
    return f"{gap}{opening}{','.join(parts)}{comma}{draw(_GAPS)}{closing}{draw(_GAPS)}"


def _comments(text: str) -> tuple[int, int]:
    return text.count("/*C}*/"), text.count("//C]")


def _containers(node: JsonNode) -> list[JsonNode]:
    inside = [found for child in node.children for found in _containers(child.node)]
    return inside if node.kind == "scalar" else [node, *inside]


@given(_VALUES)
def test_plain_json_is_read_as_python_reads_it(value: Json) -> None:
    for indent in (None, 2):
        assert jsonc.to_python(jsonc.parse(json.dumps(value, indent=indent))) == value


@given(_documents(), _VALUES, st.data())
def test_an_entry_that_is_added_and_taken_out_again_leaves_all_as_it_was(
    text: str, value: Json, data: st.DataObject
) -> None:
    root = jsonc.parse(text)
    containers = _containers(root)
    if not containers:
        return
    place = data.draw(st.integers(0, len(containers) - 1))
    node = containers[place]
    added = (
        jsonc.with_item(text, node, value)
        if node.kind == "array"
        else jsonc.with_member(text, node, "new", value)
    )
    grown = _containers(jsonc.parse(added))[place]
    assert jsonc.to_python(grown.children[-1].node) == value
    assert _comments(added) == _comments(text)
    removed = jsonc.without(added, grown, grown.children[-1])
    assert jsonc.to_python(jsonc.parse(removed)) == jsonc.to_python(root)
    assert _comments(removed) == _comments(text)


@given(_documents(), st.data())
def test_any_entry_can_be_taken_out(text: str, data: st.DataObject) -> None:
    nodes = [node for node in _containers(jsonc.parse(text)) if node.children]
    if not nodes:
        return
    node = data.draw(st.sampled_from(nodes))
    child = data.draw(st.sampled_from(node.children))
    place = _containers(jsonc.parse(text)).index(node)
    after = _containers(jsonc.parse(jsonc.without(text, node, child)))[place]
    left = [c for c in node.children if c is not child]
    assert [(c.key, jsonc.to_python(c.node)) for c in after.children] == [
        (c.key, jsonc.to_python(c.node)) for c in left
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "k": 1\n}'),
        ('{"a": 1}', '{"a": 1,\n  "k": 1\n}'),
        ('{\n    "a": 1\n}\n', '{\n    "a": 1,\n    "k": 1\n}\n'),
        ('{\n\t"a": 1, // why\n}\n', '{\n\t"a": 1, // why\n\t"k": 1,\n}\n'),
        ('{\n  "a": 1 // why\n}\n', '{\n  "a": 1, // why\n  "k": 1\n}\n'),
        ('{\r\n  "a": 1\r\n}\r\n', '{\r\n  "a": 1,\r\n  "k": 1\r\n}\r\n'),
        ("{ /* none yet */ }", '{ /* none yet */\n  "k": 1\n}'),
    ],
)
def test_a_member_is_added_in_the_style_of_the_file(before: str, after: str) -> None:
    assert jsonc.with_member(before, jsonc.parse(before), "k", 1) == after


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "line 1, column 1"),
        ("{", "line 1, column 2"),
        ('{"a": 1 "b": 2}', "line 1, column 9"),
        ('{\n  "a": tru\n}', "line 2, column 8"),
        ("[1,,2]", "line 1, column 4"),
        ("{a: 1}", "line 1, column 2"),
        ('{"a" 1}', "line 1, column 6"),
        ("[1] x", "line 1, column 5"),
        ('["a\nb"]', "line 1, column 2"),
        ('["\\q"]', "line 1, column 2"),
        ("[,]", "line 1, column 2"),
        ("[" * 1000, "nested too deeply"),
        ("/* open", "line 1, column 1"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: str, where: str) -> None:
    with pytest.raises(ParseError, match=where):
        jsonc.parse(text)


def test_of_equal_keys_the_last_one_counts() -> None:
    root = jsonc.parse('{"a": 1, "a": 2}')
    found = jsonc.member(root, "a")
    assert jsonc.to_python(root) == {"a": 2}
    assert found is not None
    assert jsonc.to_python(found.node) == 2
