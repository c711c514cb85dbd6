"""The text model is asked one at a time, within a daily limit, and left alone after failures."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.model_store.store import ModelStore
from wellkept.api.wiring.guarded_model import (
    DailyUsage,
    GuardedModel,
    QueryModel,
    clear_wait,
    daily_usage,
    model_state,
)
from wellkept.core.errors import ProviderCause, ProviderError
from wellkept.core.file_locks import lock, open_lock
from wellkept.core.ports.models import ChatAnswer
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("C8", "C10")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


class Chat:
    """A chat model that fails with a cause while it has one."""

    model_id = "claude/haiku"

    def __init__(self) -> None:
        self.cause: ProviderCause | None = None
        self.login = "first"
        self.calls = 0
        self.answer = ChatAnswer("Yes.", 100, 5)

    def ask(self, prompt: str, *, max_tokens: int) -> ChatAnswer:
        self.calls += 1
        if self.cause:
            raise ProviderError("It failed.", cause=self.cause)
        return self.answer


class Guarded:
    """A guarded chat model with a clock to turn."""

    def __init__(self, folder: Path) -> None:
        self.chat = Chat()
        self.clock = ManualClock(START)
        self.store = ModelStore()
        self.folder = folder

    def ask(self, *, daily_calls: int = 100, prompt: str = "Why?", **environment: str) -> str:
        """Ask as a new process would."""
        model = GuardedModel(
            self.chat,
            store=self.store,
            folder=self.folder,
            clock=self.clock,
            daily_calls=daily_calls,
            count_tokens=len,
            environment=environment,
        )
        return model.complete(prompt, max_tokens=10)

    def cause(self, **options: int) -> ProviderCause:
        """The cause of a failure."""
        with pytest.raises(ProviderError) as caught:
            self.ask(**options)  # type: ignore[arg-type]
        return caught.value.cause


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    return Guarded(tmp_path / "model")


def test_calls_and_tokens_of_a_day_are_counted_and_limited(guarded: Guarded) -> None:
    assert [guarded.ask(daily_calls=2) for _ in range(2)] == ["Yes.", "Yes."]
    assert guarded.cause(daily_calls=2) == "wait"
    assert daily_usage(guarded.store, now=START) == DailyUsage(2, 200, 10)
    guarded.clock.advance(days=1)
    assert guarded.ask(daily_calls=2) == "Yes."
    assert guarded.chat.calls == 3


def test_a_model_that_tells_no_cost_is_estimated(guarded: Guarded) -> None:
    guarded.chat.answer = ChatAnswer("Yes.", 0, None)
    guarded.ask(prompt="1234567")
    assert daily_usage(guarded.store, now=START) == DailyUsage(1, 7, 4)


def test_only_one_process_asks_at_a_time(guarded: Guarded) -> None:
    with open_lock(guarded.folder, "text model") as held:
        assert lock(held)
        assert guarded.cause() == "wait"
    assert guarded.chat.calls == 0
    assert guarded.ask() == "Yes."


def test_after_failures_it_waits_twice_as_long_each_time(guarded: Guarded) -> None:
    guarded.chat.cause = "busy"
    for minutes in (15, 30, 60):
        assert guarded.cause() == "busy"
        guarded.clock.advance(seconds=60 * (minutes - 1))
        assert guarded.cause() == "wait"
        guarded.clock.advance(seconds=60)
    guarded.chat.cause = None
    assert guarded.ask() == "Yes."
    assert guarded.chat.calls == 4
    assert model_state(guarded.store, "claude/haiku").failures == 0


def test_a_refused_login_is_not_tried_again_until_it_changes(guarded: Guarded) -> None:
    guarded.chat.cause = "login"
    assert guarded.cause() == "login"
    guarded.clock.advance(hours=23)
    assert guarded.cause() == "wait"
    guarded.chat.login, guarded.chat.cause = "second", None
    assert guarded.ask() == "Yes."


def test_one_answer_without_sense_may_be_chance_two_are_not(guarded: Guarded) -> None:
    guarded.chat.cause = "answer"
    assert [guarded.cause(), guarded.cause(), guarded.cause()] == ["answer", "answer", "wait"]
    clear_wait(guarded.store, "claude/haiku")
    guarded.chat.cause = None
    assert guarded.ask() == "Yes."


def test_a_prompt_that_grew_on_its_way_is_noticed(guarded: Guarded) -> None:
    guarded.ask()
    assert model_state(guarded.store, "claude/haiku").drift is None
    guarded.chat.answer = ChatAnswer("Yes.", 12_000, 5)
    guarded.ask()
    assert "12,000" in str(model_state(guarded.store, "claude/haiku").drift)
    # What it took beyond what was spent for it counts against the day's tokens.
    spent = guarded.store.get_value("summary_tokens", "2026-03-01")
    assert spent == (105 - 4 - 10) + (12_005 - 4 - 10)


def test_inside_a_call_of_its_own_nothing_is_asked(guarded: Guarded) -> None:
    with pytest.raises(ProviderError) as caught:
        guarded.ask(WELLKEPT_SELF="1")
    assert caught.value.cause == "wait"
    assert guarded.chat.calls == 0


def test_a_search_does_not_wait_for_a_model_that_failed_lately(guarded: Guarded) -> None:
    query = QueryModel(guarded.chat, store=guarded.store, clock=guarded.clock)
    assert query.complete("Why?", max_tokens=5) == "Yes."
    guarded.chat.cause = "busy"
    assert guarded.cause() == "busy"
    with pytest.raises(ProviderError) as caught:
        query.complete("Why?", max_tokens=5)
    assert caught.value.cause == "wait"


def test_a_state_of_another_version_is_no_obstacle(guarded: Guarded) -> None:
    ask: Callable[[], str] = guarded.ask
    guarded.store.put_value("text_model", "claude/haiku", {"unknown": 1})
    guarded.store.put_value("text_model_usage", "2026-03-01", "nonsense")
    assert ask() == "Yes."
