"""Pack vectors as little-endian float32 of unit length.

Invariant: a packed vector has length one, or is all zeros for text without content; never NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_PACKED = np.dtype("<f4")


def pack_unit(values: npt.ArrayLike) -> bytes:
    """Scale to unit length and pack as little-endian float32."""
    vector = np.asarray(values, dtype=np.float64)
    length = float(np.sqrt(vector @ vector))
    scaled = vector / length if np.isfinite(length) and length > 0 else np.zeros_like(vector)
    return scaled.astype(_PACKED).tobytes()


def unpack(vector: bytes) -> npt.NDArray[np.float32]:
    """View a packed vector as an array."""
    return np.frombuffer(vector, dtype=_PACKED)


def cosine(left: bytes, right: bytes) -> float:
    """Return the cosine of two packed vectors of the same dimension."""
    return float(unpack(left) @ unpack(right))
