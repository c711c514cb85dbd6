"""Made-up memories of coding work, in any number, the same for the same seed.

Words follow Zipf's law as they do in real notes: a few are everywhere, most are rare; each memory
has a topic whose words it prefers. Vectors are random unit vectors that gather around their
topic, not embeddings of the text, so that a million of them take seconds. A row of the corpus
depends only on the seed and its number: the first 10,000 of a million are the 10,000.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from bench.phrases import COMMON_WORDS, FOLDERS, FRAMES, SENTENCES, SYLLABLES
from wellkept.core.clock import to_ms
from wellkept.core.memory import Memory
from wellkept.core.text import content_words, identifiers
from wellkept.core.types import MemoryType, Scope

BLOCK = 10_000
DIMENSION = 256
PROJECT_NAME = "bench-asked"
PROJECT = f"name:{PROJECT_NAME}"
OTHER_PROJECT = "name:bench-other"

_VOCABULARY = 40_000
_TOPICS = 200
_TOPIC_WORDS = 60
_TOPIC_SHARE = 0.35
_FLATTENING = 20  # Zipf-Mandelbrot: the most frequent word is about one in 150
_SLOTS = 6
_SPREAD = 1.1  # length of a vector's own part against 1 for its topic's
_QUERY_SPREAD = 0.7
_SESSION_LENGTH = 25
_OTHER_EVERY = 5
_FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)
_FIRST_MS = to_ms(_FIRST_DAY)
_TYPES = (
    MemoryType.FACT,
    MemoryType.GOTCHA,
    MemoryType.DECISION,
    MemoryType.PATTERN,
    MemoryType.CONVENTION,
    MemoryType.MODULE_INSIGHT,
    MemoryType.EPISODE,
    MemoryType.PREFERENCE,
)

Vectors: TypeAlias = NDArray[np.float32]
_Numbers: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that follow each other: memories, and one vector for each."""

    memories: list[Memory]
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class Query:
    """A question about one memory, with a vector near that memory's."""

    text: str
    vector: Vectors
    about: int


class Corpus:
    """The memories of one seed."""

    def __init__(self, *, seed: int = 7) -> None:
        self._seed = seed
        self._words = _vocabulary(random.Random(seed))
        rng = np.random.default_rng(seed)
        weights = 1.0 / (np.arange(_VOCABULARY) + 1.0 + _FLATTENING)
        self._cumulated = np.cumsum(weights / weights.sum())
        self._topic_words = rng.integers(300, _VOCABULARY, size=(_TOPICS, _TOPIC_WORDS))
        self._centres = _unit(rng.standard_normal((_TOPICS, DIMENSION), dtype=np.float32))

    def batches(self, rows: int, *, start: int = 0, size: int = 1_000) -> Iterator[Block]:
        """The rows from any `start` up to `rows`, at most `size` at a time."""
        for number in range(start // BLOCK, -(-rows // BLOCK)):
            block, first = self.block(number), number * BLOCK
            begin, end = max(start - first, 0), min(rows - first, BLOCK)
            for low in range(begin, end, size):
                part = slice(low, min(low + size, end))
                yield Block(block.memories[part], block.vectors[part])

    def block(self, number: int, *, count: int = BLOCK) -> Block:
        """One block, or the beginning of it."""
        texts = self._texts(np.random.default_rng((self._seed, number, 1)), self._topics(number))
        first = number * BLOCK
        return Block(
            [self._memory(first + i, text) for i, text in enumerate(texts[:count])],
            self.vectors(number, count=count),
        )

    def vectors(self, number: int, *, count: int = BLOCK) -> Vectors:
        """The vectors of a block alone, which are made much faster than its texts."""
        rng = np.random.default_rng((self._seed, number, 2))
        noise = rng.standard_normal((BLOCK, DIMENSION), dtype=np.float32)
        centres = self._centres[self._topics(number)]
        noise *= np.float32(_SPREAD / DIMENSION**0.5)
        return _unit(centres + noise)[:count]

    def _topics(self, number: int) -> _Numbers:
        return np.random.default_rng((self._seed, number)).integers(0, _TOPICS, size=BLOCK)

    def queries(self, count: int, *, rows: int) -> list[Query]:
        """Questions about memories of the asked project among the first rows."""
        chance = random.Random(f"{self._seed} queries {rows}")
        numbers = [n for n in (chance.randrange(rows) for _ in range(count * 2)) if is_asked(n)]
        blocks = {n // BLOCK for n in numbers[:count]}
        made = {b: self.block(b) for b in sorted(blocks)}
        rng = np.random.default_rng((self._seed, rows, count))
        return [
            self._query(chance, rng, made[n // BLOCK], about=n % BLOCK, row=n)
            for n in numbers[:count]
        ]

    # -- One memory, one question -----------------------------------------------------------------

    def _texts(self, rng: np.random.Generator, topics: _Numbers) -> list[str]:
        """Two sentences for each topic given, the second one only in half of the cases."""
        shape = (len(topics), 2 * _SLOTS)
        common = np.searchsorted(self._cumulated, rng.random(shape))
        own = self._topic_words[topics[:, np.newaxis], rng.integers(0, _TOPIC_WORDS, size=shape)]
        mixed = np.where(rng.random(shape) < _TOPIC_SHARE, own, common)
        numbers = cast("list[list[int]]", mixed.tolist())
        pairs = rng.integers(0, len(SENTENCES), size=(len(topics), 2))
        forms = cast("list[list[int]]", pairs.tolist())
        longer = cast("list[bool]", (rng.random(len(topics)) < 0.5).tolist())
        words = self._words
        texts: list[str] = []
        for row, (first, second), both in zip(numbers, forms, longer, strict=True):
            chosen = [words[n] for n in row]
            text = SENTENCES[first].format(*chosen[:_SLOTS])
            texts.append(f"{text} {SENTENCES[second].format(*chosen[_SLOTS:])}" if both else text)
        return texts

    def _memory(self, row: int, text: str) -> Memory:
        moment = _FIRST_DAY + timedelta(minutes=row)
        spread = (row * 2_654_435_761) & 0xFFFFFFFF
        in_session = spread % 10 < 6
        folder = FOLDERS[spread % len(FOLDERS)]
        return Memory(
            id=row_id(row),
            project=PROJECT if is_asked(row) else OTHER_PROJECT,
            type=_TYPES[spread % len(_TYPES)],
            content=text,
            created_at=moment,
            updated_at=moment,
            valid_from=moment,
            accessed_at=moment,
            files=(f"{folder}/{self._words[300 + spread % 2_000]}.py",) if spread & 256 else (),
            importance=0.2 + spread % 7 / 10,
            scope=Scope.GLOBAL,
            session_id=f"session-{row // _SESSION_LENGTH}" if in_session else None,
            seq=row % _SESSION_LENGTH if in_session else None,
        )

    def _query(
        self, chance: random.Random, rng: np.random.Generator, block: Block, *, about: int, row: int
    ) -> Query:
        known = list(dict.fromkeys(content_words(block.memories[about].content)))
        names = identifiers(block.memories[about].content)
        picked = chance.sample(known, k=min(len(known), chance.randint(2, 4)))
        if chance.random() < 0.4:
            picked.append(chance.choice(COMMON_WORDS))
        if names and chance.random() < 0.2:
            picked.append(chance.choice(names))
        text = chance.choice(FRAMES).format(" ".join(picked))
        noise = rng.standard_normal(DIMENSION, dtype=np.float32)
        noise *= np.float32(_QUERY_SPREAD / DIMENSION**0.5)
        vector = _unit((block.vectors[about] + noise)[np.newaxis, :])[0]
        return Query(text, vector, row)


def is_asked(row: int) -> bool:
    """Whether a row is of the project that the questions are asked in: four of five are."""
    return row % _OTHER_EVERY != 0


def row_id(row: int) -> str:
    """A UUIDv7 that sorts by row."""
    ms = _FIRST_MS + row * 60_000
    low = (row * 0x9E3779B97F4A7C15) & ((1 << 62) - 1)
    text = f"{ms << 80 | 0x7 << 76 | 0b10 << 62 | low:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def row_of(memory_id: str) -> int:
    """The row that an id was made for."""
    return (int(memory_id.replace("-", "")[:12], 16) - _FIRST_MS) // 60_000


def packed(vector: Vectors) -> bytes:
    """A vector as the ports want it."""
    return vector.astype("<f4").tobytes()


def _unit(vectors: Vectors) -> Vectors:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _vocabulary(chance: random.Random) -> list[str]:
    """Common words of the trade first, then invented names, all distinct."""
    words = dict.fromkeys(COMMON_WORDS)
    while len(words) < _VOCABULARY:
        stem = "".join(chance.choices(SYLLABLES, k=chance.randint(2, 3)))
        shape = chance.random()
        if shape < 0.7:
            words[stem] = None
        elif shape < 0.85:
            words[f"{chance.choice(COMMON_WORDS)}_{stem}"] = None
        else:
            words[f"{stem}{chance.choice(COMMON_WORDS).capitalize()}"] = None
    return list(words)
