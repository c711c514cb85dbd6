"""What the rules for secrets give, count and share. Knows no rule."""

from __future__ import annotations

from wellkept.core.records import record


@record
class SecretSpan:
    """Position of a secret in a text, and the rule that found it."""

    rule: str
    start: int
    end: int


@record(frozen=False)
class WorkCount:
    """Number of positions examined: a measure of work that does not depend on the machine."""

    places: int = 0
