"""The policy that holds for a project, and the one that a machine keeps of its team.

A team's server reads policies from its database. A machine that shares with a team keeps a copy in
its own store, so that it holds offline, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from wellkept.core.team.records import TeamPolicy, policy_from_json, policy_to_json

if TYPE_CHECKING:
    from wellkept.core.codec import Json
    from wellkept.core.ports.store import KeyValueStore
    from wellkept.core.ports.team import TeamStore

_SPACE: Final = "team.policy"


def policy_of(team: TeamStore, project: str) -> TeamPolicy:
    """What holds for a project: its own policy, and the organisation's where it is silent."""
    general, own = team.policy("") or TeamPolicy(), team.policy(project) or TeamPolicy()
    return TeamPolicy(
        injected_types=general.injected_types if own.injected_types is None else own.injected_types,
        retention_days=general.retention_days if own.retention_days is None else own.retention_days,
        audit_days=general.audit_days,
    )


def keep_policy(store: KeyValueStore, project: str, policy: TeamPolicy | None) -> None:
    """Keep the team's policy for a project on this machine; None forgets it. Nothing is written
    when it is the same."""
    if kept_policy(store, project) != policy:
        store.put_value(_SPACE, project, None if policy is None else policy_to_json(policy))


def kept_policy(store: KeyValueStore, project: str) -> TeamPolicy | None:
    """The team's policy for a project as this machine knows it."""
    found: Json = store.get_value(_SPACE, project)
    return policy_from_json(cast("Mapping[str, Json]", found)) if isinstance(found, dict) else None
