"""A linear ranker that starts from shipped weights and learns online from one repository.

Input is a table of candidates by signals; the score is a weighted sum. Each observed choice moves
the weights so that the right candidates become more likely (softmax, AdaGrad), with a pull towards
the shipped weights. Deterministic. Does not know what the signals mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]

STEP = 0.15
CAUTION = 50.0
"""Initial sum of squared gradients: keeps the first steps small."""
PULL_BACK = 1e-3


class OnlineRanker:
    """Weights of one ranking, for one repository."""

    def __init__(
        self, weights: Sequence[float], *, caution: float = CAUTION, pull_back: float = PULL_BACK
    ) -> None:
        self._start = np.array(weights, dtype=np.float64)
        self._weights = self._start.copy()
        self._squared_gradients = np.full(len(weights), caution)
        self._pull_back = pull_back

    def scores(self, table: Table) -> NDArray[np.float64]:
        """The score of each row."""
        return table @ self._weights

    def order(self, table: Table) -> list[int]:
        """Row indices, best first; stable for equal scores."""
        return np.argsort(-self.scores(table), kind="stable").tolist()

    def learn(self, table: Table, right: NDArray[np.bool_]) -> None:
        """Learn which candidates were right; nothing if none was."""
        hits = int(right.sum())
        if not hits:
            return
        scores = self.scores(table)
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        gradient = table.T @ (right / hits - chances) - self._pull_back * (
            self._weights - self._start
        )
        self._squared_gradients += gradient * gradient
        self._weights += STEP * gradient / np.sqrt(self._squared_gradients)

    @property
    def weights(self) -> tuple[float, ...]:
        """The current weights."""
        return tuple(self._weights.tolist())
