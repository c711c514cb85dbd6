"""Skills made from sessions, as they are kept: the document, where it comes from, and how it fared.

Invariants: nothing is switched on that nobody looked at, unless a setting says so; every earlier
text of a skill is kept as an edition; rates and streaks are counted from the runs, never stored.
Knows nothing of how a document is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal, TypeAlias

from wellkept.core.records import record

FAILURES_TO_SWITCH_OFF: Final = 2
"""How many runs in a row must fail before a skill is switched off."""

MadeBy: TypeAlias = Literal["rules", "model", "person"]


class SkillOrigin(StrEnum):
    """How a kept skill came to be."""

    GENERATED = "generated"
    """From one session."""
    REFINED = "refined"
    """From several that were alike."""


class SkillReview(StrEnum):
    """What a person said of a kept skill."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


@record(kw_only=True)
class GeneratedSkill:
    """One kept skill; `text` is its whole SKILL.md. `revision` counts how often it was written, 0
    means never. `note` says in words why it is off."""

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
    """How a skill fared: in how many sessions it was used, judged, and went well."""

    uses: int = 0
    judged: int = 0
    succeeded: int = 0
    failed_in_a_row: int = 0

    @property
    def success_rate(self) -> float:
        """From 0 to 1; 1 while nothing was judged."""
        return self.succeeded / self.judged if self.judged else 1.0


def skill_stats(runs: Iterable[SkillRun], *, since: datetime | None = None) -> SkillStats:
    """The record that runs add up to; a streak of failures counts only after `since`, when a
    person last had a look."""
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
