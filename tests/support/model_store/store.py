"""A store that is plainly right: dictionaries, loops and nothing clever.

It implements every port in `wellkept.core.ports.store` and is what engines are compared with.
Several `ModelStore`s over one `ModelData` behave like several processes on one database. Its word
search knows only simple English endings and scores by the number of terms found.
"""

from __future__ import annotations

import copy
import json
import math
import pickle
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path

from tests.support.model_store.activity import ModelActivityLog, make_changes
from tests.support.model_store.data import ModelData, open_key, put_index_entry, require_vector
from tests.support.model_store.filter import holds_phrase, passes, stems
from tests.support.model_store.injections import ModelInjections, move_injections
from tests.support.model_store.reports import ModelReports
from tests.support.model_store.scratchpads import ModelScratchpads, move_observed
from tests.support.model_store.sessions import ModelSessions
from tests.support.model_store.shared_records import ModelSharedRecords
from tests.support.model_store.skills import (
    ModelGeneratedSkills,
    ModelSkillUses,
    move_generated,
    move_skill_uses,
)
from tests.support.model_store.undo import ModelUndo
from wellkept.core.changes import Change, IndexEntry
from wellkept.core.clock import Clock, system_clock, to_ms
from wellkept.core.codec import Json
from wellkept.core.errors import StoreError, UsageError
from wellkept.core.ids import is_full_id, normalise_short
from wellkept.core.memory import Memory
from wellkept.core.ports.models import Vector
from wellkept.core.query import (
    Candidate,
    FileLink,
    Filter,
    Finding,
    Order,
    Page,
    RetrieverHit,
    SessionPosition,
    Stats,
    VectorModelCount,
)
from wellkept.core.records import replace
from wellkept.core.types import Progress, Scope


class ModelStore(
    ModelSessions,
    ModelActivityLog,
    ModelSkillUses,
    ModelGeneratedSkills,
    ModelScratchpads,
    ModelInjections,
    ModelReports,
    ModelUndo,
    ModelSharedRecords,
):
    """A `Store` in memory."""

    def __init__(self, data: ModelData | None = None, *, clock: Clock = system_clock) -> None:
        self._kept = data or ModelData()
        self._clock = clock
        self._closed = False
        self._lock = threading.RLock()

    @classmethod
    def restore(cls, path: Path) -> ModelStore:
        """The store that `backup` wrote to a file."""
        return cls(pickle.loads(path.read_bytes()))

    @property
    def _data(self) -> ModelData:
        if self._closed:
            raise StoreError("The store is closed.", hint="Open it again.")
        return self._kept

    # -- Rows -----------------------------------------------------------------------------------

    def apply(self, changes: Sequence[Change]) -> None:
        with self._lock:
            draft = copy.copy(self._data)
            draft.memories, draft.extras = dict(draft.memories), dict(draft.extras)
            draft.vectors = dict(draft.vectors)
            draft.sessions, draft.taken = dict(draft.sessions), dict(draft.taken)
            draft.marks = dict(draft.marks)
            draft.pads, draft.reasons = dict(draft.pads), dict(draft.reasons)
            draft.injections, draft.silent = dict(draft.injections), dict(draft.silent)
            make_changes(draft, changes, at=self._clock())
            kept = self._data
            kept.memories, kept.extras, kept.vectors = draft.memories, draft.extras, draft.vectors
            kept.sessions, kept.taken, kept.marks = draft.sessions, draft.taken, draft.marks
            kept.news = draft.news
            kept.pads, kept.signals, kept.reasons = draft.pads, draft.signals, draft.reasons
            kept.injections, kept.silent = draft.injections, draft.silent

    def one_read(self) -> AbstractContextManager[None]:
        return nullcontext()

    def get(self, ids: Sequence[str]) -> list[Memory]:
        return [self._data.memories[i] for i in ids if i in self._data.memories]

    def contents(self, ids: Sequence[str]) -> dict[str, str]:
        return {memory.id: memory.content for memory in self.get(ids)}

    def resolve(self, text: str, *, project: str | None) -> list[str]:
        wanted, short = text.strip().lower().removeprefix("m:"), normalise_short(text)
        if len(short) < 4:
            return []
        seen = [m for m in self._all() if project is None or _reaches(m, project)]
        if is_full_id(wanted):
            return [m.id for m in seen if m.id == wanted]
        exact = sorted(m.id for m in seen if m.short == short)
        begun = sorted(m.id for m in seen if m.short.startswith(short) or m.id.startswith(wanted))
        return (exact or begun)[:10]

    def find_key(self, key: str, *, project: str, user_scope: bool) -> Memory | None:
        owner = None if user_scope else project
        return next((m for m in self._all() if open_key(m) == (owner, key)), None)

    def list(
        self,
        where: Filter,
        *,
        order: Order = Order.NEWEST,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Memory]:
        if limit < 1:
            raise UsageError(f"limit must be at least 1, not {limit}.")
        ordered = self._ordered(where, order)
        place = _ORDERS[order]
        rest = ordered
        if cursor is not None:
            after = _read_cursor(cursor, order)
            down = order not in _ASCENDING
            rest = [m for m in ordered if (place(m), m.id) != after]
            rest = [m for m in rest if ((place(m), m.id) < after) == down]
        items = tuple(rest[:limit])
        more = len(rest) > limit
        last = json.dumps([order.value, place(items[-1]), items[-1].id]) if more else None
        return Page(items, len(ordered), last)

    def iterate(self, where: Filter) -> Iterator[Memory]:
        yield from self._ordered(where, Order.OLDEST)

    def stats(self, where: Filter) -> Stats:
        seen = self._passing(where)
        return Stats(
            total=len(seen),
            by_type=_tally([m.type.value for m in seen]),
            by_scope=_tally([m.scope.value for m in seen]),
            by_source=_tally([m.source.value for m in seen]),
            closed=sum(not m.is_open for m in seen),
            stale=sum(m.stale_at is not None for m in seen),
            archived=sum(m.archived_at is not None for m in seen),
            needs_review=sum(m.needs_review for m in seen),
            pinned=sum(m.pinned for m in seen),
            oldest=min((m.created_at for m in seen), default=None),
            newest=max((m.created_at for m in seen), default=None),
        )

    def record_access(self, ids: Sequence[str], *, at: datetime) -> None:
        with self._lock:
            for m in self.get(ids):
                self._data.memories[m.id] = replace(
                    m, access_count=m.access_count + 1, accessed_at=max(m.accessed_at, at)
                )

    def flush(self) -> None:
        """Nothing waits here."""

    # -- Search ---------------------------------------------------------------------------------

    def search_fulltext(
        self, terms: Sequence[str], where: Filter, *, limit: int
    ) -> list[RetrieverHit]:
        phrases = [stems(term) for term in dict.fromkeys(terms)]

        def score(m: Memory) -> float:
            texts = (stems(m.content), stems(self._data.extras.get(m.id, "")))
            return sum(any(holds_phrase(text, phrase) for text in texts) for phrase in phrases)

        return self._best(score, where, limit)

    def search_substrings(
        self, substrings: Sequence[str], where: Filter, *, limit: int
    ) -> list[RetrieverHit]:
        wanted = list(dict.fromkeys(f.lower() for f in substrings if f))
        return self._best(
            lambda m: sum(len(f) for f in wanted if f in m.content.lower()), where, limit
        )

    def search_vectors(
        self, vector: Vector, *, model_id: str, where: Filter, limit: int
    ) -> list[RetrieverHit]:
        _require_limit(limit)
        cosines = self.similarities(
            vector, model_id=model_id, ids=[m.id for m in self._passing(where)]
        )
        best = sorted(cosines, key=lambda i: -cosines[i])[:limit]
        return [RetrieverHit(_candidate(m), cosines[m.id]) for m in self.get(best)]

    def similarities(
        self, vector: Vector, *, model_id: str, ids: Sequence[str]
    ) -> dict[str, float]:
        require_vector(self._data, model_id, vector)
        stored = ((i, self._data.vectors.get((i, model_id))) for i in ids)
        return {i: _cosine(vector, v) for i, v in stored if v is not None}

    def search_links(
        self, *, files: Sequence[str], modules: Sequence[str], where: Filter, limit: int
    ) -> list[RetrieverHit]:
        return self._best(
            lambda m: len(set(files) & set(m.files)) + len(set(modules) & set(m.modules)),
            where,
            limit,
        )

    def session_neighbours(
        self, positions: Sequence[SessionPosition], where: Filter, *, span: int
    ) -> list[Candidate]:
        _require_limit(span)
        return [
            _candidate(m)
            for m in self._passing(where)
            if any(_beside(m, place, span=span) for place in positions)
        ]

    # -- Vectors --------------------------------------------------------------------------------

    def vector_models(self) -> list[VectorModelCount]:
        counts = _tally([model for _, model in self._data.vectors])
        sizes = {model: len(v) // 4 for (_, model), v in self._data.vectors.items()}
        return [
            VectorModelCount(m, sizes[m], counts[m])
            for m in sorted(counts, key=lambda m: -counts[m])
        ]

    def memories_without_vector(
        self, *, model_id: str, skip_types: Sequence[str], after: str | None, limit: int
    ) -> list[Memory]:
        missing = [
            m
            for m in sorted(self._all(), key=lambda m: m.id)
            if m.is_open and m.type not in skip_types and m.id > (after or "")
        ]
        return [m for m in missing if (m.id, model_id) not in self._data.vectors][:limit]

    def put_index_entries(self, entries: Sequence[tuple[str, IndexEntry]]) -> None:
        for memory_id, index_entry in entries:
            if memory_id in self._data.memories:
                put_index_entry(self._data, memory_id, index_entry)

    def vectors(self, *, model_id: str, where: Filter) -> Iterator[tuple[str, Vector]]:
        for m in self._passing(where):
            vector = self._data.vectors.get((m.id, model_id))
            if vector is not None:
                yield m.id, vector

    def drop_vectors(self, *, model_id: str) -> int:
        dropped = [key for key in self._data.vectors if key[1] == model_id]
        for key in dropped:
            del self._data.vectors[key]
        return len(dropped)

    # -- Projects and shelf ---------------------------------------------------------------------

    def canonical_project(self, identity: str) -> str:
        return self._data.aliases.get(identity, identity)

    def projects(self) -> list[tuple[str, int]]:
        counts = _tally([m.project for m in self._all()])
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

    def merge_projects(self, alias: str, *, into: str) -> int:
        target = self.canonical_project(into)
        if target == alias or not alias or not into:
            raise UsageError(f"The project {into!r} is already an alias of {alias!r}.")
        moved = [m for m in self._all() if m.project == alias]
        for m in moved:
            self._move(m, target)
        for name, canonical in self._data.aliases.items():
            if canonical == alias:
                self._data.aliases[name] = target
        self._data.aliases[alias] = target
        self._move_links(alias, target)
        move_skill_uses(self._data, alias, target)
        move_observed(self._data, alias, target)
        move_generated(self._data, alias, target)
        move_injections(self._data, alias, target)
        steps = self._data.steps.items()
        self._data.steps = {name: one for name, one in steps if one[0].project != alias}
        for key, session in self._data.sessions.items():
            if session.project == alias:
                self._data.sessions[key] = replace(session, project=target)
        self._data.news = [
            replace(n, project=target) if n.project == alias else n for n in self._data.news
        ]
        return len(moved)

    def _move(self, memory: Memory, target: str) -> None:
        moved = replace(memory, project=target)
        key = open_key(moved)
        rival = next((m for m in self._all() if key and open_key(m) == key and m != memory), None)
        if rival is not None:
            newer = memory.updated_at > rival.updated_at
            kept, closed = (moved, rival) if newer else (rival, moved)
            now = self._clock()
            self._data.memories[closed.id] = replace(
                closed,
                valid_to=now,
                updated_at=max(closed.updated_at, now),
                superseded_by=kept.id,
            )
            if kept is rival:
                return
        self._data.memories[moved.id] = moved

    def _move_links(self, alias: str, target: str) -> None:
        for (project, a, b), (weight, count) in list(self._data.links.items()):
            if project == alias:
                del self._data.links[project, a, b]
                before = self._data.links.get((target, a, b), (0.0, 0))
                self._data.links[target, a, b] = (max(weight, before[0]), count + before[1])

    def get_value(self, namespace: str, key: str) -> Json:
        text = self._data.values.get((namespace, key))
        return None if text is None else json.loads(text)

    def put_value(self, namespace: str, key: str, value: Json) -> None:
        if value is None:
            self._data.values.pop((namespace, key), None)
            return
        try:
            self._data.values[namespace, key] = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UsageError(f"A value cannot be stored as JSON: {error}.") from error

    def try_increment(self, namespace: str, key: str, by: int, *, limit: int) -> bool:
        known = self.get_value(namespace, key)
        count = (known if isinstance(known, int) else 0) + by
        if count <= limit:
            self.put_value(namespace, key, count)
        return count <= limit

    def values(self, namespace: str) -> dict[str, Json]:
        return {
            k: json.loads(v) for (s, k), v in sorted(self._data.values.items()) if s == namespace
        }

    def put_file_links(self, project: str, links: Sequence[FileLink]) -> None:
        for link in links:
            if link.file_a == link.file_b or not 0 <= link.weight <= 1:
                raise UsageError(f"{link} is not a link between two files.")
        for link in links:
            a, b = sorted((link.file_a, link.file_b))
            self._data.links[project, a, b] = (link.weight, link.count)

    def linked_files(
        self, project: str, files: Sequence[str], *, min_weight: float, limit: int
    ) -> list[FileLink]:
        _require_limit(limit)
        found: list[FileLink] = []
        for (owner, a, b), (weight, count) in self._data.links.items():
            if owner == project and weight >= min_weight and (a in files or b in files):
                first, second = (a, b) if a in files else (b, a)
                found.append(FileLink(first, second, weight, count))
        return sorted(found, key=lambda x: (-x.weight, x.file_a, x.file_b))[:limit]

    # -- Upkeep ---------------------------------------------------------------------------------

    def check(self, *, deep: bool = False) -> list[Finding]:
        """Nothing is derived here, so nothing can drift."""
        del deep
        return []

    def repair(self, *, progress: Progress | None = None) -> list[Finding]:
        if progress is not None:
            progress(1, 1)
        return []

    def continue_upgrade(self) -> bool:
        return False

    def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        if target.exists():
            raise UsageError(f"{target} already exists; a backup never overwrites.")
        target.write_bytes(pickle.dumps(self._data))
        if progress is not None:
            progress(1, 1)

    def compact_storage(self) -> None:
        """Nothing to give back."""

    def size_bytes(self) -> int:
        return len(pickle.dumps(self._data))

    def describe(self) -> dict[str, str]:
        return {"engine": "model", "version": "1", "schema": "1", "location": "memory"}

    def close(self) -> None:
        self._closed = True

    # -- Inside ---------------------------------------------------------------------------------

    def _all(self) -> list[Memory]:
        return list(self._data.memories.values())

    def _passing(self, where: Filter) -> list[Memory]:
        return [m for m in self._all() if passes(m, where)]

    def _ordered(self, where: Filter, order: Order) -> list[Memory]:
        place = _ORDERS[order]
        down = order not in _ASCENDING
        return sorted(self._passing(where), key=lambda m: (place(m), m.id), reverse=down)

    def _best(
        self, score: Callable[[Memory], float], where: Filter, limit: int
    ) -> list[RetrieverHit]:
        _require_limit(limit)
        newest_first = reversed(self._passing(where))
        scored = [RetrieverHit(_candidate(m), float(score(m))) for m in newest_first]
        return sorted((h for h in scored if h.score > 0), key=lambda h: -h.score)[:limit]


_ASCENDING = (Order.OLDEST, Order.EVENT)

_ORDERS: dict[Order, Callable[[Memory], float]] = {
    Order.NEWEST: lambda m: to_ms(m.created_at),
    Order.OLDEST: lambda m: to_ms(m.created_at),
    Order.UPDATED: lambda m: to_ms(m.updated_at),
    Order.IMPORTANCE: lambda m: m.importance,
    Order.ACCESSED: lambda m: to_ms(m.accessed_at),
    Order.EVENT: lambda m: to_ms(m.valid_from),
    Order.EVENT_LATEST: lambda m: to_ms(m.valid_from),
}


def _reaches(memory: Memory, project: str) -> bool:
    return memory.scope is Scope.USER or memory.project == project


def _beside(memory: Memory, place: SessionPosition, *, span: int) -> bool:
    if memory.session_id != place.session_id or memory.seq is None:
        return False
    return abs(memory.seq - place.seq) <= span


def _candidate(m: Memory) -> Candidate:
    return Candidate(
        m.id, m.type, m.session_id, m.seq, m.author, m.importance, m.confidence,
        to_ms(m.valid_from), to_ms(m.accessed_at), m.access_count, len(m.content),
        m.stale_at is not None, not m.is_open, m.needs_review,
    )  # fmt: skip


def _read_cursor(cursor: str, order: Order) -> tuple[float, str]:
    try:
        match json.loads(cursor):
            case [str(name), int() | float() as value, str(last)] if name == order.value:
                return value, last
            case _:
                pass
    except ValueError:
        pass
    raise UsageError(f"The cursor {cursor!r} does not belong to this listing.")


def _require_limit(limit: int) -> None:
    if limit < 0:
        raise UsageError(f"limit must be at least 0, not {limit}.")


def _cosine(left: Vector, right: Vector) -> float:
    a, b = array("f", left), array("f", right)
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def _tally(names: Sequence[str]) -> dict[str, int]:
    return {name: names.count(name) for name in dict.fromkeys(names)}
