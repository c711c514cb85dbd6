"""Vectors as every engine stores them: eight bits a number, with one scale."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError

if TYPE_CHECKING:
    from wellkept.core.ports.models import Vector

_STEPS = 127


_WHOLE = 1.5 * 2**23


def require_packed(vector: Vector) -> None:
    """UsageError unless the bytes are a vector of finite float32 numbers, not all zero."""
    if not vector or len(vector) % 4:
        raise UsageError(f"A vector of {len(vector)} bytes is not packed float32 numbers.")
    numbers = _floats(vector)
    if not math.isfinite(sum(numbers)) or not any(numbers):
        raise UsageError("A vector must hold finite numbers that are not all zero.")


def require_dimension(model_id: str, *, stored: int, given: int) -> None:
    """UsageError when the dimension differs from that of the model's stored vectors."""
    if stored != given:
        raise UsageError(
            f"Vectors of {model_id} have {stored} dimensions here, not {given}.",
            hint="Give the model another id, or drop its vectors and re-index.",
        )


def pack(vector: Vector) -> tuple[float, bytes]:
    """The scale and the codes of a vector."""
    numbers = _floats(vector)
    factor = _STEPS / max(abs(min(numbers)), abs(max(numbers)))
    # Adding 1.5 * 2**23 rounds to an integer in the lowest byte of the float: twice as fast as
    # `round`, which dominates bulk loads.
    codes = array("f", [n * factor + _WHOLE for n in numbers]).tobytes()[::4]
    return 1.0 / math.hypot(*array("b", codes)), codes


def unpack(scale: float, codes: bytes) -> Vector:
    """The unit vector of the codes."""
    return array("f", [n * scale for n in array("b", codes)]).tobytes()


def unpack_many(packed: Sequence[tuple[float, bytes]]) -> list[Vector]:
    """The unit vectors of many codes; with numpy, which a write does without."""
    import numpy as np

    if len({len(codes) for _, codes in packed}) > 1:  # damaged: `doctor` says so
        return [one for row in packed for one in unpack_many([row])]
    numbers = np.frombuffer(b"".join(codes for _, codes in packed), dtype=np.int8)
    scales = np.array([scale for scale, _ in packed])
    whole = numbers.reshape(len(packed), -1) * scales[:, np.newaxis]
    return [row.tobytes() for row in whole.astype("<f4")]


def codes(packed: bytes) -> array[int]:
    """The codes as numbers."""
    return array("b", packed)


def unpack_codes(numbers: Sequence[float]) -> Vector:
    """The unit vector of codes given as numbers."""
    scale = 1.0 / math.hypot(*numbers)
    return array("f", [n * scale for n in numbers]).tobytes()


def _floats(vector: Vector) -> array[float]:
    return array("f", vector)
