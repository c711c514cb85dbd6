"""Log of injected context: which lines an agent was given, when, and what came of each.

An injection is one moment (session start, prompt, file, command, failure) with its lines. A line
has a stable id: its memory's id, or one made from its text. Its outcome is decided by rule from
what the session did afterwards. Counts are per session: a line given five times in one session and
used once was used in that session.

Written through `apply` (`PutInjection`, `PutVerdicts`, `PutSilence`) in one transaction with the
session whose events told of it. Deleting a memory deletes its text from the log.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from wellkept.core.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.query import Page


class LineOutcome(StrEnum):
    """What came of an injected line, weakest first.

    `unclear` is for what no visible act can show, such as a rule that forbids something.
    """

    OPEN = "open"
    IGNORED = "ignored"
    UNCLEAR = "unclear"
    USED = "used"
    HARM = "harm"


@record
class LineScore:
    """Why a line was chosen over others: its weight in the ranking, and importance and confidence
    of its memory at that moment."""

    score: float
    importance: float | None = None
    confidence: float | None = None


@record(kw_only=True)
class InjectedLine:
    """One line as it was injected.

    `kind` is the type of its memory, or the section it stood in. `work_tokens` is what finding it
    out cost, None when nobody measured it. `outcome_by` names the sign: a file, a command, words.
    `score` is None where nothing was ranked.
    """

    line_id: str
    kind: str
    text: str
    memory_id: str | None = None
    reason: str = ""
    tokens: int = 0
    work_tokens: int | None = None
    outcome: LineOutcome = LineOutcome.OPEN
    outcome_by: str = ""
    outcome_at: datetime | None = None
    score: LineScore | None = None


@record(kw_only=True)
class Injection:
    """Lines injected at one moment. `trigger` is the prompt, file or command that asked for them;
    `tokens` counts the whole text with its frame."""

    id: str
    at: datetime
    project: str
    client: str
    session_id: str
    moment: str
    agent: str | None = None
    trigger: str = ""
    tokens: int = 0
    lines: tuple[InjectedLine, ...] = ()


@record(kw_only=True)
class InjectionFilter:
    """Which injections to list; None means any. With a line or an outcome only such lines are
    listed."""

    project: str | None = None
    session_id: str | None = None
    moment: str | None = None
    line_id: str | None = None
    outcome: LineOutcome | None = None


@record(kw_only=True)
class LineUse:
    """How a line fared: how often it was given, and in how many sessions with which outcome."""

    line_id: str
    kind: str
    given: int
    sessions: int
    used: int = 0
    ignored: int = 0
    unclear: int = 0
    harm: int = 0
    tokens: int = 0
    reused_tokens: int = 0
    first_at: datetime
    last_at: datetime
    last_used_at: datetime | None = None

    also_shown = ("saved_tokens",)

    @property
    def saved_tokens(self) -> int:
        """Net estimate: what the sessions that used it did not spend on finding it out again,
        less what giving it cost. Negative when it cost more."""
        return self.reused_tokens - self.tokens


@record(kw_only=True)
class KindUse:
    """Lines of one kind: given, and in how many session-and-line pairs with which outcome."""

    kind: str
    lines: int
    tokens: int
    decided: int = 0
    used: int = 0
    ignored: int = 0
    unclear: int = 0
    harm: int = 0
    measured: int = 0
    reused_tokens: int = 0


HOW_SAVED_IS_COUNTED = (
    "Estimate: for each session that used a line, what finding it out once cost, less all tokens"
    " injected. Lines whose cost nobody measured count as zero."
)


@record(kw_only=True)
class InjectionTotals:
    """Totals of the log. `tokens` counts whole injections with their frames; `measured` the used
    lines whose cost of finding out is known."""

    also_shown = (
        *("used", "harm", "measured", "used_share", "saved_tokens", "how_saved_is_counted"),
    )

    injections: int = 0
    sessions: int = 0
    lines: int = 0
    tokens: int = 0
    kinds: tuple[KindUse, ...] = ()
    silent: int = 0
    since: datetime | None = None

    @property
    def used(self) -> int:
        """Lines used, counted once a session."""
        return sum(one.used for one in self.kinds)

    @property
    def harm(self) -> int:
        """Lines that did harm, counted once a session."""
        return sum(one.harm for one in self.kinds)

    @property
    def measured(self) -> int:
        """Used lines whose cost of finding out is known."""
        return sum(one.measured for one in self.kinds)

    @property
    def used_share(self) -> float | None:
        """Used lines among those that could show use; None when there are none."""
        could = sum(one.used + one.ignored + one.harm for one in self.kinds)
        return self.used / could if could else None

    @property
    def saved_tokens(self) -> int:
        """Net estimate: work not done again, less everything that was injected."""
        return sum(one.reused_tokens for one in self.kinds) - self.tokens

    @property
    def how_saved_is_counted(self) -> str:
        """What the estimate is made of."""
        return HOW_SAVED_IS_COUNTED


@record
class SilentLine:
    """A line that is no longer injected without being asked for, since when and why."""

    line_id: str
    at: datetime
    reason: str


@record
class LineVerdict:
    """The outcome of one line of an injection."""

    injection_id: str
    number: int
    outcome: LineOutcome
    by: str = ""
    at: datetime | None = None


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
