"""Records that only HTTP shows. Knows no routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from wellkept.core.query import Finding
from wellkept.core.records import record

if TYPE_CHECKING:
    from wellkept.api.maintenance.doctor import DoctorReport
    from wellkept.models.embedders.settings import TierStatus


@record
class ProjectInfo:
    """A project that holds memories. `here` is the one that is meant when none is named."""

    project: str
    memories: int
    here: bool


@record
class Projects:
    """Every project that holds memories, most first."""

    items: tuple[ProjectInfo, ...]
    here: str


@record(kw_only=True)
class Alive:
    """That the server is up. `/api/ready` also tells how the last round of a team's upkeep ended,
    `ok` or `failing`, and how many seconds a standby that answers is behind (null on the primary);
    the server answers requests either way."""

    status: Literal["ok"] = "ok"
    version: str
    upkeep: str | None = None
    behind_s: float | None = None


@record(kw_only=True)
class HealthReport:
    """What a look at the store and its surroundings found."""

    healthy: bool
    facts: dict[str, str]
    findings: tuple[Finding, ...]
    embedders: tuple[TierStatus, ...]
    model_id: str | None

    @classmethod
    def of(cls, found: DoctorReport) -> HealthReport:
        """The report as it is shown."""
        return cls(
            healthy=found.healthy,
            facts=found.facts,
            findings=found.findings,
            embedders=found.tiers,
            model_id=found.model.model_id if found.model else None,
        )
