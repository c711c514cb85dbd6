"""Rebuilds search indexes for the model in use and the current index text version.

Search keeps working: vectors of the old model are dropped once every memory has a new one. The
position is saved after each page, so an interrupted run resumes there. On an up-to-date store
nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from wellkept.core.codec import Json
from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter, Order, Page, Validity
from wellkept.core.records import record, replace
from wellkept.core.types import TYPE_RULES, Progress
from wellkept.memory.engine import INDEX_VERSION, Engine, is_embedded
from wellkept.models.embedders.bundled_models import SUPERSEDED

SPACE = "index"
PAGE = 256
_EMBEDDED_AT_ONCE = 64
_VERSION, _POSITION = "version", "reindex"
_EVERYTHING = Filter(project=None, validity=Validity.ANY, archived=None)
_NOT_EMBEDDED = tuple(kind.value for kind, rule in TYPE_RULES.items() if not rule.embedded)


@record
class ReindexReport:
    """Counts of one run. `dropped` counts vectors of other models."""

    model_id: str | None
    indexed: int
    dropped: int
    resumed: bool


@record
class _Position:
    """How far a pass over all memories has come. Saved as JSON."""

    model_id: str | None
    cursor: str | None = None
    done: int = 0

    def as_json(self) -> Json:
        return {
            "version": INDEX_VERSION,
            "model": self.model_id,
            "cursor": self.cursor,
            "done": self.done,
        }


def index_version(store: Store) -> int:
    """The index text version of the store's indexes."""
    found = store.get_value(SPACE, _VERSION)
    return found if isinstance(found, int) else 1


def set_index_version(store: Store) -> None:
    """Record that all indexes are of the current version."""
    store.put_value(SPACE, _VERSION, INDEX_VERSION)


def reindex(
    engine: Engine, *, force: bool = False, progress: Progress | None = None
) -> ReindexReport:
    """Add missing vectors; after a change of model or version, rebuild everything."""
    strict = replace(engine, on_embedding_failure=_stop)
    embedder = strict.embedder()
    model_id = embedder.model_id if embedder is not None else None
    former = [
        s.model_id for s in engine.store.vector_models() if model_id and s.model_id != model_id
    ]
    position = _saved_position(engine.store, model_id)
    outdated = index_version(engine.store) != INDEX_VERSION
    indexed = 0
    if force or former or outdated or position is not None:
        indexed += _walk(strict, position or _Position(model_id), progress)
    if model_id is not None:
        indexed += _fill(strict, _without_vector(engine.store, model_id), progress)
    dropped = sum(engine.store.drop_vectors(model_id=name) for name in former)
    if outdated:
        set_index_version(engine.store)
    if position is not None or indexed:
        engine.store.put_value(SPACE, _POSITION, None)
    return ReindexReport(model_id, indexed, dropped, resumed=position is not None)


def fill_vectors(engine: Engine, *, most: int) -> int:
    """Make up to `most` missing vectors and return how many were made.

    When the default model has changed, all are made anew. Between two other models it does
    nothing: rebuilding everything is the user's decision.
    """
    embedder = engine.embedder()
    if embedder is None:
        return 0
    models = {share.model_id for share in engine.store.vector_models()}
    former = models - {embedder.model_id}
    if former and former <= SUPERSEDED.keys():
        return reindex(engine).indexed
    if former:
        return 0
    strict = replace(engine, on_embedding_failure=_stop)
    return _fill(strict, islice(_without_vector(engine.store, embedder.model_id), most), None)


def has_superseded_vectors(store: Store) -> bool:
    """Whether vectors of a former default model wait to be made anew."""
    return any(share.model_id in SUPERSEDED for share in store.vector_models())


def vector_coverage(store: Store, model_id: str | None) -> tuple[int, int]:
    """How many open memories have a vector of the model, and how many should."""
    kinds = tuple(kind for kind, rule in TYPE_RULES.items() if rule.embedded)
    open_ones = Filter(project=None, types=kinds, archived=None)
    stats = store.stats(open_ones)
    wanted = stats.total - stats.by_source.get("commit_auto", 0)
    if model_id is None:
        return 0, wanted
    missing = sum(is_embedded(memory) for memory in _without_vector(store, model_id))
    return wanted - missing, wanted


def _stop(error: ProviderError) -> None:
    raise error


def _saved_position(store: Store, model_id: str | None) -> _Position | None:
    kept = store.get_value(SPACE, _POSITION)
    if not isinstance(kept, dict) or kept.get("model") != model_id:
        return None
    cursor, done = kept.get("cursor"), kept.get("done")
    if kept.get("version") != INDEX_VERSION or not isinstance(cursor, str):
        return None
    return _Position(model_id, cursor, done if isinstance(done, int) else 0)


def _walk(engine: Engine, position: _Position, progress: Progress | None) -> int:
    """Make the cards of every memory anew, page by page; returns how many were made."""
    made = 0
    while True:
        page = _page(engine.store, position)
        if page is None:
            position = _Position(position.model_id)
            continue
        for start in range(0, len(page.items), _EMBEDDED_AT_ONCE):
            batch = page.items[start : start + _EMBEDDED_AT_ONCE]
            made += _make_cards(engine, batch)
            position = replace(position, done=position.done + len(batch))
            if progress:
                progress(position.done, max(page.total, position.done))
        if page.next_cursor is None:
            return made
        position = replace(position, cursor=page.next_cursor)
        engine.store.put_value(SPACE, _POSITION, position.as_json())


def _page(store: Store, position: _Position) -> Page[Memory] | None:
    """The next page; None when the saved cursor is of another engine version."""
    try:
        return store.list(_EVERYTHING, order=Order.OLDEST, limit=PAGE, cursor=position.cursor)
    except UsageError:
        if position.cursor is None:
            raise
        return None


def _fill(engine: Engine, missing: Iterable[Memory], progress: Progress | None) -> int:
    """Make the cards of memories that have no vector of the model yet."""
    made = 0
    waiting: list[Memory] = []
    for memory in missing:
        if is_embedded(memory):
            waiting.append(memory)
        if len(waiting) == _EMBEDDED_AT_ONCE:
            made += _make_cards(engine, waiting)
            waiting = []
            if progress:
                progress(made, made + _EMBEDDED_AT_ONCE)
    made += _make_cards(engine, waiting)
    if progress and made:
        progress(made, made)
    return made


def _without_vector(store: Store, model_id: str) -> Iterator[Memory]:
    after: str | None = None
    while batch := store.memories_without_vector(
        model_id=model_id, skip_types=_NOT_EMBEDDED, after=after, limit=PAGE
    ):
        yield from batch
        after = batch[-1].id


def _make_cards(engine: Engine, memories: Sequence[Memory]) -> int:
    if memories:
        cards = engine.index_entries(list(memories))
        engine.store.put_index_entries([(m.id, c) for m, c in zip(memories, cards, strict=True)])
    return len(memories)
