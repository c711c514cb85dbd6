"""Skills generated from sessions, as stored: the document, its origin, and the results of its use.

Invariants: nothing is enabled before review, unless a setting says so; every earlier text of a
skill is stored as an edition; rates and streaks are computed from the runs, never stored. Knows
nothing of how a document is generated.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal, TypeAlias

from wellkept.core.records import record

FAILURES_TO_SWITCH_OFF: Final = 2
"""A skill is disabled after this many failed runs in a row."""

MadeBy: TypeAlias = Literal["rules", "model", "person"]


class SkillOrigin(StrEnum):
    """How a generated skill was made."""

    GENERATED = "generated"
    """From one session."""
    REFINED = "refined"
    """From several similar sessions."""


class SkillReview(StrEnum):
    """The user's review of a generated skill."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


@record(kw_only=True)
class GeneratedSkill:
    """One generated skill; `text` is its whole SKILL.md. `revision` counts how often it was
    written, 0 means never. `note` says why it is off."""

    id: str
    project: str
    name: str
    text: str
    created_at: datetime
    updated_at: datetime
    origin: SkillOrigin = SkillOrigin.GENERATED
    made_by: MadeBy = "rules"
    review: SkillReview = SkillReview.PENDING
    reviewed_at: datetime | None = None
    enabled: bool = False
    note: str | None = None
    session_ids: tuple[str, ...] = ()
    observation_ids: tuple[str, ...] = ()
    commit_sha: str | None = None
    revision: int = 0


@record
class SkillVersion:
    """What a skill said before it was written anew."""

    revision: int
    text: str
    made_by: MadeBy
    until: datetime


@record(kw_only=True)
class SkillRun:
    """One session in which a skill was used. `succeeded` is None until the session is judged."""

    skill_id: str
    session_id: str
    used_by: str
    at: datetime
    succeeded: bool | None = None


@record
class SkillStats:
    """In how many sessions a skill was used, judged and successful."""

    uses: int = 0
    judged: int = 0
    succeeded: int = 0
    failed_in_a_row: int = 0

    also_shown = ("success_rate",)

    @property
    def success_rate(self) -> float:
        """From 0 to 1; 1 while nothing was judged."""
        return self.succeeded / self.judged if self.judged else 1.0


def skill_stats(runs: Iterable[SkillRun], *, since: datetime | None = None) -> SkillStats:
    """The statistics of some runs; a streak of failures counts only after `since`, the time of the
    last review."""
    ordered = sorted(runs, key=lambda run: (run.at, run.session_id))
    judged = [run for run in ordered if run.succeeded is not None]
    streak = 0
    for run in judged:
        counts = since is None or run.at > since
        streak = streak + counts if not run.succeeded else 0
    return SkillStats(
        uses=len(ordered),
        judged=len(judged),
        succeeded=sum(bool(run.succeeded) for run in judged),
        failed_in_a_row=streak,
    )
