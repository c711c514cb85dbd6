"""Measures of retrieval: recall, reciprocal rank and discounted gain, for items and for groups.

An answer is a ranked list; each item belongs to a group (a session), and groups rank by their
best item. Knows nothing of where the answers come from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from wellkept.core.codec import Json


@dataclass(frozen=True, slots=True)
class Answer:
    """What was returned, best first, and what should have been."""

    items: Sequence[str]
    groups: Sequence[str]
    wanted: frozenset[str]
    wanted_groups: frozenset[str]

    @property
    def ranked_groups(self) -> list[str]:
        """Groups in the order in which their first item appears."""
        return list(dict.fromkeys(self.groups))


@dataclass(frozen=True, slots=True)
class Measures:
    """Means over all questions, in percent."""

    HEADER: ClassVar[tuple[str, ...]] = (
        "r@5",
        "r@10",
        "MRR",
        "NDCG@10",
        "session r@5",
        "session r@10",
        "all@5",
        "all@10",
    )

    recall_5: float
    recall_10: float
    mrr: float
    ndcg_10: float
    group_recall_5: float
    group_recall_10: float
    group_all_5: float
    group_all_10: float

    def cells(self) -> list[str]:
        """The figures as text."""
        return [f"{value:.1f}" for value in self._values()]

    def as_json(self) -> dict[str, Json]:
        """The figures by name."""
        names = (
            "turn_recall_at_5",
            "turn_recall_at_10",
            "turn_mrr",
            "turn_ndcg_at_10",
            "session_recall_at_5",
            "session_recall_at_10",
            "session_recall_all_at_5",
            "session_recall_all_at_10",
        )
        return {name: round(value, 2) for name, value in zip(names, self._values(), strict=True)}

    def _values(self) -> tuple[float, ...]:
        return (
            self.recall_5,
            self.recall_10,
            self.mrr,
            self.ndcg_10,
            self.group_recall_5,
            self.group_recall_10,
            self.group_all_5,
            self.group_all_10,
        )


def measure(answers: Sequence[Answer]) -> Measures:
    """The means over all answers."""
    return Measures(
        recall_5=_mean([recall(a.items, a.wanted, 5) for a in answers]),
        recall_10=_mean([recall(a.items, a.wanted, 10) for a in answers]),
        mrr=_mean([reciprocal_rank(a.items, a.wanted) for a in answers]),
        ndcg_10=_mean([ndcg(a.items, a.wanted, 10) for a in answers]),
        group_recall_5=_mean([recall(a.ranked_groups, a.wanted_groups, 5) for a in answers]),
        group_recall_10=_mean([recall(a.ranked_groups, a.wanted_groups, 10) for a in answers]),
        group_all_5=_mean([recall_all(a.ranked_groups, a.wanted_groups, 5) for a in answers]),
        group_all_10=_mean([recall_all(a.ranked_groups, a.wanted_groups, 10) for a in answers]),
    )


def recall(ranked: Sequence[str], wanted: frozenset[str], depth: int) -> float:
    """The share of what is wanted among the first."""
    return len(wanted.intersection(ranked[:depth])) / len(wanted)


def recall_all(ranked: Sequence[str], wanted: frozenset[str], depth: int) -> float:
    """1 when everything wanted is among the first, else 0."""
    return float(wanted.issubset(ranked[:depth]))


def recall_any(ranked: Sequence[str], wanted: frozenset[str], depth: int) -> float:
    """1 when anything wanted is among the first, else 0."""
    return float(not wanted.isdisjoint(ranked[:depth]))


def reciprocal_rank(ranked: Sequence[str], wanted: frozenset[str]) -> float:
    """One over the place of the first wanted item."""
    return next((1 / place for place, item in enumerate(ranked, 1) if item in wanted), 0.0)


def ndcg(ranked: Sequence[str], wanted: frozenset[str], depth: int) -> float:
    """Discounted gain of the first items against the best order there could be."""
    gain = sum(
        1 / math.log2(place + 1) for place, item in enumerate(ranked[:depth], 1) if item in wanted
    )
    best = sum(1 / math.log2(place + 1) for place in range(1, min(depth, len(wanted)) + 1))
    return gain / best


def _mean(values: Sequence[float]) -> float:
    return 100 * sum(values) / len(values) if values else 0.0
