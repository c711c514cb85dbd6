"""Texts of one subject, by the teacher's vectors: k-means in two levels."""

from __future__ import annotations

import numpy as np

_SUBJECTS = 320
_MEMBERS = 40
_ROUNDS = 5
_OF_ONE_DRAW = 32


class Subjects:
    """Groups of some forty texts that the teacher holds for alike."""

    def __init__(self, vectors: np.ndarray, seed: int) -> None:
        choose = np.random.default_rng(seed)
        self._groups: list[np.ndarray] = []
        coarse = _nearest(vectors, min(_SUBJECTS, len(vectors) // 100 + 1), choose)
        for subject in range(int(coarse.max()) + 1):
            members = np.flatnonzero(coarse == subject)
            if len(members) < 2 * _MEMBERS:
                self._groups.append(members)
                continue
            fine = _nearest(vectors[members], len(members) // _MEMBERS, choose)
            self._groups += [members[fine == group] for group in range(int(fine.max()) + 1)]
        self._groups = [members for members in self._groups if len(members) >= 8]

    def draw(self, count: int, choose: np.random.Generator) -> np.ndarray:
        """So many texts of a few subjects."""
        rows: list[np.ndarray] = []
        size = 0
        while size < count:
            members = self._groups[int(choose.integers(len(self._groups)))]
            part = choose.choice(members, min(len(members), _OF_ONE_DRAW), replace=False)
            rows.append(part)
            size += len(part)
        return np.unique(np.concatenate(rows))[:count]


def _nearest(vectors: np.ndarray, groups: int, choose: np.random.Generator) -> np.ndarray:
    """The group of each vector."""
    sample = vectors[choose.choice(len(vectors), min(len(vectors), 60 * groups), replace=False)]
    sample = sample.astype(np.float32)
    centres = sample[choose.choice(len(sample), groups, replace=False)]
    for _ in range(_ROUNDS):
        nearest = (sample @ centres.T).argmax(axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, sample)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-9), centres)
    return np.concatenate(
        [
            (vectors[begin : begin + 20_000].astype(np.float32) @ centres.T).argmax(axis=1)
            for begin in range(0, len(vectors), 20_000)
        ]
    )
