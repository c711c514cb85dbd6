"""Deletes what a policy of retention keeps no longer: nobody changed or read it for long.

Personal memories are the person's own affair and stay.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from wellkept.app.team.policies import policy_of
from wellkept.core.changes import Delete
from wellkept.core.clock import Clock, system_clock
from wellkept.core.query import Filter, Validity
from wellkept.core.records import record
from wellkept.core.types import Scope

if TYPE_CHECKING:
    from wellkept.core.memory import Memory
    from wellkept.core.ports.store import Store
    from wellkept.core.ports.team import TeamDatabase, TeamStore


@record(kw_only=True)
class RetentionReport:
    """Memories of a project that were deleted, or would be."""

    project: str
    days: int
    ids: tuple[str, ...]
    is_dry_run: bool


def apply_retention(
    teams: TeamDatabase,
    team: TeamStore,
    *,
    tenant: str,
    dry_run: bool,
    clock: Clock = system_clock,
) -> list[RetentionReport]:
    """Apply the policies of every project that has one, as whoever owns the database."""
    store = teams.operator_store(tenant)
    reports: list[RetentionReport] = []
    for project, _ in store.projects():
        days = policy_of(team, project).retention_days
        if days is None:
            continue
        ids = tuple(_outdated(store, project, before=clock() - timedelta(days=days)))
        if ids and not dry_run:
            store.apply([Delete(full_id) for full_id in ids])
        reports.append(RetentionReport(project=project, days=days, ids=ids, is_dry_run=dry_run))
    store.close()
    return reports


def _outdated(store: Store, project: str, *, before: datetime) -> list[str]:
    where = Filter(project=project, include_user=False, validity=Validity.ANY, archived=None)
    return [
        memory.id
        for memory in store.iterate(where)
        if memory.scope is not Scope.USER and not memory.pinned and _touched(memory) < before
    ]


def _touched(memory: Memory) -> datetime:
    return max(memory.created_at, memory.updated_at, memory.accessed_at)
