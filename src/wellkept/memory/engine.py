"""What the memory operations stand on: a store, the models that happen to be there, time and ids.

Models come as functions so that an operation which needs none never loads one. Nothing in this
package knows where these things come from; `app` wires them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from wellkept.core.clock import Clock, system_clock, to_ms
from wellkept.core.errors import ProviderError
from wellkept.core.ids import IdSource
from wellkept.core.records import field, record
from wellkept.core.text import estimate_tokens
from wellkept.core.types import TYPE_RULES, Source

if TYPE_CHECKING:
    from wellkept.core.changes import IndexEntry
    from wellkept.core.memory import Memory
    from wellkept.core.ports.models import Embedder, Reranker, TextModel, Vector
    from wellkept.core.ports.store import Store


@record
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


@record
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

    def card(self, memory: Memory) -> IndexEntry:
        """The index card of one memory, embedded when its type is and a model is there."""
        return self.cards([memory])[0]

    def cards(self, memories: list[Memory]) -> list[IndexEntry]:
        """Index cards for several memories, embedded in one batch."""
        from wellkept.core.changes import IndexEntry
        from wellkept.memory.index_text import extra_text

        embedder = self.embedder()
        vectors = self._vectors(embedder, memories) if embedder is not None else {}
        model_id = embedder.model_id if embedder is not None else None
        return [
            IndexEntry(extra_text(m), model_id if m.id in vectors else None, vectors.get(m.id))
            for m in memories
        ]

    def refreshed_cards(self, memories: list[Memory]) -> list[IndexEntry | None]:
        """Index cards for memories whose labels changed but whose content did not.

        None, which leaves the indexes as they are, where a fresh card would cost a memory its
        vector because no embedder is at hand; a re-index then brings the labels up to date.
        """
        vectors_kept = bool(self.store.vector_models())
        return [
            None if card.vector is None and vectors_kept and is_embedded(memory) else card
            for memory, card in zip(memories, self.cards(memories), strict=True)
        ]

    def _vectors(self, embedder: Embedder, memories: list[Memory]) -> dict[str, Vector]:
        """The vectors of those memories that have one to give; text without words has none."""
        from wellkept.memory.index_text import embedding_text

        wanted = [m for m in memories if is_embedded(m)]
        if not wanted:
            return {}
        try:
            made = embedder.embed_documents([embedding_text(m) for m in wanted])
        except ProviderError as error:
            self.on_embedding_failure(error)
            return {}
        pairs = zip(wanted, made, strict=True)
        return {memory.id: vector for memory, vector in pairs if not is_blank(vector)}


def is_blank(vector: Vector) -> bool:
    """Whether a vector points nowhere: an embedder's answer to a text without words."""
    return not vector.strip(b"\0")


def is_embedded(memory: Memory) -> bool:
    """Whether a memory belongs in vector search: outcomes, costs and commit records do not."""
    return TYPE_RULES[memory.type].embedded and memory.source is not Source.COMMIT_AUTO
