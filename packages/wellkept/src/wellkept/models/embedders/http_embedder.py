"""Base class of embedders over HTTP: texts are sent in batches within the server's limits.

Invariants: one vector per text, in order; blank texts are not sent and become zero vectors; every
vector has the promised dimension.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from wellkept.core.errors import ProviderError
from wellkept.core.records import record, replace
from wellkept.models.embedders.settings import DEFAULT_DIMENSION, DEFAULT_MODELS, ModelName
from wellkept.models.http.client import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

QUERY_LIMIT_S = 10.0
QUERY_ATTEMPTS = 2


@record
class RequestLimits:
    """Size limits of one request."""

    texts: int = 64
    chars: int = 100_000
    chars_per_text: int = 8_000


class RemoteEmbedder(ABC):
    """Embeds with a model on a server."""

    provider: ClassVar[str]
    limits: ClassVar[RequestLimits]

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        model: str | None = None,
        dimension: int = DEFAULT_DIMENSION,
    ) -> None:
        self._endpoint = endpoint
        self._model = model or DEFAULT_MODELS[self.provider]
        self._dimension = dimension

    @property
    def model_id(self) -> str:
        return ModelName(self.provider, self._dimension, self._model).model_id

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed texts to search in."""
        return self._embed(texts, self._endpoint)

    def embed_query(self, text: str) -> bytes:
        """Embed a search query. Somebody waits, and can be answered by words alone, so a server
        that is silent is not waited for as long as with texts."""
        usual = self._endpoint
        retries = replace(usual.retries, attempts=min(usual.retries.attempts, QUERY_ATTEMPTS))
        limit_s = min(usual.timeout_s, QUERY_LIMIT_S)
        return self._embed([text], replace(usual, timeout_s=limit_s, retries=retries))[0]

    def _embed(self, texts: Sequence[str], endpoint: Endpoint) -> list[bytes]:
        return _embed_in_batches(
            texts,
            request=lambda batch: self._request(batch, endpoint),
            limits=self.limits,
            dimension=self._dimension,
        )

    @abstractmethod
    def _request(self, texts: list[str], endpoint: Endpoint) -> list[list[float]]:
        """Send one request; vectors in the order of the texts."""


def _embed_in_batches(
    texts: Sequence[str],
    *,
    request: Callable[[list[str]], list[list[float]]],
    limits: RequestLimits,
    dimension: int,
) -> list[bytes]:
    """Embed all `texts`, split into requests within the limits."""
    from wellkept.models.embedders.words import pack_unit

    vectors = [bytes(4 * dimension)] * len(texts)
    numbered = [(i, _sendable(t, limits)) for i, t in enumerate(texts) if t.strip()]
    for batch in _batches(numbered, limits):
        rows = request([text for _, text in batch])
        _check(rows, count=len(batch), dimension=dimension)
        for (position, _), values in zip(batch, rows, strict=True):
            vectors[position] = pack_unit(values)
    return vectors


def _sendable(text: str, limits: RequestLimits) -> str:
    # Lone surrogates have no UTF-8 form, and some servers refuse or mangle them.
    return text[: limits.chars_per_text].encode("utf-8", "replace").decode("utf-8")


def _batches(
    items: Sequence[tuple[int, str]], limits: RequestLimits
) -> Iterator[list[tuple[int, str]]]:
    batch: list[tuple[int, str]] = []
    chars = 0
    for item in items:
        if batch and (len(batch) >= limits.texts or chars + len(item[1]) > limits.chars):
            yield batch
            batch, chars = [], 0
        batch.append(item)
        chars += len(item[1])
    if batch:
        yield batch


def _check(rows: Sequence[Sequence[float]], *, count: int, dimension: int) -> None:
    if len(rows) != count:
        raise ProviderError(
            f"The server sent {len(rows)} vectors for {count} texts.",
            hint="Check the address and the model's name.",
        )
    wrong = {len(values) for values in rows} - {dimension}
    if wrong:
        raise ProviderError(
            f"The server sent vectors of {min(wrong)} dimensions, {dimension} were asked for.",
            hint="Set embedding.dimension to the model's, or choose another model.",
        )
