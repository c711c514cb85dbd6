"""Read typed fields of a decoded JSON response.

Invariant: every function returns the type it names or raises `ProviderError`. Knows no vendor's
protocol.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar, cast

from wellkept.core.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


def json_object(value: object, *, what: str) -> dict[str, object]:
    """Expect a JSON object."""
    if not isinstance(value, dict):
        raise _wrong_type(what, "an object", value)
    return cast("dict[str, object]", value)


def json_array(value: object, *, what: str) -> list[object]:
    """Expect a JSON array."""
    if not isinstance(value, list):
        raise _wrong_type(what, "an array", value)
    return cast("list[object]", value)


def json_string(value: object, *, what: str) -> str:
    """Expect a JSON string."""
    if not isinstance(value, str):
        raise _wrong_type(what, "a string", value)
    return value


def number(value: object, *, what: str) -> float:
    """Expect a finite JSON number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _wrong_type(what, "a finite number", value)
    return float(value)


def numbers(value: object, *, what: str) -> list[float]:
    """Expect an array of finite numbers."""
    return [number(item, what=what) for item in json_array(value, what=what)]


def sort_by_index(items: Sequence[tuple[float, T]], *, count: int, what: str) -> list[T]:
    """Put items into the order of their `index`, which must run from 0 to `count` - 1."""
    by_index = {int(index): item for index, item in items}
    if len(items) != count or sorted(by_index) != list(range(count)):
        raise ProviderError(
            f"The server's {what} do not match the {count} texts sent.",
            hint="Check the address and the model's name.",
        )
    return [by_index[index] for index in range(count)]


def _wrong_type(what: str, expected: str, value: object) -> ProviderError:
    return ProviderError(
        f"The server's answer has {type(value).__name__} where {what} should be {expected}.",
        hint="Check the server's address.",
    )
