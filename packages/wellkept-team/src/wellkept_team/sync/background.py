"""Syncs in the background: by long-lived processes and at the end of a drain, never in a hook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING

from wellkept.core.errors import WellkeptError
from wellkept_team.sync.run import LONGEST_WAIT, sync_project
from wellkept_team.sync.state import Condition, all_remotes, is_due

if TYPE_CHECKING:
    from wellkept.memory.engine import Engine

REQUEST_S = 10.0
DRAIN_S = 30.0


def sync_due(
    engine: Engine,
    *,
    environment: Mapping[str, str],
    within_s: float = DRAIN_S,
    at_once: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> list[str]:
    """Sync every project whose time has come; returns the projects that were looked at.

    `at_once` does not wait for the next round where the last one went well.
    A project that fails says so in its remote and does not keep the others from it. Cheap when no
    project is shared. No new project is begun after `within_s`.
    """
    end = monotonic() + within_s
    done: list[str] = []
    for project, remote in all_remotes(engine.store).items():
        if stop() or monotonic() >= end:
            break
        is_wanted = at_once and remote.condition in (Condition.NEW, Condition.OK)
        if not is_wanted and not is_due(remote, engine.clock(), longest=LONGEST_WAIT):
            continue
        try:
            sync_project(engine, project, environment=environment, timeout_s=REQUEST_S)
        except WellkeptError:
            continue  # removed meanwhile, or the lock cannot be made; `remote status` tells
        done.append(project)
    return done
