"""Turn any number of arbitrary texts into requests that a remote embedder accepts.

Invariants: one vector a text, in order; blank texts are not sent and become zero vectors; each
vector has exactly the promised dimension. Knows nothing of HTTP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.errors import ProviderError
from wellkept.core.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@record
class RequestLimits:
    """What one request may hold."""

    texts: int = 64
    chars: int = 100_000
    chars_per_text: int = 8_000


def embed_in_batches(
    texts: Sequence[str],
    *,
    request: Callable[[list[str]], list[list[float]]],
    limits: RequestLimits,
    dimension: int,
) -> list[bytes]:
    """Embed all `texts` with as many calls of `request` as the limits make necessary."""
    from wellkept.providers.embedders.vectors import pack_unit

    vectors = [bytes(4 * dimension)] * len(texts)
    wanted = [(i, _sendable(t, limits)) for i, t in enumerate(texts) if t.strip()]
    for batch in _batches(wanted, limits):
        found = request([text for _, text in batch])
        _check(found, count=len(batch), dimension=dimension)
        for (position, _), values in zip(batch, found, strict=True):
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


def _check(found: Sequence[Sequence[float]], *, count: int, dimension: int) -> None:
    if len(found) != count:
        raise ProviderError(
            f"The server sent {len(found)} vectors for {count} texts.",
            hint="Check that the address and the model are the right ones.",
        )
    wrong = {len(values) for values in found} - {dimension}
    if wrong:
        raise ProviderError(
            f"The server sent vectors of {min(wrong)} dimensions, {dimension} were asked for.",
            hint="Set the embedding dimension to what the model gives, or choose another model.",
        )
