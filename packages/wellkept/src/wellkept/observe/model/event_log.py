"""What was said and done in a session, short and redacted, kept until a model has read it.

Written only where a text model is configured, by the drain alone, before the events are committed:
an event that is heard twice is logged once. The extraction notes how far it came under a key of its
own, so that the two never write the same value. Captured events only: old transcripts would cost a
day's budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeVar, cast

from wellkept.core.codec import Json, record_from_json, record_to_json
from wellkept.core.errors import UsageError
from wellkept.core.ports.store import KeyValueStore
from wellkept.core.records import record, replace
from wellkept.core.session.events import (
    Answer,
    Compacted,
    Event,
    PromptSubmitted,
    SubagentEnded,
    ToolCalled,
    ToolKind,
    TurnEnded,
)
from wellkept.text.events.sanitize import safe_text
from wellkept.text.own_words import agent_task, own_words

MAX_TOKENS, CHARS_PER_TOKEN = 8_000, 3
# A few short turns are not worth a call of their own; they wait for more, or for the end.
MIN_TURN_CHARS = 4_000
KEPT_DAYS = 2
_LOG, _QUEUE, _DONE = "model_events", "model_queue", "model_done"
_SUMMARY = "model_summary"
_T = TypeVar("_T")
_OWN_TOOLS = "wellkept"
ASKED = "Asked: "
_USER_CHARS, _AGENT_CHARS, _TOOL_CHARS = 4_000, 2_500, 900


class Speaker(StrEnum):
    """Who an event's words come from. Only `USER` is the person."""

    USER = "user"
    ASSISTANT = "assistant"
    AGENT = "other agent"
    TOOL = "tool"


@record
class LoggedEvent:
    """One event; `number` grows within a session. `is_answer`: a reply to a question of the agent,
    with the question."""

    number: int
    id: str
    who: Speaker
    text: str
    at: datetime
    is_answer: bool = False

    @property
    def label(self) -> str:
        """What a model calls it."""
        return f"e{self.number}"


@record
class _Log:
    events: tuple[LoggedEvent, ...] = ()


@record
class _Due:
    """The last event that is to be read, and since when it waits."""

    last: int
    since: datetime


def append(store: KeyValueStore, session_id: str, events: Sequence[Event]) -> None:
    """Log what is worth reading of some events; those already logged are passed over."""
    fresh = [one for event in events if not event.origin.imported for one in _excerpt(event)]
    if not fresh:
        return
    log, done = _load(store, session_id), _progress(store, session_id)
    known = {event.id for event in log}
    # The report of a sub-agent comes twice: as the result of a tool and as its own end.
    texts = {event.text for event in log if event.who is Speaker.AGENT}
    number = max(done, log[-1].number if log else 0)
    kept = [event for event in log if event.number > done]
    for event in fresh:
        if event.id not in known and event.text not in texts:
            number += 1
            texts |= {event.text} if event.who is Speaker.AGENT else set()
            kept.append(replace(event, number=number))
    value = _Log(bounded(kept))
    store.put_value(_LOG, session_id, cast("Json", record_to_json(value)))


def queue(store: KeyValueStore, session_id: str, *, trigger: str, now: datetime) -> None:
    """Note that the events logged so far are to be read."""
    log = unread(store, session_id)
    size = sum(len(event.text) for event in log)
    if not log or (trigger == "turns" and size < MIN_TURN_CHARS):
        return
    value = _Due(log[-1].number, now)
    store.put_value(_QUEUE, session_id, cast("Json", record_to_json(value)))
    _prune(store, now=now)


def waiting(store: KeyValueStore) -> list[str]:
    """The sessions with events to read, longest waiting first."""
    found: list[tuple[datetime, str]] = []
    for session_id, value in store.values(_QUEUE).items():
        due = _read(_Due, value)
        if due is not None and due.last > _progress(store, session_id):
            found.append((due.since, session_id))
    return [session_id for _, session_id in sorted(found)]


def is_logged(store: KeyValueStore, session_id: str) -> bool:
    """Whether events of the session are logged, or were and have been read."""
    return any(store.get_value(namespace, session_id) is not None for namespace in (_LOG, _DONE))


def unread(store: KeyValueStore, session_id: str) -> list[LoggedEvent]:
    """The events that no model has read, in order."""
    done = _progress(store, session_id)
    return [event for event in _load(store, session_id) if event.number > done]


def save_answer(store: KeyValueStore, session_id: str, upto: int, answer: str) -> None:
    """Keep an answer until it is applied, so that it need not be asked for again."""
    before = _progress(store, session_id)
    value = [before, upto, answer]
    store.put_value(_DONE, session_id, cast("Json", value))


def saved_answer(store: KeyValueStore, session_id: str) -> tuple[int, str] | None:
    """An answer that was not applied, and the last event that it is about."""
    value = store.get_value(_DONE, session_id)
    if isinstance(value, list) and len(value) == 3:
        _, upto, answer = value
        if isinstance(upto, int) and isinstance(answer, str):
            return upto, answer
    return None


def mark_read(store: KeyValueStore, session_id: str, upto: int) -> None:
    """Note that the events up to a number were read and applied."""
    store.put_value(_DONE, session_id, cast("Json", [upto]))


def save_summary(store: KeyValueStore, session_id: str, parts: dict[str, str]) -> None:
    """Keep what a model wrote of the summary, for when rules write it anew."""
    store.put_value(_SUMMARY, session_id, cast("Json", parts))


def saved_summary(store: KeyValueStore, session_id: str) -> dict[str, str]:
    """What a model wrote of the summary after it read all events; else nothing."""
    value = store.get_value(_SUMMARY, session_id)
    if not isinstance(value, dict) or unread(store, session_id):
        return {}
    return {name: text for name, text in value.items() if isinstance(text, str)}


def _progress(store: KeyValueStore, session_id: str) -> int:
    """The last event that was read and applied. Stored as a list, which an answer that is not
    applied yet makes longer."""
    value = store.get_value(_DONE, session_id)
    first = value[0] if isinstance(value, list) and value else None
    return first if isinstance(first, int) else 0


def _load(store: KeyValueStore, session_id: str) -> tuple[LoggedEvent, ...]:
    log = _read(_Log, store.get_value(_LOG, session_id))
    return log.events if log is not None else ()


def _prune(store: KeyValueStore, *, now: datetime) -> None:
    """Forget sessions that were read some days ago. Progress goes last: numbers go on from it."""
    for session_id, value in store.values(_QUEUE).items():
        due = _read(_Due, value)
        is_read = due is None or due.last <= _progress(store, session_id)
        if is_read and (due is None or now - due.since > timedelta(days=KEPT_DAYS)):
            for namespace in (_LOG, _QUEUE, _SUMMARY, _DONE):
                store.put_value(namespace, session_id, None)


def bounded(events: Sequence[LoggedEvent], tokens: int = MAX_TOKENS) -> tuple[LoggedEvent, ...]:
    """The events within a number of tokens: old tool output goes first, a person's words last."""
    size = sum(len(event.text) for event in events)
    dropped: set[int] = set()
    for who in (Speaker.TOOL, Speaker.AGENT, Speaker.ASSISTANT, Speaker.USER):
        for event in events:
            if size <= tokens * CHARS_PER_TOKEN:
                break
            if event.who is who:
                dropped.add(event.number)
                size -= len(event.text)
    return tuple(event for event in events if event.number not in dropped)


# -- Events ---------------------------------------------------------------------------------------


def _excerpt(event: Event) -> Iterable[LoggedEvent]:
    """The words of an event, redacted and short; none when there is nothing to learn from it."""
    inside = event.origin.agent is not None
    match event:
        case PromptSubmitted():
            typed = "" if inside else own_words(event.text)
            if typed:
                yield from _logged(event, Speaker.USER, typed, limit=_USER_CHARS)
            elif task := agent_task(event.text):
                yield from _logged(event, Speaker.AGENT, task, limit=_AGENT_CHARS)
        case TurnEnded():
            who = Speaker.AGENT if inside else Speaker.ASSISTANT
            yield from _logged(event, who, event.last_message, limit=_AGENT_CHARS)
        case Compacted():
            yield from _logged(event, Speaker.ASSISTANT, event.summary, limit=_AGENT_CHARS)
        case SubagentEnded():
            yield from _logged(event, Speaker.AGENT, event.last_message, limit=_AGENT_CHARS)
        case ToolCalled():
            yield from _tool_excerpt(event, inside=inside)
        case _:
            return


def _tool_excerpt(call: ToolCalled, *, inside: bool) -> Iterable[LoggedEvent]:
    if _OWN_TOOLS in call.name.lower():
        return
    if call.answers and not inside:
        said = "\n".join(map(_answered, call.answers))
        for event in _logged(call, Speaker.USER, said, limit=_USER_CHARS):
            yield replace(event, is_answer=True)
        return
    head = f"$ {call.command}" if call.command else f"{call.name} {' '.join(call.files[:4])}"
    output = call.output if call.kind is ToolKind.SHELL else ""
    result = f"{call.error}\n{output}" if call.error and call.error not in output else output
    if call.kind is ToolKind.TASK:
        yield from _logged(call, Speaker.AGENT, call.output, limit=_AGENT_CHARS)
    elif call.error or call.kind in (ToolKind.SHELL, ToolKind.EDIT, ToolKind.WRITE):
        short = safe_text(head, limit=300)
        yield from _logged(call, Speaker.TOOL, f"{short}\n{_ends(result)}", limit=_TOOL_CHARS)


def _answered(one: Answer) -> str:
    question = " ".join(one.question.split())
    return f"{ASKED}{question}\n{one.answer}\n{one.meaning}".rstrip()


def _ends(output: str) -> str:
    """The beginning and the end of an output, whole lines of it: causes stand at either end."""
    if len(output) <= _TOOL_CHARS // 2:
        return output
    return safe_text(output, limit=_TOOL_CHARS // 2)


def _logged(event: Event, who: Speaker, text: str | None, *, limit: int) -> Iterable[LoggedEvent]:
    kept = safe_text(text or "", limit=limit).strip()
    if kept:
        yield LoggedEvent(0, event.origin.event_id, who, kept, event.origin.at)


def _read(kind: type[_T], value: Json) -> _T | None:
    if not isinstance(value, dict):
        return None
    try:
        return record_from_json(kind, value)
    except UsageError:
        return None  # another version wrote it
