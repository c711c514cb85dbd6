"""Deletes a project's memories, sessions and generated skills for good.

Memories about the user belong to no project and stay.
"""

from __future__ import annotations

from wellkept.context.preview import forget_judged
from wellkept.core.changes import Delete, ForgetSessions
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter, Validity
from wellkept.core.records import record
from wellkept.core.types import Scope
from wellkept.observe.failures.command_records import forget_records

_ALL_SESSIONS = 1_000_000


@record
class DeletedCounts:
    """How many memories and sessions were deleted, or would be."""

    memories: int
    sessions: int


def clear_project(store: Store, project: str, *, dry_run: bool) -> DeletedCounts:
    """Delete everything of a project; a dry run only counts."""
    own = Filter(project=project, include_user=False, validity=Validity.ANY, archived=None)
    memories = [Delete(m.id) for m in store.iterate(own) if m.scope is not Scope.USER]
    sessions = store.sessions(project=project, limit=_ALL_SESSIONS)
    if not dry_run:
        store.apply([*memories, ForgetSessions(project)])
        forget_records(store, project)
        forget_judged(store, project)
        for skill in store.generated_skills(project=project):
            store.delete_generated_skill(skill.id)
    return DeletedCounts(len(memories), len(sessions))
