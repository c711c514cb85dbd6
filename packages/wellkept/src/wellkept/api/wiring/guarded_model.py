"""A chat model with manners: one call at a time, a daily limit, and patience after failures.

After a limited, failing or silent server it waits a quarter of an hour, and twice as long each
time; after a refused login until the login changes, or a day. What was spent, and why it waits, is
in the store, so that all processes keep to it and `wellkept admin doctor` can tell.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from wellkept.core.codec import record_from_json, record_to_json
from wellkept.core.errors import ProviderCause, ProviderError, UsageError
from wellkept.core.file_locks import lock, open_lock
from wellkept.core.records import record, replace
from wellkept.memory.engine import charge_tokens

if TYPE_CHECKING:
    from wellkept.core.clock import Clock
    from wellkept.core.codec import Json
    from wellkept.core.ports.models import ChatAnswer, ChatModel
    from wellkept.core.ports.store import KeyValueStore

SELF_VARIABLE = "WELLKEPT_SELF"
_STATES, _USAGE = "text_model", "text_model_usage"
_LOCK = "text model"
_FIRST_WAIT = timedelta(minutes=15)
_LONGEST_WAIT = timedelta(days=1)
_DRIFT_TOKENS = 2_000
_T = TypeVar("_T")


@record
class ModelState:
    """How the last calls went. `not_before` is when to ask again; `drift` tells of a prompt that
    grew on its way to the model."""

    failures: int = 0
    not_before: str | None = None
    cause: str | None = None
    problem: str | None = None
    login: str | None = None
    last_success: str | None = None
    drift: str | None = None


@record
class DailyUsage:
    """Calls and tokens of one day."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def model_state(store: KeyValueStore, model_id: str) -> ModelState:
    """The stored state of a model."""
    return _loaded(ModelState, store.get_value(_STATES, model_id))


def daily_usage(store: KeyValueStore, *, now: datetime) -> DailyUsage:
    """What the text model took today."""
    return _loaded(DailyUsage, store.get_value(_USAGE, now.date().isoformat()))


def clear_wait(store: KeyValueStore, model_id: str) -> None:
    """Forget failures, so that the next call is made at once."""
    known = model_state(store, model_id)
    _save(store, model_id, ModelState(last_success=known.last_success))


class GuardedModel:
    """A `TextModel` that asks a `ChatModel`. A refused call raises ProviderError with the cause
    "wait": nothing was asked, and nothing is wrong with the question."""

    def __init__(
        self,
        model: ChatModel,
        *,
        store: KeyValueStore,
        folder: Path,
        clock: Clock,
        daily_calls: int,
        count_tokens: Callable[[str], int],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._model = model
        self._store = store
        self._folder = folder
        self._clock = clock
        self._daily_calls = daily_calls
        self._count_tokens = count_tokens
        self._environment = os.environ if environment is None else environment

    @property
    def model_id(self) -> str:
        """The name of the model, for people."""
        return self._model.model_id

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """The model's answer to a prompt."""
        return self.ask(prompt, max_tokens=max_tokens).text

    def ask(self, prompt: str, *, max_tokens: int) -> ChatAnswer:
        """The model's answer, with its cost."""
        if self._environment.get(SELF_VARIABLE):
            raise _wait(f"{SELF_VARIABLE} is set: Wellkept does not ask a model for itself.")
        with self._one_at_a_time():
            state = model_state(self._store, self.model_id)
            self._require_ready(state)
            usage = self._begin_call()
            try:
                answer = self._model.ask(prompt, max_tokens=max_tokens)
            except ProviderError as error:
                if error.cause != "wait":
                    self._note_failure(state, error)
                raise
            expected = self._count_tokens(prompt)
            self._note_success(answer, usage, expected=expected)
            taken = (answer.input_tokens or 0) + (answer.output_tokens or 0)
            day = self._clock().date().isoformat()
            charge_tokens(self._store, taken - expected - max_tokens, day=day)
            return answer

    @contextmanager
    def _one_at_a_time(self) -> Generator[None]:
        with open_lock(self._folder, _LOCK) as file:
            if not lock(file):
                raise _wait("Another process is asking the text model.")
            yield

    def _require_ready(self, state: ModelState) -> None:
        due = datetime.fromisoformat(state.not_before) if state.not_before else None
        if due is None or self._clock() >= due:
            return
        if state.cause == "login" and state.login != self._model.login:
            return
        raise _wait(f"{self.model_id} is not asked before {due:%H:%M} UTC: {state.problem}")

    def _begin_call(self) -> DailyUsage:
        usage = daily_usage(self._store, now=self._clock())
        if usage.calls >= self._daily_calls:
            raise _wait(f"The text model was asked {usage.calls} times today, which is the limit.")
        begun = replace(usage, calls=usage.calls + 1)
        self._save_usage(begun)
        return begun

    def _save_usage(self, usage: DailyUsage) -> None:
        day = self._clock().date().isoformat()
        self._store.put_value(_USAGE, day, cast("Json", record_to_json(usage)))

    def _note_success(self, answer: ChatAnswer, usage: DailyUsage, *, expected: int) -> None:
        given = answer.input_tokens or expected
        made = answer.output_tokens or self._count_tokens(answer.text)
        self._save_usage(
            replace(
                usage,
                input_tokens=usage.input_tokens + given,
                output_tokens=usage.output_tokens + made,
            )
        )
        drift = None
        # The count is an estimate, so a quarter more proves nothing.
        if given > expected + expected // 4 + _DRIFT_TOKENS:
            drift = f"a prompt of about {expected:,} tokens became {given:,}"
        state = ModelState(last_success=self._clock().isoformat(), drift=drift)
        _save(self._store, self.model_id, state)

    def _note_failure(self, state: ModelState, error: ProviderError) -> None:
        failures = state.failures + 1
        wait = _wait_after(error.cause, failures)
        due = self._clock() + wait if wait else None
        _save(
            self._store,
            self.model_id,
            replace(
                state,
                failures=failures,
                not_before=due.isoformat() if due else None,
                cause=error.cause,
                problem=error.message[:300],
                login=self._model.login if error.cause == "login" else None,
            ),
        )


class QueryModel:
    """A `TextModel` for a search that a person waits for: not asked while the model should wait."""

    def __init__(self, model: ChatModel, *, store: KeyValueStore, clock: Clock) -> None:
        self._model = model
        self._store = store
        self._clock = clock

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """The model's answer to a prompt."""
        due = model_state(self._store, self._model.model_id).not_before
        if due and self._clock() < datetime.fromisoformat(due):
            raise _wait(f"{self._model.model_id} failed lately.")
        return self._model.ask(prompt, max_tokens=max_tokens).text


def _wait_after(cause: ProviderCause, failures: int) -> timedelta | None:
    """How long to wait; a first answer without sense may be chance."""
    if cause == "login":
        return _LONGEST_WAIT
    if cause == "answer" and failures < 2:
        return None
    return min(_FIRST_WAIT * 2 ** min(failures - 1, 10), _LONGEST_WAIT)


def _wait(message: str) -> ProviderError:
    return ProviderError(message, cause="wait")


def _save(store: KeyValueStore, model_id: str, state: ModelState) -> None:
    store.put_value(_STATES, model_id, cast("Json", record_to_json(state)))


def _loaded(kind: type[_T], value: Json) -> _T:
    if isinstance(value, dict):
        try:
            return record_from_json(kind, value)
        except UsageError:
            pass  # another version wrote it
    return kind()
