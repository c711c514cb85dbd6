"""BM25 over words in memory, one field, documents that come and go: the peer of code search."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from heapq import nlargest
from math import log

K1, B = 1.2, 0.75


class PlainBm25:
    """Documents by name, each a bag of words."""

    def __init__(self) -> None:
        self._holding: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._words: dict[str, Counter[str]] = {}
        self._length: dict[str, int] = {}
        self._total = 0

    def put(self, name: str, words: Iterable[str]) -> None:
        """Keep a document in place of the one of that name."""
        self.drop(name)
        counted = Counter(words)
        self._words[name] = counted
        self._length[name] = counted.total()
        self._total += counted.total()
        for word, count in counted.items():
            self._holding[word][name] = count

    def drop(self, name: str) -> None:
        """Forget a document, if it is there."""
        for word in self._words.pop(name, ()):
            del self._holding[word][name]
        self._total -= self._length.pop(name, 0)

    def search(self, words: Iterable[str], *, limit: int) -> list[str]:
        """The names of the best documents."""
        count = len(self._length)
        average = self._total / count if self._total else 1.0
        scores: defaultdict[str, float] = defaultdict(float)
        for word in dict.fromkeys(words):
            holding = self._holding.get(word, {})
            rarity = log(1 + (count - len(holding) + 0.5) / (len(holding) + 0.5))
            for name, times in holding.items():
                room = K1 * (1 - B + B * self._length[name] / average)
                scores[name] += rarity * times * (K1 + 1) / (times + room)
        return nlargest(limit, scores, key=lambda name: (scores[name], name))
