"""State scopes of a session (A9)."""

from __future__ import annotations

import pytest

from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept_agent.session import ScopedState

pytestmark = pytest.mark.feature("A9")


def test_temp_is_cleared_and_the_rest_stays() -> None:
    state = ScopedState()
    state.set("temp:current_file", "a.py")
    state.set("session:step", 2)
    state.clear_temp()
    assert state.get("temp:current_file") is None
    assert state.get("session:step") == 2


def test_project_values_are_handed_on_at_once_and_not_twice() -> None:
    kept: list[tuple[str, Json]] = []
    state = ScopedState(lambda key, value: kept.append((key, value)))
    state.set("project:user_prefers", "pnpm")
    state.set("project:user_prefers", "pnpm")
    state.set("session:other", "x")
    state.set("project:user_prefers", "bun")
    assert kept == [("user_prefers", "pnpm"), ("user_prefers", "bun")]
    assert state.project() == {"user_prefers": "bun"}


def test_findings_are_kept_in_order_and_once() -> None:
    state = ScopedState()
    for text in ("first", "second", "first", "  "):
        state.add_finding(text)
    assert state.findings() == ("first", "second")


@pytest.mark.parametrize("key", ["plain", "temp:", "user:x", ""])
def test_a_key_without_a_scope_is_refused(key: str) -> None:
    with pytest.raises(UsageError, match="no scope"):
        ScopedState().set(key, 1)


def test_a_resumed_session_has_its_values_and_persists_nothing_again() -> None:
    kept: list[str] = []
    first = ScopedState()
    first.set("session:a", 1)
    first.set("project:b", "x")
    first.set("temp:c", 3)
    second = ScopedState(lambda key, _: kept.append(key))
    second.restore(first.session())
    assert (second.get("session:a"), second.get("project:b"), second.get("temp:c")) == (
        1,
        "x",
        None,
    )
    assert kept == []
