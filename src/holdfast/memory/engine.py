"""What the memory operations stand on: a store, the models that happen to be there, time and ids.

Models come as functions so that an operation which needs none never loads one. Nothing in this
package knows where these things come from; `app` wires them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from holdfast.core.clock import Clock, system_clock, to_ms
from holdfast.core.errors import ProviderError
from holdfast.core.ids import IdSource
from holdfast.core.memory import Memory
from holdfast.core.ports import Embedder, IndexCard, Reranker, Store, TextModel, Vector
from holdfast.core.text import estimate_tokens
from holdfast.core.types import TYPE_RULES, Source


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cosine cut-offs of the embedding model in use; the defaults are the nominal values.

    Raw cosines differ between models, so each model's values are calibrated on labelled pairs.
    """

    related: float = 0.80
    duplicate: float = 0.85
    known: float = 0.88
    same: float = 0.90


def _nothing() -> None:
    return None


def _raise(error: ProviderError) -> None:
    raise error


@dataclass(frozen=True, slots=True)
class Engine:
    """The parts that remembering and recalling are made of.

    When embedding fails while something is kept, `on_embedding_failure` decides: it raises, or
    takes note, and the memory is kept without a vector until a re-index.
    """

    store: Store
    embedder: Callable[[], Embedder | None] = _nothing
    thresholds: Callable[[], Thresholds] = Thresholds
    text_model: Callable[[], TextModel | None] = _nothing
    reranker: Callable[[], Reranker | None] = _nothing
    on_embedding_failure: Callable[[ProviderError], None] = _raise
    clock: Clock = system_clock
    new_id: Callable[[], str] = field(
        default_factory=lambda: IdSource(lambda: to_ms(system_clock()))
    )
    count_tokens: Callable[[str], int] = estimate_tokens

    def card(self, memory: Memory) -> IndexCard:
        """The index card of one memory, embedded when its type is and a model is there."""
        return self.cards([memory])[0]

    def cards(self, memories: list[Memory]) -> list[IndexCard]:
        """Index cards for several memories, embedded in one batch."""
        from holdfast.memory.indexing import embedding_text, extra_text

        embedder = self.embedder()
        wanted = [m for m in memories if embedder is not None and is_embedded(m)]
        vectors: dict[str, Vector] = {}
        if embedder is not None and wanted:
            try:
                made = embedder.embed_documents([embedding_text(m) for m in wanted])
                vectors = dict(zip((m.id for m in wanted), made, strict=True))
            except ProviderError as error:
                self.on_embedding_failure(error)
        model_id = embedder.model_id if embedder is not None else None
        return [
            IndexCard(extra_text(m), model_id if m.id in vectors else None, vectors.get(m.id))
            for m in memories
        ]


def is_embedded(memory: Memory) -> bool:
    """Whether a memory belongs in vector search: outcomes, costs and commit records do not."""
    return TYPE_RULES[memory.type].embedded and memory.source is not Source.COMMIT_AUTO
