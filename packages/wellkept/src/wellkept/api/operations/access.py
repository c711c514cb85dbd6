"""Which role each operation and each route needs: declared here and in the table, enforced here.

An operation says its role in `operations.table`, or has the usual one of its effect. Routes beyond
the table are listed below; a test holds that every route of the API is in one of the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from wellkept.api.server.caller import asking
from wellkept.core.errors import ForbiddenError
from wellkept.core.records import record
from wellkept.core.team.people import Role

if TYPE_CHECKING:
    from wellkept.api.operations.operation import Operation


@record(kw_only=True)
class Access:
    """What a route needs. `on_files` works on files of the machine that the server runs on: a
    team's server does not offer it. Without a role anybody may ask."""

    role: Role | None
    on_files: bool = False


ROUTES: Final[Mapping[str, Access]] = MappingProxyType(
    {
        "health": Access(role=None),
        "metrics": Access(role=Role.ADMIN),
        "ready": Access(role=None),
        "list_memories": Access(role=Role.READER),
        "get_memory": Access(role=Role.READER),
        "edit_memory": Access(role=Role.WRITER),
        "forget_memory": Access(role=Role.WRITER),
        "confirm_memory": Access(role=Role.REVIEWER),
        "flag_memory": Access(role=Role.WRITER),
        "list_sessions": Access(role=Role.READER),
        "get_session": Access(role=Role.READER),
        "list_injections": Access(role=Role.READER),
        "injection_totals": Access(role=Role.READER),
        "silent_lines": Access(role=Role.READER),
        "list_projects": Access(role=Role.READER),
        "doctor": Access(role=Role.ADMIN, on_files=True),
        "events": Access(role=Role.READER),
        "chat": Access(role=Role.READER),
        "export": Access(role=Role.READER),
        "sync_pull": Access(role=Role.READER),
        "sync_waiting": Access(role=Role.READER),
        "sync_handoffs": Access(role=Role.READER),
        "sync_handoff": Access(role=Role.WRITER),
        "sync_push": Access(role=Role.WRITER),
        "sync_decide": Access(role=Role.REVIEWER),
        "reindex": Access(role=Role.ADMIN, on_files=True),
        "build_graph": Access(role=Role.ADMIN, on_files=True),
        "team_me": Access(role=Role.READER),
        "team_people": Access(role=Role.READER),
        "team_put_person": Access(role=Role.ADMIN),
        "team_remove_person": Access(role=Role.ADMIN),
        "team_tokens": Access(role=Role.READER),
        "team_issue_token": Access(role=Role.ADMIN),
        "team_rotate_token": Access(role=Role.ADMIN),
        "team_rotate_own_token": Access(role=Role.READER),
        "team_revoke_token": Access(role=Role.ADMIN),
        "team_audit": Access(role=Role.READER),
        "team_policy": Access(role=Role.READER),
        "team_put_policy": Access(role=Role.ADMIN),
        "team_upkeep_preview": Access(role=Role.ADMIN),
        "team_upkeep": Access(role=Role.ADMIN),
        "team_skills": Access(role=Role.READER),
        "team_put_skill": Access(role=Role.ADMIN),
        "team_remove_skill": Access(role=Role.ADMIN),
    }
)
"""Routes beyond the table of operations, by operation id."""


def access_of(operation: Operation[Any, Any]) -> Access:
    """What an operation needs."""
    return Access(role=operation.needed_role, on_files=operation.on_files)


def access_of_route(operation_id: str) -> Access:
    """What a route needs; a KeyError for one that was never declared."""
    from wellkept.api.operations.table import BY_NAME, TOOLS

    name = operation_id.removesuffix("_by_query")
    if name in ROUTES:
        return ROUTES[name]
    return access_of(BY_NAME[name] if name in BY_NAME else TOOLS[name])


def require_access(needed: Access, *, what: str) -> None:
    """ForbiddenError unless who asks may do `what`, and it can be done for them here."""
    principal = asking()
    if needed.role is not None:
        principal.require(needed.role, what=what)
    if needed.on_files and not principal.is_local:
        raise ForbiddenError(
            f"{what} works on the files of a machine; a team's server has none.",
            hint="Ask the Wellkept on your own machine.",
        )
