"""What of a vector has to be the same on both engines: its codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.store.sqlite.search import quantization

if TYPE_CHECKING:
    from wellkept.core.ports.models import Vector


def vector_text(vector: Vector) -> str:
    """The codes of a stored vector as text; packing what was unpacked gives the same codes."""
    return quantization.pack(vector)[1].hex()
