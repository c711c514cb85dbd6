"""Dependencies shared by all memory operations: store, models, clock, ids.

Models are functions, so that an operation that needs none never loads one. `api` builds the
engine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from wellkept.core.clock import Clock, date_words, system_clock, to_ms
from wellkept.core.errors import ProviderError
from wellkept.core.ids import IdSource
from wellkept.core.memory import Memory
from wellkept.core.payloads import Decision
from wellkept.core.records import field, record
from wellkept.core.text import cjk_pairs, cjk_runs, estimate_tokens, identifiers, split_identifier
from wellkept.core.types import TYPE_RULES, Source

if TYPE_CHECKING:
    from wellkept.core.changes import IndexEntry
    from wellkept.core.ports.models import Embedder, Reranker, TextModel, Vector
    from wellkept.core.ports.store import KeyValueStore, Store


@record
class Thresholds:
    """Cosine thresholds of the embedding model in use; the defaults are nominal.

    Cosines differ between models, so the values of each are calibrated on labelled pairs.
    """

    related: float = 0.80
    duplicate: float = 0.85
    known: float = 0.88
    same: float = 0.90


def _nothing() -> None:
    return None


def _raise(error: ProviderError) -> None:
    raise error


@record
class Engine:
    """Store, models, clock and ids.

    When embedding fails on a write, `on_embedding_failure` raises or takes note; then the memory is
    stored without a vector until a re-index. `text_model` is for work in the background and may
    take minutes; `query_model` is for a search that somebody waits for.
    """

    store: Store
    embedder: Callable[[], Embedder | None] = _nothing
    thresholds: Callable[[], Thresholds] = Thresholds
    text_model: Callable[[], TextModel | None] = _nothing
    query_model: Callable[[], TextModel | None] = _nothing
    reranker: Callable[[], Reranker | None] = _nothing
    on_embedding_failure: Callable[[ProviderError], None] = _raise
    clock: Clock = system_clock
    new_id: Callable[[], str] = field(
        default_factory=lambda: IdSource(lambda: to_ms(system_clock()))
    )
    count_tokens: Callable[[str], int] = estimate_tokens

    def index_entry(self, memory: Memory) -> IndexEntry:
        """The index entry of one memory, with a vector if its type has one and a model exists."""
        return self.index_entries([memory])[0]

    def index_entries(self, memories: list[Memory]) -> list[IndexEntry]:
        """Index entries of several memories, embedded in one batch."""
        from wellkept.core.changes import IndexEntry

        embedder = self.embedder()
        vectors = self._vectors(embedder, memories) if embedder is not None else {}
        model_id = embedder.model_id if embedder is not None else None
        return [
            IndexEntry(extra_text(m), model_id if m.id in vectors else None, vectors.get(m.id))
            for m in memories
        ]

    def refreshed_entries(self, memories: list[Memory]) -> list[IndexEntry | None]:
        """Index entries of memories whose labels changed but whose content did not.

        None leaves the indexes as they are, where a new entry would lose the vector because no
        embedder is available; a re-index then updates the labels.
        """
        has_vectors = bool(self.store.vector_models())
        return [
            None if entry.vector is None and has_vectors and is_embedded(memory) else entry
            for memory, entry in zip(memories, self.index_entries(memories), strict=True)
        ]

    def _vectors(self, embedder: Embedder, memories: list[Memory]) -> dict[str, Vector]:
        """The vectors of the memories that have one; text without words has none."""

        embedded = [m for m in memories if is_embedded(m)]
        if not embedded:
            return {}
        try:
            made = embedder.embed_documents([embedding_text(m) for m in embedded])
        except ProviderError as error:
            self.on_embedding_failure(error)
            return {}
        pairs = zip(embedded, made, strict=True)
        return {memory.id: vector for memory, vector in pairs if not is_zero_vector(vector)}


def is_zero_vector(vector: Vector) -> bool:
    """Whether all components are 0, as for a text without words."""
    return not vector.strip(b"\0")


def is_embedded(memory: Memory) -> bool:
    """Whether a memory belongs in vector search: outcomes, costs and commit records do not."""
    return TYPE_RULES[memory.type].embedded and memory.source is not Source.COMMIT_AUTO


_METER = "summary_tokens"


def tokens_used_today(engine: Engine) -> int:
    """Tokens of today's requests and their maximal answers."""
    used = engine.store.get_value(_METER, _today(engine))
    return used if isinstance(used, int) else 0


def spend_tokens(engine: Engine, cost: int, *, daily_tokens: int) -> bool:
    """Spend tokens of today's budget; False when it is exhausted."""
    return engine.store.try_increment(_METER, _today(engine), cost, limit=daily_tokens)


def refund_tokens(engine: Engine, cost: int) -> None:
    """Give back tokens of a request that was not made."""
    engine.store.try_increment(_METER, _today(engine), -cost, limit=1 << 60)


def charge_tokens(store: KeyValueStore, tokens: int, *, day: str) -> None:
    """Add tokens that a request took beyond what was spent for it, whatever the budget."""
    if tokens > 0:
        store.try_increment(_METER, day, tokens, limit=1 << 60)


def _today(engine: Engine) -> str:
    return engine.clock().date().isoformat()


INDEX_VERSION = 2
EMBEDDED_CHARS = 8_000
_NAMED_FILES = 5


def extra_text(memory: Memory) -> str:
    """Search terms that are not whole words of the content."""
    parts = (
        memory.author or "",
        date_words(memory.valid_from),
        memory.key.replace("_", " ") if memory.key else "",
        *memory.tags,
        *_path_terms(memory),
        *(part for name in identifiers(memory.content) for part in split_identifier(name)),
        memory.payload.subject if isinstance(memory.payload, Decision) else "",
        *(pair for run in cjk_runs(memory.content) for pair in cjk_pairs(run)),
    )
    return " ".join(dict.fromkeys(part for part in parts if part))


def embedding_text(memory: Memory) -> str:
    """The text to embed."""
    return memory.content[:EMBEDDED_CHARS]


def _path_terms(memory: Memory) -> list[str]:
    """Terms of the first files and of the modules of a memory.

    None for commit records: they touch files without being about each, and are found by links.
    """
    if memory.source is Source.COMMIT_AUTO:
        return []
    names = [_file_name(path) for path in memory.files[:_NAMED_FILES]]
    return [part for name in (*names, *memory.modules) for part in (name, *split_identifier(name))]


@lru_cache(maxsize=1024)
def _file_name(path: str) -> str:
    return PurePosixPath(path).name
