"""State lives as long as its prefix says."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.workshop import PROJECT, Workshop
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.memory.state import (
    MAX_VALUE_BYTES,
    State,
    StateScope,
    checked_json,
    forget_old_sessions,
)

pytestmark = pytest.mark.feature("A9")


def state_of(shop: Workshop, session_id: str | None = "s1", project: str = PROJECT) -> State:
    return State(shop.engine, project=project, session_id=session_id)


def test_temporary_state_ends_with_the_round_and_nothing_else_does(shop: Workshop) -> None:
    state = state_of(shop)
    for key in ("temp:file", "session:file", "project:file"):
        state.put(key, "a.py")
    state.end_round()
    assert state.get("temp:file") is None
    assert state.get("session:file") == "a.py"
    assert state.get("project:file") == "a.py"


def test_session_state_ends_with_the_session_and_is_handed_back(shop: Workshop) -> None:
    state = state_of(shop)
    state.put("temp:n", 1)
    state.put("session:found", ["cache", "cold"])
    state.put("project:style", {"indent": 4})
    assert state.end_session() == {"session:found": ["cache", "cold"]}
    assert state.get("temp:n") is None
    assert state.get("session:found") is None
    assert state.get("project:style") == {"indent": 4}


def test_session_state_outlives_the_process_but_not_its_session(shop: Workshop) -> None:
    state_of(shop).put("session:found", "cache")
    assert state_of(shop).get("session:found") == "cache"
    assert state_of(shop, "s2").get("session:found") is None
    state_of(shop, "s2").put("session:found", "other")
    state_of(shop, "s2").end_session()
    assert state_of(shop).get("session:found") == "cache"


def test_project_state_is_durable_at_once_and_seen_by_every_process(shop: Workshop) -> None:
    state_of(shop).put("project:style", "tabs")
    beside = State(shop.beside(), project=PROJECT)
    assert beside.get("project:style") == "tabs"


def test_projects_and_sessions_with_awkward_names_do_not_mix(shop: Workshop) -> None:
    state_of(shop, "b/c", "a").put("session:x", 1)
    assert state_of(shop, "c", "a/b").get("session:x") is None
    state_of(shop, project="a").put("project:x", 1)
    assert state_of(shop, project="a%2F").get("project:x") is None


def test_what_was_put_in_cannot_be_changed_from_outside(shop: Workshop) -> None:
    state, value = state_of(shop), cast("list[Json]", [1])
    state.put("temp:list", value)
    value.append(2)
    cast("list[Json]", state.get("temp:list")).append(3)
    assert state.get("temp:list") == [1]


def test_values_can_be_listed_replaced_and_removed(shop: Workshop) -> None:
    state = state_of(shop)
    for scope in StateScope:
        state.put(f"{scope.prefix}b", 1)
        state.put(f"{scope.prefix}a", 1)
        state.put(f"{scope.prefix}a", 2)
        assert list(state.items(scope).items()) == [(f"{scope}:a", 2), (f"{scope}:b", 1)]
        state.remove(f"{scope.prefix}a")
        state.remove(f"{scope.prefix}never-there")
        assert state.get(f"{scope.prefix}a", "default") == "default"


@pytest.mark.parametrize("key", ["file", "user:x", "", ":x", "TEMP:x", "tempo:x"])
def test_an_unknown_prefix_is_refused_with_the_three_there_are(shop: Workshop, key: str) -> None:
    with pytest.raises(UsageError, match=r"temp:, session:, project:"):
        state_of(shop).put(key, 1)
    with pytest.raises(UsageError):
        state_of(shop).get(key)


@pytest.mark.parametrize("key", ["temp:", "project:  ", "project:a\0b", "temp:" + "x" * 300])
def test_a_key_without_a_usable_name_is_refused(shop: Workshop, key: str) -> None:
    with pytest.raises(UsageError, match="cannot be used"):
        state_of(shop).put(key, 1)


def endless() -> list[object]:
    loop: list[object] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1, 2},
        b"bytes",
        float("nan"),
        float("inf"),
        (1, 2),
        {1: "one"},
        "\ud800",
        endless(),
    ],
    ids=["object", "set", "bytes", "nan", "infinity", "tuple", "number key", "surrogate", "loop"],
)
@pytest.mark.parametrize("prefix", ["temp:", "project:"])
def test_what_is_not_json_is_refused(shop: Workshop, prefix: str, value: object) -> None:
    state = state_of(shop)
    with pytest.raises(UsageError, match=f"{prefix}x"):
        state.put(f"{prefix}x", cast("Json", value))
    assert state.get(f"{prefix}x") is None


def test_a_value_that_is_too_large_is_refused_with_both_sizes(shop: Workshop) -> None:
    state = state_of(shop)
    state.put("project:x", "x" * (MAX_VALUE_BYTES - 2))
    with pytest.raises(UsageError, match=r"262,145 bytes; at most 262,144"):
        state.put("project:x", "x" * (MAX_VALUE_BYTES - 1))


def test_session_state_needs_a_session(shop: Workshop) -> None:
    state = state_of(shop, None)
    for call in (lambda: state.put("session:x", 1), lambda: state.get("session:x")):
        with pytest.raises(UsageError, match="no session"):
            call()
    state.put("project:x", 1)


def test_sessions_that_never_ended_are_forgotten_after_a_week(shop: Workshop) -> None:
    state_of(shop, "left").put("session:x", 1)
    active = state_of(shop, "active")
    active.put("session:x", 1)
    shop.clock.advance(days=5)
    active.put("session:y", 2)
    shop.clock.advance(days=3)
    assert forget_old_sessions(shop.engine, project=PROJECT, dry_run=True) == ["left"]
    assert state_of(shop, "left").get("session:x") == 1
    assert forget_old_sessions(shop.engine, project=PROJECT) == ["left"]
    assert state_of(shop, "left").get("session:x") is None
    assert active.get("session:x") == 1
    assert forget_old_sessions(shop.engine, project=PROJECT) == []


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@given(json_values)
def test_any_json_value_passes_and_comes_back_the_same(value: Json) -> None:
    assert json.loads(checked_json("temp:x", value)) == value
