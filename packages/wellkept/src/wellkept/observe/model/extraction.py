"""Turns what a model extracted from a session into memories, and closes what it shows to be wrong.

Invariants: a model points, the words of the session speak: a statement is stored as it was said,
whole, and never in the model's wording; what a model found is marked as such and ranks below what a
person taught; a memory that a person confirmed or pinned is never closed, only put up for review;
nothing is stored twice, and nothing comes back that was removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import cast

from wellkept.core.changes import Change, Close, PutExplanation, Replace
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.memory import Evidence, Memory, MemoryDraft
from wellkept.core.payloads import Decision
from wellkept.core.query import Filter, Order
from wellkept.core.records import record, replace
from wellkept.core.session.scratchpad import Explanation
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.text import cjk_runs, content_words, shorten, stem
from wellkept.core.types import EvidenceKind, MemoryType, Source
from wellkept.memory.engine import Engine
from wellkept.memory.lifecycle.confirmation import QUOTED_TAG
from wellkept.memory.remember import remember
from wellkept.observe.model.event_log import LoggedEvent, Speaker
from wellkept.observe.model.quotations import (
    Quotation,
    find_quotation,
    is_permission,
    says_the_same,
    shared_words,
)
from wellkept.observe.model.session_summaries import MAX_KNOWN
from wellkept.text.secrets.redaction import redact
from wellkept.text.similarity import is_negated

MODEL_TAG = "model"
MAX_MEMORIES, MAX_TIMELINE, MAX_INVALID = 8, 3, 5
MIN_CHARS, MAX_CHARS, MAX_QUOTED_CHARS = 12, 400, 700
_SAVED = "model_saved"
_STATEMENTS = (
    MemoryType.PREFERENCE,
    MemoryType.CONVENTION,
    MemoryType.REQUIREMENT,
    MemoryType.CORRECTION,
    MemoryType.DECISION,
    MemoryType.GOTCHA,
    MemoryType.PATTERN,
    MemoryType.FACT,
)
_BY_USER_ONLY = frozenset(_STATEMENTS[:4])
_KNOWN_TYPES = (*_STATEMENTS, MemoryType.ERROR_PATTERN, MemoryType.WORKFLOW)
_ASKED_FOR, _FOUND_OUT, _GENERAL = (0.9, 0.94), (0.5, 0.8), (0.3, 0.5)
_LOOKED_THROUGH = 400


@record
class ExtractionReport:
    """What became of a model's answer."""

    memories: int = 0
    invalidated: int = 0
    flagged: int = 0
    dropped: int = 0


@record(kw_only=True)
class Extraction:
    """One answer about some events of a session, and the memories the model was shown."""

    session: SessionRecord
    events: Sequence[LoggedEvent]
    known: Sequence[Memory]
    model_id: str


def known_memories(
    engine: Engine, session: SessionRecord, events: Sequence[LoggedEvent]
) -> list[Memory]:
    """The statements of the project that are nearest to the events, for the model to see."""
    said = {stem(word) for event in events for word in content_words(event.text)}

    def nearness(memory: Memory) -> tuple[float, float]:
        mine = {stem(word) for word in content_words(memory.content)}
        return len(mine & said) / max(4, len(mine)), memory.importance

    return sorted(_statements(engine, session.project), key=nearness, reverse=True)[:MAX_KNOWN]


def apply_answer(
    engine: Engine, given: dict[str, object], extraction: Extraction
) -> ExtractionReport:
    """Store what holds of an answer; the rest is dropped and counted."""
    work = _Work(engine, extraction)
    for item in _items(given.get("memories"), limit=MAX_MEMORIES):
        work.memory(item)
    for item in _items(given.get("timeline"), limit=MAX_TIMELINE):
        work.timeline(item)
    for item in _items(given.get("invalid"), limit=MAX_INVALID):
        work.invalid(item)
    return work.report


class _Work:
    """Applies one answer."""

    def __init__(self, engine: Engine, extraction: Extraction) -> None:
        self.report = ExtractionReport()
        self._engine = engine
        self._session = extraction.session
        self._events = extraction.events
        self._shown = {memory.short: memory for memory in extraction.known}
        self._author = f"model:{extraction.model_id}"

    def memory(self, item: dict[str, object]) -> None:
        """Store the words that a model points at, whole and as they were said."""
        kind = _kind(item.get("type"))
        quotations = [
            one for one in self._quotations(item) if one.event.who is not Speaker.USER or one.own
        ]
        stated = [one for one in quotations if one.is_statement_of_user]
        asked = _asked_corrections(kind, quotations)
        # The output of a tool can say anything: somebody in the session has to have taken it up.
        others = [one for one in quotations if one.event.who in (Speaker.ASSISTANT, Speaker.AGENT)]
        spoken = stated or asked or ([] if kind in _BY_USER_ONLY else others)
        content = spoken[0].whole if spoken else ""
        if kind is None or not _is_fit(content):
            self._drop()
            return
        account = shorten(" ".join(str(item.get("content") or "").split()), limit=MAX_CHARS)
        band = _band(kind, is_asked_for=bool(stated))
        self._save(
            MemoryDraft(
                content=content,
                type=kind,
                importance=_within(item.get("importance"), *band),
                confidence=0.7 if stated else 0.5,
                needs_review=not stated,
                files=self._files(item.get("files")),
                tags=(QUOTED_TAG,),
                payload=_found_by(kind, account),
            ),
            quotations,
        )

    def timeline(self, item: dict[str, object]) -> None:
        """Store the words that tell of something that happened."""
        spoken = [
            one
            for one in self._quotations(item)
            if one.is_statement_of_user or one.event.who in (Speaker.ASSISTANT, Speaker.AGENT)
        ]
        content = spoken[0].whole if spoken else ""
        if not _is_fit(content):
            self._drop()
            return
        draft = MemoryDraft(
            content=content,
            type=MemoryType.TIMELINE,
            importance=_GENERAL[1],
            confidence=0.5,
            valid_from=max(one.event.at for one in spoken),
            tags=(QUOTED_TAG,),
        )
        self._save(draft, spoken)

    def invalid(self, item: dict[str, object]) -> None:
        """Close a memory that the session shows to be wrong, or put it up for review."""
        memory = self._shown.get(str(item.get("memory")))
        found = [
            one
            for one in self._quotations(item)
            if one.is_statement_of_user or one.event.who is Speaker.TOOL
        ]
        about = [
            one
            for one in found
            if memory is not None
            and one.event.at > memory.valid_from
            and shared_words(memory.content, one.text) >= 2
            and not says_the_same(memory.content, one.text)
        ]
        if memory is None or not about:
            self._drop()
            return
        said = any(one.event.who is Speaker.USER for one in about)
        is_guarded = memory.user_verified or memory.pinned
        may_close = not is_guarded and (said or memory.source is Source.OBSERVER_INFERRED)
        if not self._close(memory, about, item.get("reason"), close=may_close):
            self._drop()

    # -- Checks -----------------------------------------------------------------------------------

    def _quotations(self, item: dict[str, object]) -> list[Quotation]:
        rows = _items(item.get("evidence"), limit=6)
        found = (
            find_quotation(row.get("quote"), self._events, label=row.get("event")) for row in rows
        )
        return [one for one in found if one is not None]

    def _files(self, said: object) -> tuple[str, ...]:
        """The files that stand in the events."""
        names = cast("list[object]", said) if isinstance(said, list) else []
        texts = "\n".join(event.text for event in self._events)
        named = [name for name in names[:10] if isinstance(name, str) and name]
        return tuple(name for name in named if name in texts)

    def _drop(self) -> None:
        self.report = replace(self.report, dropped=self.report.dropped + 1)

    # -- Writing ----------------------------------------------------------------------------------

    def _save(self, draft: MemoryDraft, quotations: Sequence[Quotation]) -> None:
        project, session = self._session.project, self._session
        mark = f"{project} {_fingerprint(draft.content)}"
        engine = self._engine
        is_known = draft.type is not MemoryType.TIMELINE and any(
            says_the_same(memory.content, draft.content) for memory in _statements(engine, project)
        )
        if is_known or engine.store.get_value(_SAVED, mark):
            self._drop()
            return
        whole = replace(
            draft,
            source=Source.OBSERVER_INFERRED,
            author=self._author,
            tags=(MODEL_TAG, *draft.tags),
            session_id=session.id,
            evidence=tuple(_evidence(session.id, one) for one in quotations),
        )
        try:
            remember(
                engine,
                whole,
                project=project,
                beside=lambda memory: (PutExplanation(self._explanation(memory, quotations)),),
            )
        except (UsageError, ConflictError):
            self._drop()
            return
        engine.store.put_value(_SAVED, mark, True)
        self.report = replace(self.report, memories=self.report.memories + 1)

    def _explanation(self, memory: Memory, quotations: Sequence[Quotation]) -> Explanation:
        return Explanation(
            memory_id=memory.id,
            project=self._session.project,
            rule="model",
            subject=shorten(memory.content, limit=120),
            at=self._engine.clock(),
            validated_by=f"words of the session, found by {self._author.removeprefix('model:')}",
            sessions=(self._session.id,),
            signals=tuple(_told(one) for one in quotations),
        )

    def _close(
        self, memory: Memory, about: Sequence[Quotation], reason: object, *, close: bool
    ) -> bool:
        """Close the memory or mark it for review; False when it was changed meanwhile."""
        why = shorten(redact(" ".join(str(reason or "").split())).text, limit=160)
        does = "Closed" if close else "In doubt"
        note = f"{does} by {self._author}: {why} {'; '.join(map(_told, about))}".strip()
        now = self._engine.clock()
        evidence = Evidence(
            EvidenceKind.SESSION, self._session.id[:500], shorten(note, limit=900), now
        )
        changed = replace(
            memory,
            evidence=(*memory.evidence, evidence),
            needs_review=memory.needs_review or not close,
            updated_at=max(now, memory.updated_at),
        )
        changes: list[Change] = [Replace(changed, None, memory.updated_at)]
        if close:
            changes.append(Close(memory.id, max(now, memory.valid_from)))
        try:
            self._engine.store.apply(changes)
        except ConflictError:
            return False
        counted = {"invalidated": self.report.invalidated + close}
        counted["flagged"] = self.report.flagged + (not close)
        self.report = replace(self.report, **counted)
        return True


def _statements(engine: Engine, project: str) -> list[Memory]:
    where = Filter(project=project, types=_KNOWN_TYPES, archived=None)
    return list(engine.store.list(where, order=Order.IMPORTANCE, limit=_LOOKED_THROUGH).items)


def _items(value: object, *, limit: int) -> Iterable[dict[str, object]]:
    rows = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, object]", row) for row in rows if isinstance(row, dict)][:limit]


def _is_fit(content: str) -> bool:
    # A character of Chinese or Japanese says as much as three letters.
    told = len(content) + 2 * sum(map(len, cjk_runs(content)))
    is_long_enough = told >= MIN_CHARS and len(content) <= MAX_QUOTED_CHARS
    return is_long_enough and not redact(content).changed and not is_permission(content)


def _asked_corrections(kind: MemoryType | None, quotations: Sequence[Quotation]) -> list[Quotation]:
    """What a person corrected with a question: "should that not be X?"."""
    if kind is not MemoryType.CORRECTION:
        return []
    return [
        one
        for one in quotations
        if one.event.who is Speaker.USER and one.own and one.asks and is_negated(one.text)
    ]


def _found_by(kind: MemoryType, account: str) -> Decision | None:
    """The model's own wording, for search only."""
    if kind is not MemoryType.DECISION or redact(account).changed:
        return None
    return Decision(subject=account)


def _kind(said: object) -> MemoryType | None:
    return next((kind for kind in _STATEMENTS if kind.value == said), None)


def _band(kind: MemoryType, *, is_asked_for: bool) -> tuple[float, float]:
    """The range of importance; below what a person teaches outright, which is 0.95."""
    if is_asked_for and (kind in _BY_USER_ONLY or kind is MemoryType.DECISION):
        return _ASKED_FOR
    return _GENERAL if kind is MemoryType.FACT else _FOUND_OUT


def _within(said: object, low: float, high: float) -> float:
    if isinstance(said, bool) or not isinstance(said, int | float) or said != said:  # noqa: PLR0124
        return low
    return min(max(float(said), low), high)


def _fingerprint(content: str) -> str:
    stems = sorted({stem(word) for word in content_words(content)})
    return sha256(" ".join(stems).encode("utf-8", "replace")).hexdigest()[:24]


def _evidence(session_id: str, one: Quotation) -> Evidence:
    return Evidence(EvidenceKind.SESSION, session_id[:500], _told(one), one.event.at)


def _told(one: Quotation) -> str:
    return f'{one.event.who.value}: "{shorten(one.text, limit=200)}" ({one.event.id})'
