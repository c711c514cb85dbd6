"""Learns from sessions beyond promotion: what plugins know, linked files, renames, and what a team
or a client's own files say.

Each part is independent and can be repeated. A failure in one project is reported and does not stop
the others. Nothing crosses projects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from wellkept.core.doors import find_plugin
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.session.sessions import SessionRecord
from wellkept.memory.engine import Engine
from wellkept.observe.learning.linked_files import link_sessions
from wellkept.observe.upkeep.renames import follow_history
from wellkept.project.folder_lookup import locate


class SharedFilesDoor(Protocol):
    """What a team keeps in the project's repository."""

    def take_in_shared(self, engine: Engine, project: str, root: Path) -> None:
        """Take in what was merged since the last time, where sharing is on."""
        ...


def learn_from_sessions(engine: Engine, sessions: Sequence[SessionRecord]) -> list[str]:
    """Learn from sessions of any project; returns problems."""
    from wellkept.observe.methodology.plugins import installed_plugins

    plugins, failed, problems = installed_plugins(), list[str](), list[str]()
    for session in sessions:

        def ask(session: SessionRecord = session) -> None:
            asked = plugins.call("wellkept_session_learned", engine=engine, session=session)
            failed.extend(asked[1])

        problems += _attempt(session.project, ask)
    problems += failed
    for project in dict.fromkeys(session.project for session in sessions):
        problems += _attempt(project, lambda p=project: link_sessions(engine, p))
    return problems + follow_renames(engine, sessions)


def follow_renames(engine: Engine, sessions: Iterable[SessionRecord]) -> list[str]:
    """Update memories for files that commits renamed or deleted in the folders of sessions.

    Cheap when there are no new commits. Returns problems.
    """

    def follow(project: str, root: Path) -> None:
        follow_history(engine, project=project, root=root, mark_deleted=True)

    return in_projects(sessions, follow)


def take_in_shared_files(engine: Engine, sessions: Iterable[SessionRecord]) -> list[str]:
    """Take in what a team merged into its shared folders. Cheap when nothing is new, or nothing
    is shared. Returns problems."""
    team: SharedFilesDoor | None = find_plugin("team")
    if team is None:
        return []
    take_in = team.take_in_shared
    return in_projects(sessions, lambda project, root: take_in(engine, project, root))


def in_projects(
    sessions: Iterable[SessionRecord], step: Callable[[str, Path], object]
) -> list[str]:
    """Take a step in each project and existing folder of some sessions; returns problems."""
    named = dict.fromkeys((s.project, s.cwd) for s in sessions if s.cwd and "\0" not in s.cwd)
    problems: list[str] = []
    for project, cwd in named:
        folder = Path(cwd)
        if folder.is_dir():
            problems += _attempt(project, lambda p=project, f=folder: step(p, locate(f).root))
    return problems


def _attempt(project: str, step: Callable[[], object]) -> list[str]:
    try:
        step()
    except (UsageError, ConflictError) as error:
        return [f"Learning in {project} is incomplete: {error}"]
    return []
