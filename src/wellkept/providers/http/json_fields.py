"""Read fields out of a decoded JSON answer, refusing what has another shape.

Invariant: every function returns the type it names or raises `ProviderError`. Knows the shape
of JSON, not of any vendor's protocol.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar, cast

from wellkept.core.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


def table(value: object, *, what: str) -> dict[str, object]:
    """Expect a JSON object."""
    if not isinstance(value, dict):
        raise _surprise(what, "an object", value)
    return cast("dict[str, object]", value)


def rows(value: object, *, what: str) -> list[object]:
    """Expect a JSON array."""
    if not isinstance(value, list):
        raise _surprise(what, "an array", value)
    return cast("list[object]", value)


def text(value: object, *, what: str) -> str:
    """Expect a JSON string."""
    if not isinstance(value, str):
        raise _surprise(what, "a string", value)
    return value


def number(value: object, *, what: str) -> float:
    """Expect a finite JSON number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _surprise(what, "a finite number", value)
    return float(value)


def numbers(value: object, *, what: str) -> list[float]:
    """Expect an array of finite numbers."""
    return [number(item, what=what) for item in rows(value, what=what)]


def in_order_of_index(items: Sequence[tuple[float, T]], *, count: int, what: str) -> list[T]:
    """Put items into the order of their `index`, which must run from 0 to `count` - 1."""
    by_index = {int(index): item for index, item in items}
    if len(items) != count or sorted(by_index) != list(range(count)):
        raise ProviderError(
            f"The server's {what} do not match the {count} texts sent.",
            hint="Check that the address and the model are the right ones.",
        )
    return [by_index[index] for index in range(count)]


def _surprise(what: str, wanted: str, value: object) -> ProviderError:
    return ProviderError(
        f"The server's answer has {type(value).__name__} where {what} should be {wanted}.",
        hint="Check that the address is that of the right kind of server.",
    )
