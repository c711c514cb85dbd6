"""Log of injected context of an engine.

Written through `apply` (`PutInjection`, `PutVerdicts`, `PutSilence`) in one transaction with the
session whose events told of it. Deleting a memory deletes its text from the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wellkept.core.injections import (
        Injection,
        InjectionFilter,
        InjectionTotals,
        LineOutcome,
        LineUse,
        SilentLine,
    )
    from wellkept.core.query import Page


class InjectionLog(Protocol):
    """What agents were given, and what came of it."""

    def injections(
        self, where: InjectionFilter, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Injection]:
        """Injections with their lines, newest first. `total` counts all that match."""
        ...

    def line_uses(self, *, project: str, line_ids: Sequence[str] | None = None) -> list[LineUse]:
        """How lines fared, those given last first; None means every line of the project."""
        ...

    def line_outcomes(
        self, *, project: str, line_id: str, since: datetime | None = None
    ) -> list[LineOutcome]:
        """The outcome of a line in each session that was given it, latest session first;
        with `since`, only what was given after it."""
        ...

    def injection_totals(
        self, *, project: str | None, since: datetime | None = None
    ) -> InjectionTotals:
        """Totals of a project, or of all."""
        ...

    def silent_lines(self, *, project: str) -> list[SilentLine]:
        """Lines not to be injected unasked. A memory changed since then is not among them."""
        ...

    def prune_injections(self, *, before: datetime, keep_lines: int) -> int:
        """Delete injections before a moment, and the oldest above so many lines; returns how many
        were deleted."""
        ...
