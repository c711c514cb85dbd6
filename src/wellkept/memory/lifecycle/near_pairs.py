"""Which vectors of a set are near each other.

All pairs are compared block by block as matrix products, half of them by symmetry: for one set
this is some hundred times faster than a search for each member. It is still quadratic: 10,000
vectors take seconds, 100,000 take minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from wellkept.core.ports.models import Vector
from wellkept.core.types import Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BLOCK_ROWS = 512
_MOST_NEIGHBOURS = 64


class NearPair(NamedTuple):
    """Two ids whose vectors are near, and their cosine."""

    left: str
    right: str
    cosine: float


def near_pairs(
    vectors: Iterable[tuple[str, Vector]], *, cut: float, progress: Progress | None = None
) -> Iterator[NearPair]:
    """Every pair with a cosine of at least `cut`, once; for one vector at most its 64 nearest
    among those that come after it."""
    named = list(vectors)
    if len(named) < 2:
        return
    matrix = _unit_rows([vector for _, vector in named])
    for start in range(0, len(named), _BLOCK_ROWS):
        cosines = matrix[start : start + _BLOCK_ROWS] @ matrix[start:].T
        for row, row_cosines in enumerate(cosines):
            for column in _nearest_after(row_cosines, row, cut):
                left, right = named[start + row][0], named[start + column][0]
                yield NearPair(left, right, float(row_cosines[column]))
        if progress:
            progress(min(start + _BLOCK_ROWS, len(named)), len(named))


def _nearest_after(cosines: NDArray[np.float32], row: int, cut: float) -> list[int]:
    import numpy as np

    columns = row + 1 + np.flatnonzero(cosines[row + 1 :] >= cut)
    best_first = columns[np.argsort(-cosines[columns], kind="stable")]
    return best_first[:_MOST_NEIGHBOURS].tolist()


def _unit_rows(vectors: list[Vector]) -> NDArray[np.float32]:
    import numpy as np

    matrix = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix.astype(np.float32) / np.maximum(lengths, np.float32(1e-12))
