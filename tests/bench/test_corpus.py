"""The made-up memories: the same for the same seed, and shaped like real notes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bench.corpus import BLOCK, DIMENSION, PROJECT, Corpus, is_asked, packed, row_id, row_of
from wellkept.core.ids import is_full_id
from wellkept.core.text import content_words

pytestmark = pytest.mark.feature("B1")


def test_the_same_seed_gives_the_same_rows_whatever_the_size() -> None:
    few, again = Corpus(seed=3).block(0, count=50), Corpus(seed=3).block(0, count=80)
    assert few.memories == again.memories[:50]
    assert np.array_equal(few.vectors, again.vectors[:50])
    assert Corpus(seed=4).block(0, count=50).memories != few.memories


def test_blocks_follow_each_other_without_a_gap() -> None:
    batches = list(Corpus().batches(BLOCK + 5, start=BLOCK - 7, size=10))
    ids = [memory.id for batch in batches for memory in batch.memories]
    assert ids == [row_id(row) for row in range(BLOCK - 7, BLOCK + 5)]
    assert ids == sorted(ids)
    assert [len(batch.vectors) for batch in batches] == [7, 5]


def test_a_row_can_be_read_back_from_its_id() -> None:
    for row in (0, 1, 999_999):
        assert is_full_id(row_id(row))
        assert row_of(row_id(row)) == row


def test_vectors_are_of_unit_length_and_gather_around_topics() -> None:
    vectors = Corpus().vectors(0, count=500)
    assert vectors.shape == (500, DIMENSION)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    cosines = vectors @ vectors.T
    assert (cosines > 0.3).sum() > 500, "some memories share a topic"
    assert len(packed(vectors[0])) == 4 * DIMENSION


def test_a_few_words_are_everywhere_and_most_are_rare() -> None:
    memories = Corpus().block(0, count=2_000).memories
    counts = Counter(w for m in memories for w in set(content_words(m.content)))
    assert counts.most_common(1)[0][1] > 2_000 * 0.05
    assert sum(count <= 3 for count in counts.values()) > len(counts) / 2


def test_questions_are_short_and_about_a_memory_of_the_asked_project() -> None:
    corpus = Corpus()
    memories = corpus.block(0).memories
    queries = corpus.queries(40, rows=1_000)
    assert len(queries) == 40
    for query in queries:
        assert is_asked(query.about)
        assert query.about < 1_000
        assert memories[query.about].project == PROJECT
        assert 2 <= len(query.text.split()) <= 14
        shared = set(content_words(query.text)) & set(content_words(memories[query.about].content))
        assert shared
