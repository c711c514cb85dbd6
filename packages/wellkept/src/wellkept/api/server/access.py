"""What verbs and routes need of who asks: each declares it, here it is enforced."""

from __future__ import annotations

from collections.abc import Mapping

from wellkept.core.errors import ForbiddenError
from wellkept.core.records import record
from wellkept.core.team.people import Role, asking


@record(kw_only=True)
class Access:
    """What a route needs. `on_files` works on files of the machine that the server runs on: a
    team's server does not offer it. Without a role anybody may ask."""

    role: Role | None
    on_files: bool = False


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


def require_one_project(arguments: Mapping[str, object]) -> None:
    """ForbiddenError when an agent asks for every project."""
    if arguments.get("all_projects"):
        asking().require_person("Looking into every project")
