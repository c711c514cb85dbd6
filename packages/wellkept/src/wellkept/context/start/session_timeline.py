"""`session show`: what happened in a session, in order.

Prompts, observations and the summary come from capture, lines given from the log, and what was
learned from the memories that name the session. Entries of one moment stand in the order: given,
prompt, observation, learned, summary.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

from wellkept.context.start.session_view import MAX_SHOWN, find_session
from wellkept.core.memory import Memory
from wellkept.core.payloads import Observation
from wellkept.core.ports.injections import Injection, InjectionFilter, LineOutcome
from wellkept.core.query import RAW_TYPES, Filter, Order, Validity
from wellkept.core.records import record
from wellkept.core.session.injected_text import quoted, quoted_lines
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.text import counted, first_line
from wellkept.core.types import MemoryType, Phase
from wellkept.core.verbs import Arg

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store

MAX_ENTRIES: Final = 2_000


class EntryKind(StrEnum):
    """What an entry of a timeline is."""

    GIVEN = "given"
    PROMPT = "prompt"
    OBSERVATION = "observation"
    LEARNED = "learned"
    SUMMARY = "summary"


_ORDER = {kind: number for number, kind in enumerate(EntryKind)}


@record(kw_only=True)
class TimelineEntry:
    """One thing that happened: a memory, or lines that were given."""

    at: datetime
    kind: EntryKind
    memory: Memory | None = None
    given: Injection | None = None

    def as_line(self) -> str:
        """When, what, and its first line."""
        if (memory := self.memory) is not None:
            title = quoted(first_line(memory.content))
            return f"{self.at:%H:%M} {self.kind.value} [m:{memory.short}] {title}"
        assert self.given is not None
        trigger = f": {quoted(first_line(self.given.trigger))}" if self.given.trigger else ""
        lines, tokens = len(self.given.lines), self.given.tokens
        told = f"{counted(lines, 'line')}, {tokens} tokens{trigger}"
        return f"{self.at:%H:%M} given at {self.given.moment}: {told}"


@record(kw_only=True)
class SessionFile:
    """A file that the session touched, and in how many observations."""

    path: str
    read: int
    changed: int


@record(kw_only=True)
class GivenTotals:
    """What the session was given. `used` and `harm` count lines."""

    moments: int
    lines: int
    used: int
    harm: int
    tokens: int


@record(kw_only=True)
class SessionTimeline:
    """A session, entry by entry. `truncated` when it has more than are shown."""

    session: SessionRecord
    kind_of_work: str
    phase: Phase
    summary: Memory | None
    entries: tuple[TimelineEntry, ...]
    files: tuple[SessionFile, ...]
    given: GivenTotals
    learned: int
    truncated: bool

    @property
    def ids(self) -> list[str]:
        """The session's id."""
        return [self.session.id]

    def as_text(
        self, *, timeline: Annotated[bool, Arg("In order, line by line, with lines given.")] = False
    ) -> str:
        """What is known of the session, its summary, prompts and observations."""
        if timeline:
            head = f"{self.session.id} {self.session.started_at:%Y-%m-%d %H:%M} {self.phase.value}"
            return "\n".join([head, *(one.as_line() for one in self.entries)])
        lines = [quoted(self.session.title or self.session.id), *_facts(self.session)]
        if self.summary is not None:
            lines += ["", quoted_lines(self.summary.content)]
        for title, kind in (("Prompts", EntryKind.PROMPT), ("Observations", EntryKind.OBSERVATION)):
            found = [one.as_line() for one in self.entries if one.kind is kind]
            lines += ["", title, *found] if found else []
        return "\n".join(lines)


def _facts(session: SessionRecord) -> Iterator[str]:
    facts = {
        "id": session.id,
        "client": f"{session.client} {session.model or ''}",
        "project": session.project,
        "from": f"{session.started_at:%Y-%m-%d %H:%M}",
        "to": f"{session.last_event_at:%Y-%m-%d %H:%M}",
        "git": f"{session.branch or ''} {session.commit_sha or ''}",
        "state": session.state,
        "tokens": _tokens(session),
    }
    for name, fact in facts.items():
        if fact.strip():
            yield f"{name}: {fact.strip()}"


def _tokens(session: SessionRecord) -> str:
    """What the client reported of its model calls; "" when it reports nothing."""
    if session.output_tokens is None:
        return ""
    cached = f" (+ {session.cached_tokens:,} from the cache)" if session.cached_tokens else ""
    return f"{session.input_tokens or 0:,} in{cached}, {session.output_tokens:,} out"


def session_timeline(store: Store, name: str, *, project: str | None) -> SessionTimeline:
    """A session by id or unique prefix, entry by entry; `project` None means any project."""
    from wellkept.observe.session.digest import kind_of_work, phase_of_work

    found = find_session(store, name, project=project)
    where = Filter(
        project=found.project, sessions=(found.id,), validity=Validity.ANY, archived=None
    )
    page = store.list(where, order=Order.EVENT, limit=MAX_ENTRIES)
    given = store.injections(InjectionFilter(session_id=found.id), limit=MAX_SHOWN)
    entries = [
        *(_of_memory(memory) for memory in page.items),
        *(TimelineEntry(at=one.at, kind=EntryKind.GIVEN, given=one) for one in given.items),
    ]
    summaries = [one for one in page.items if _kind(one) is EntryKind.SUMMARY and one.is_open]
    return SessionTimeline(
        session=found,
        kind_of_work=kind_of_work(found),
        phase=phase_of_work(found),
        summary=summaries[-1] if summaries else None,
        entries=tuple(sorted(entries, key=lambda one: (one.at, _ORDER[one.kind]))),
        files=_files(page.items),
        given=_given_totals(given.items),
        learned=sum(one.type not in RAW_TYPES for one in page.items),
        truncated=page.next_cursor is not None or given.next_cursor is not None,
    )


def _of_memory(memory: Memory) -> TimelineEntry:
    return TimelineEntry(at=memory.valid_from, kind=_kind(memory), memory=memory)


def _kind(memory: Memory) -> EntryKind:
    match memory.type:
        case MemoryType.PROMPT:
            return EntryKind.PROMPT
        case MemoryType.OBSERVATION:
            return EntryKind.OBSERVATION
        case MemoryType.TIMELINE:
            return EntryKind.SUMMARY
        case _:
            return EntryKind.LEARNED


def _files(memories: tuple[Memory, ...]) -> tuple[SessionFile, ...]:
    read: dict[str, int] = {}
    changed: dict[str, int] = {}
    for memory in memories:
        if isinstance(memory.payload, Observation):
            for path in memory.payload.files_read:
                read[path] = read.get(path, 0) + 1
            for path in memory.payload.files_modified:
                changed[path] = changed.get(path, 0) + 1
    return tuple(
        SessionFile(path=path, read=read.get(path, 0), changed=changed.get(path, 0))
        for path in sorted(
            {*read, *changed},
            key=lambda path: (-changed.get(path, 0), -read.get(path, 0), path),
        )
    )


def _given_totals(given: tuple[Injection, ...]) -> GivenTotals:
    lines = [line for one in given for line in one.lines]
    return GivenTotals(
        moments=len(given),
        lines=len(lines),
        used=sum(line.outcome is LineOutcome.USED for line in lines),
        harm=sum(line.outcome is LineOutcome.HARM for line in lines),
        tokens=sum(one.tokens for one in given),
    )
