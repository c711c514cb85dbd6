"""`wk.injected`: what agents were given, what came of it, and flagging what did harm.

Read from the log that drains fill (`observe.injections`). Tokens saved are an estimate: what
finding a line out once cost, for each session that used it, less everything that was injected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from wellkept.core.changes import PutSilence, PutVerdicts, RequestReview, Rescore
from wellkept.core.clock import whole_ms
from wellkept.core.memory import Memory, MemoryPatch
from wellkept.core.ports.injections import (
    Injection,
    InjectionFilter,
    InjectionTotals,
    LineOutcome,
    LineUse,
    LineVerdict,
    SilentLine,
)
from wellkept.core.records import record
from wellkept.core.text import counted, shorten
from wellkept.core.types import Phase, parse_choice
from wellkept.memory.edit import revise

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store
    from wellkept.core.query import Page
    from wellkept.core.session.sessions import SessionRecord
    from wellkept.memory.engine import Engine

MAX_LATEST = 5
MAX_COUNTED = 5_000
HARM_LOSS = 0.3
_REASON_CHARS = 300


@record(kw_only=True)
class WorkSession:
    """A session that a memory comes from: when, where, and what kind of work it was."""

    id: str
    client: str
    at: datetime
    title: str | None = None
    branch: str | None = None
    kind: str = ""
    phase: Phase | None = None


@record(kw_only=True)
class MemoryUse:
    """Whether a memory was ever of use: counts, the latest times it was given, and its sessions.

    `use` is None when it was never injected. `silent` says since when and why it no longer is,
    `suspect` why its text is cut or left out: it reads as an instruction to the agent.
    """

    use: LineUse | None = None
    latest: tuple[Injection, ...] = ()
    silent: SilentLine | None = None
    sessions: tuple[WorkSession, ...] = ()
    suspect: str | None = None

    @property
    def latest_texts(self) -> list[str]:
        """The latest times it was given, one line each."""
        return [
            f"{one.at:%Y-%m-%d %H:%M} at {one.moment}, session {one.session_id[:12]}:"
            f" {line.outcome.value}{f' ({line.outcome_by})' if line.outcome_by else ''}"
            for one in self.latest
            for line in one.lines
        ]


def session_text(session: WorkSession) -> str:
    """A session on one line: id, date, phase, kind of work, title."""
    phase = f", {session.phase.value}" if session.phase else ""
    title = f": {session.title}" if session.title else ""
    return f"{session.id[:12]} {session.at:%Y-%m-%d}{phase}, {session.kind}{title}"


def use_text(use: LineUse | None) -> str:
    """Counts of a line in words."""
    if use is None:
        return "never, unasked"
    named = {"used": use.used, "ignored": use.ignored, "unclear": use.unclear, "harm": use.harm}
    counts = ", ".join(f"{name} in {count}" for name, count in named.items() if count)
    times = f"{counted(use.given, 'time')} in {counted(use.sessions, 'session')}"
    last = f"; last used {use.last_used_at:%Y-%m-%d}" if use.last_used_at else ""
    return f"{times}{': ' if counts else ''}{counts}; last given {use.last_at:%Y-%m-%d}{last}"


class _Memories(Protocol):
    """The part of a memory that this needs."""

    @property
    def project(self) -> str: ...

    @property
    def engine(self) -> Engine: ...

    def get(self, name: str, /) -> Memory: ...

    def moment(self, when: str | None, /) -> datetime | None: ...


class InjectedLines:
    """What the agents of this project were given."""

    def __init__(self, wk: _Memories) -> None:
        self._wk = wk

    def list(
        self,
        *,
        session: str | None = None,
        moment: str | None = None,
        memory: str | None = None,
        outcome: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Injection]:
        """Injections with their lines, newest first. `memory` is an id, a key or a line's id."""
        where = InjectionFilter(
            project=self._wk.project,
            session_id=self._session_id(session) if session else None,
            moment=moment or None,
            line_id=self._line_id(memory) if memory else None,
            outcome=parse_choice(LineOutcome, outcome, what="outcome") if outcome else None,
        )
        return self._store.injections(where, limit=limit, cursor=cursor)

    def uses(self) -> Sequence[LineUse]:
        """How every line fared, those given last first."""
        return self._store.line_uses(project=self._wk.project)

    def totals(self, *, since: str | None = None, all_projects: bool = False) -> InjectionTotals:
        """Totals of the log, by kind of line."""
        project = None if all_projects else self._wk.project
        return self._store.injection_totals(project=project, since=self._wk.moment(since))

    def silent(self) -> Sequence[SilentLine]:
        """Lines that are no longer injected unasked."""
        return self._store.silent_lines(project=self._wk.project)

    def never_told(self) -> tuple[tuple[str, int], ...]:
        """What may be told and never was, by type, most first; of the latest few thousand."""
        from wellkept.context.candidates import INJECTED_TYPES
        from wellkept.core.query import Filter, Order
        from wellkept.memory.lifecycle.confirmation import may_be_injected

        told = {one.line_id for one in self.uses()}
        where = Filter(project=self._wk.project, types=INJECTED_TYPES, stale=False, raw=False)
        page = self._store.list(where, order=Order.NEWEST, limit=MAX_COUNTED)
        types = [m.type.value for m in page.items if m.id not in told and may_be_injected(m)]
        return tuple(Counter(types).most_common())

    def use_of(self, memory: Memory) -> MemoryUse:
        """When and where a memory was injected, and whether it was used."""
        from wellkept.text.instructions import reads_as_instruction

        project = self._wk.project
        found = self._store.line_uses(project=project, line_ids=[memory.id])
        where = InjectionFilter(project=project, line_id=memory.id)
        silent = [one for one in self.silent() if one.line_id == memory.id]
        return MemoryUse(
            use=found[0] if found else None,
            latest=self._store.injections(where, limit=MAX_LATEST).items if found else (),
            silent=silent[0] if silent else None,
            sessions=self._sessions(memory),
            suspect=None if memory.has_persons_word else reads_as_instruction(memory.content),
        )

    def flag(self, name: str, *, reason: str = "", session: str | None = None) -> Memory:
        """Say that a memory did harm: it is silent at once and waits for review.

        The latest injection of it is marked, or those of the named session.
        """
        patch = MemoryPatch(user_verified=False, needs_review=True)
        memory = revise(self._wk.engine, self._wk.get(name).id, patch)
        by = f"flagged: {shorten(' '.join(reason.split()), limit=_REASON_CHARS)}".rstrip(": ")
        at = max(whole_ms(self._wk.engine.clock()), memory.updated_at)
        self._store.apply(
            [
                Rescore(memory.id, confidence=round(memory.confidence * (1 - HARM_LOSS), 4)),
                RequestReview(memory.id),
                PutSilence(self._wk.project, memory.id, SilentLine(memory.id, at, f"harm: {by}")),
                PutVerdicts(self._harmed(memory, session, by=by, at=at)),
            ]
        )
        return self._wk.get(memory.id)

    @property
    def _store(self) -> Store:
        return self._wk.engine.store

    def _harmed(
        self, memory: Memory, session: str | None, *, by: str, at: datetime
    ) -> tuple[LineVerdict, ...]:
        """Verdicts about the lines of a memory: the whole injection is read for their numbers."""
        session_id = self._session_id(session) if session else None
        where = InjectionFilter(project=self._wk.project, session_id=session_id, line_id=memory.id)
        found = self._store.injections(where, limit=50 if session_id else 1).items
        verdicts: list[LineVerdict] = []
        for one in found:
            same = InjectionFilter(project=one.project, session_id=one.session_id)
            for whole in self._store.injections(same, limit=1000):
                verdicts += [
                    LineVerdict(one.id, number, LineOutcome.HARM, by, at)
                    for number, line in enumerate(whole.lines)
                    if whole.id == one.id and line.line_id == memory.id
                ]
        return tuple(verdicts)

    def _sessions(self, memory: Memory) -> tuple[WorkSession, ...]:
        from wellkept.core.types import EvidenceKind

        cited = [one.ref for one in memory.evidence if one.kind is EvidenceKind.SESSION]
        named = dict.fromkeys((memory.session_id, *memory.provenance_sessions, *cited))
        found = [self._store.get_session(one) for one in named if one]
        return tuple(_work_session(one) for one in found if one is not None)

    def _session_id(self, name: str) -> str:
        from wellkept.context.start.session_view import find_session

        return find_session(self._store, name).id

    def _line_id(self, name: str) -> str:
        return name if ":" in name and not name.startswith("m:") else self._wk.get(name).id


def _work_session(session: SessionRecord) -> WorkSession:
    from wellkept.observe.session.digest import kind_of_work, phase_of_work

    return WorkSession(
        id=session.id,
        client=session.client,
        at=session.last_event_at,
        title=session.title,
        branch=session.branch,
        kind=kind_of_work(session),
        phase=phase_of_work(session),
    )
