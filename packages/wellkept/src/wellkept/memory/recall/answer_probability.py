"""How likely a memory answers a question: the calibrated part of a score.

Ranking compares candidates with each other; the best of a poor lot is still poor. This looks at
what a memory and the question have in common by itself: shared words, names, the cosine of their
vectors. The weights are learned (`weights.py`) on questions that the notes answer and on others
that nothing answers. Independent of the size of the store.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from wellkept.core.memory import Memory
from wellkept.core.records import record
from wellkept.core.text import STOP_WORDS, content_words, fold, stem
from wellkept.memory.recall.features import READ_CHARS, begins_a_word
from wellkept.memory.recall.query_plan import QueryPlan
from wellkept.memory.recall.retrievers import CandidateSet
from wellkept.memory.recall.weights import Clearness

SUPPORT = (
    *("covers", "similarity", "lead", "overlap", "shared", "named", "unnamed", "piece"),
    *("wordless", "wordless_similarity", "met", "wordless_lead", "wordless_met"),
)
"""The kinds of support, in the order in which `Question.support` gives them.

A memory that shares no word with the question has nothing but vectors to show. There a cosine means
something else than beside shared words, so they have kinds of their own (`wordless`).
"""
_FEWEST_WORDS = 3
_MOST_SHARED = 4
_LEAD_OVER = 8
# A small store has too few memories to tell how near an unrelated one comes: this share of the
# cosine of two texts that say the same, as in stores of a hundred notes.
_USUAL_BACKGROUND = 0.25
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w.+#-]*\w")


@record
class Question:
    """What a question offers to compare with, and the cosines of the candidates."""

    terms: frozenset[str]
    names: frozenset[str]
    pieces: frozenset[str]
    cosines: Mapping[str, float]
    background: float
    near: float

    @classmethod
    def of(cls, plan: QueryPlan, pool: CandidateSet, *, near: float) -> Question:
        """The question as planned; `near` is the cosine of two texts that say the same."""
        speakers = {part for speaker in plan.speakers for part in speaker.split()}
        cosines = pool.meaning or {}
        return cls(
            terms=frozenset(stem(word) for word in content_words(plan.meaning)),
            names=frozenset(_names(plan)) - speakers,
            pieces=frozenset(pool.fragments or ()) if pool.fragments_guessed else frozenset(),
            cosines=cosines,
            background=max(_background(cosines.values()), _USUAL_BACKGROUND * near),
            near=near,
        )

    def support(self, memory: Memory, *, covers: float, met: float = 0.0) -> tuple[float, ...]:
        """What speaks for a memory as an answer; `covers` and `met` are its features of that
        name."""
        text = " ".join(
            (memory.content[:READ_CHARS], *memory.tags, memory.key or "", *memory.files)
        )
        low = text.casefold()
        held = {stem(word) for word in content_words(text)}
        shared = sum(term in held or begins_a_word(term, low, text) for term in self.terms)
        shorter = max(min(len(self.terms), len(held)), min(_FEWEST_WORDS, len(self.terms)), 1)
        named = sum(name in low for name in self.names)
        cosine = max(0.0, self.cosines.get(memory.id, 0.0))
        similarity = min(1.0, cosine / self.near)
        lead = max(0.0, cosine - self.background) / self.near
        wordless = cosine > 0.0 and not shared
        return (
            covers,
            0.0 if wordless else similarity,
            0.0 if wordless else lead,
            min(1.0, shared / shorter),
            min(shared, _MOST_SHARED) / _MOST_SHARED,
            named / len(self.names) if self.names else 0.0,
            float(bool(self.names) and not named),
            float(memory.id in self.pieces),
            float(wordless),
            similarity if wordless else 0.0,
            0.0 if wordless else met,
            lead if wordless else 0.0,
            met if wordless else 0.0,
        )


def probability(support: Sequence[float], clearness: Clearness) -> float:
    """The probability that a memory with this support answers the question."""
    total = clearness.constant
    for name, value in zip(SUPPORT, support, strict=True):
        total += clearness.weights.get(name, 0.0) * value
    return 1.0 / (1.0 + math.exp(-total))


def _background(cosines: Iterable[float]) -> float:
    """How near a memory comes that has nothing to do with the question: the eighth nearest."""
    ordered = sorted(cosines, reverse=True)
    return max(0.0, ordered[_LEAD_OVER - 1]) if len(ordered) >= _LEAD_OVER else 0.0


def _names(plan: QueryPlan) -> list[str]:
    """Names in the question: from code, in text without spaces, and capitalised words."""
    said = [fold(each) for each in (*plan.fragments, *_NAME.findall(plan.query))]
    return [each for each in said if each not in STOP_WORDS]
