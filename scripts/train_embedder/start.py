"""Vectors to start from: MiniLM and wordllama side by side."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from scripts.train_embedder.teacher import Teacher
from wellkept.models.embedders.words import CONTINUED, WordTokenizer

_SMOOTHING = 3e-4
_COUNTED_TEXTS = 150_000
_SEED = 12


def start_vectors(
    entries: list[str],
    tokenizer: WordTokenizer,
    pairs: dict[str, list[tuple[str, str]]],
    teacher: Teacher,
    *,
    wordllama: Path,
    dimension: int,
) -> np.ndarray:
    """One row an entry, then rows of chance for what is hashed."""
    words = [entry.removeprefix(CONTINUED) for entry in entries]
    first = teacher.embed(words, batch=256)
    second = _wordllama(words, wordllama)
    side_by_side = np.hstack([_centred(first), _centred(second)])
    _, _, axes = np.linalg.svd(side_by_side.T @ side_by_side)
    reduced = side_by_side @ axes[:dimension].T
    reduced /= np.linalg.norm(reduced, axis=1, keepdims=True) + 1e-9
    chance = np.random.default_rng(_SEED).standard_normal((tokenizer.size, dimension))
    chance /= np.linalg.norm(chance, axis=1, keepdims=True)
    rows = np.vstack([reduced, chance[len(entries) :]]).astype(np.float32)
    # To the teacher most words of other scripts are one unknown word.
    foreign = [number for number, entry in enumerate(entries) if not entry.isascii()]
    rows[foreign] = chance[foreign]
    return rows * _rarity(tokenizer, pairs)[:, None]


def _centred(vectors: np.ndarray) -> np.ndarray:
    vectors = vectors - vectors.mean(axis=0)
    return vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)


def _wordllama(words: list[str], package: Path) -> np.ndarray:
    table = load_file(package / "weights" / "l2_supercat_256.safetensors")[
        "embedding.weight"
    ].astype(np.float32)
    read = Tokenizer.from_file(str(package / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    read.no_padding()
    found = read.encode_batch(words, add_special_tokens=False)
    return np.stack([table[item.ids].mean(axis=0) if item.ids else table[0] for item in found])


def _rarity(tokenizer: WordTokenizer, pairs: dict[str, list[tuple[str, str]]]) -> np.ndarray:
    """Smooth inverse frequency of each row in the pairs."""
    counts: Counter[int] = Counter()
    seen = 0
    for kind in sorted(pairs):
        for pair in pairs[kind][: _COUNTED_TEXTS // 10]:
            for text in pair:
                counts.update(tokenizer.encode(text))
                seen += 1
    total = sum(counts.values())
    share = np.array([counts[i] / total for i in range(tokenizer.size)])
    return (_SMOOTHING / (_SMOOTHING + share)).astype(np.float32)
