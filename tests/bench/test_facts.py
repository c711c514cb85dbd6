"""The benchmark of single facts runs on the pairs that ship."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.facts import ASKED, PAIRS, load, measured
from wellkept import open as open_memory
from wellkept.testing.fakes import WordEmbedder

pytestmark = pytest.mark.feature("B1")


def test_plain_facts_asked_in_their_own_words_come_first(tmp_path: Path) -> None:
    facts = list(dict.fromkeys(fact for _, fact, _ in load(PAIRS)))[:20]
    pairs = [(label, fact, fact) for label in ASKED for fact in facts]
    path = tmp_path / "memory.db"
    with open_memory(path, project="facts", embedder=WordEmbedder()) as memory:
        figures = measured(pairs, memory)
    for label in ASKED:
        methods = figures[label]
        assert isinstance(methods, dict)
        recalled = methods["wellkept recall"]
        assert isinstance(recalled, dict)
        assert recalled["recall_at_1"] == 100.0
