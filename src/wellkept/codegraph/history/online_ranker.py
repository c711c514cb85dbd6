"""A ranking that starts from shipped weights and goes on learning from one repository.

A choice is a table of candidates by signals; the score of a candidate is a weighted sum. After
each choice the weights move so that what turned out right would have been likelier (softmax over
the candidates, AdaGrad steps), and are drawn gently back to the shipped ones. Deterministic.
Knows nothing of what the signals mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]

STEP = 0.15
CAUTION = 50.0
"""How much squared slope a weight has "seen" already: keeps the first steps small."""
PULL_BACK = 1e-3


class OnlineRanker:
    """Weights of one ranking, for one repository."""

    def __init__(
        self, weights: Sequence[float], *, caution: float = CAUTION, pull_back: float = PULL_BACK
    ) -> None:
        self._start = np.array(weights, dtype=np.float64)
        self._weights = self._start.copy()
        self._slopes = np.full(len(weights), caution)
        self._pull_back = pull_back

    def scores(self, table: Table) -> NDArray[np.float64]:
        """The score of each row."""
        return table @ self._weights

    def order(self, table: Table) -> list[int]:
        """Rows from the best to the worst; equal ones stay in their order."""
        return np.argsort(-self.scores(table), kind="stable").tolist()

    def learn(self, table: Table, right: NDArray[np.bool_]) -> None:
        """Take in which of the candidates were right; a choice without any teaches nothing."""
        hits = int(right.sum())
        if not hits:
            return
        scores = self.scores(table)
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        slope = table.T @ (right / hits - chances) - self._pull_back * (self._weights - self._start)
        self._slopes += slope * slope
        self._weights += STEP * slope / np.sqrt(self._slopes)

    @property
    def weights(self) -> tuple[float, ...]:
        """The weights as they stand."""
        return tuple(self._weights.tolist())
