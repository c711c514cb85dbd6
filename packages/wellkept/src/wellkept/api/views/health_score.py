"""The health score: how far a project's memory can be trusted and is of use, from 0 to 100.

The score is the weighted sum of its parts; a part that nothing was measured of gives no points, so
that a memory which nobody uses is never in full health. Knows no store: it is given counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from wellkept.core.records import record

USED_SHARE_OF_FULL_MARKS: Final = 0.5
"""No memory fits every session: where half of the lines given are used, nothing is to be wished."""
WEIGHTS: Final[Mapping[str, int]] = MappingProxyType(
    {"reviewed": 25, "used": 25, "current": 20, "harmless": 10, "covered": 10, "indexed": 10}
)


@record(kw_only=True)
class ScoreShare:
    """So many of so many."""

    part: int
    whole: int


@record(kw_only=True)
class HealthPart:
    """One part of the score. `value` is between 0 and 1 and None when nothing was measured.

    reviewed: statements that do not wait for review. used: lines given that could show use and
    did; half of them is full marks. current: statements whose files exist. harmless: lines given
    that could show use and did no harm. covered: modules that a memory names. indexed: memories
    with a vector.
    """

    name: str
    weight: int
    value: float | None
    part: int | None
    whole: int | None


@record(kw_only=True)
class HealthScore:
    """The score and its parts; None while there is nothing to judge."""

    score: int | None
    parts: tuple[HealthPart, ...]


def health_score(shares: Mapping[str, ScoreShare | None], *, is_empty: bool) -> HealthScore:
    """The score from what was counted; a part without a count is not measured."""
    parts = tuple(_part(name, weight, shares.get(name)) for name, weight in WEIGHTS.items())
    measured = [(one.weight, one.value) for one in parts if one.value is not None]
    if is_empty or not measured:
        return HealthScore(score=None, parts=parts)
    total = sum(weight * value for weight, value in measured)
    return HealthScore(score=round(100 * total / sum(WEIGHTS.values())), parts=parts)


def _part(name: str, weight: int, share: ScoreShare | None) -> HealthPart:
    if share is None or share.whole <= 0:
        return HealthPart(name=name, weight=weight, value=None, part=None, whole=None)
    value = share.part / share.whole
    if name == "used":
        value /= USED_SHARE_OF_FULL_MARKS
    value = round(min(1.0, max(0.0, value)), 4)
    return HealthPart(name=name, weight=weight, value=value, part=share.part, whole=share.whole)
