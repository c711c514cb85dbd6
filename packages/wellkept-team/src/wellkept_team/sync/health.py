"""What `wellkept admin doctor` says of remotes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from wellkept.core.query import Finding
from wellkept.core.types import Severity
from wellkept_team.sync.run import SKEW_WORTH_TELLING_S
from wellkept_team.sync.state import (
    NEEDS_PERSON,
    Condition,
    Remote,
    advice,
    all_remotes,
)

if TYPE_CHECKING:
    from wellkept.core.ports.store import KeyValueStore

_LONG_AGO = timedelta(days=1)


def remote_findings(store: KeyValueStore, now: datetime) -> list[Finding]:
    """What is wrong with sharing through servers; a short interruption is not worth a word."""
    found: list[Finding] = []
    for project, remote in all_remotes(store).items():
        found += [
            Finding("remote", f"{project}: {told}", _severity(remote), repairable=False)
            for told in _told(remote, now)
        ]
    return found


def _severity(remote: Remote) -> Severity:
    return Severity.ERROR if remote.condition in NEEDS_PERSON else Severity.WARNING


def _told(remote: Remote, now: datetime) -> list[str]:
    told: list[str] = []
    is_long = remote.synced_at is None or now - remote.synced_at > _LONG_AGO
    is_bad = remote.condition not in (Condition.OK, Condition.NEW)
    if remote.condition in NEEDS_PERSON:
        told.append(f"{remote.problem} {advice(remote)}")
    elif is_bad and (is_long or remote.condition is Condition.LOCAL):
        told.append(f"{remote.problem} It is tried again by itself.")
    if abs(remote.skew_s) > SKEW_WORTH_TELLING_S:
        minutes = abs(remote.skew_s) / 60
        side = "behind" if remote.skew_s > 0 else "ahead of"
        told.append(f"This machine's clock is {minutes:,.0f} minutes {side} the server's.")
    if remote.refused:
        told.append(f"{len(remote.refused)} memories may not be shared: {remote.refused[0]}")
    return told
