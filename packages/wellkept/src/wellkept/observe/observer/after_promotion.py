"""Learns from sessions beyond promotion: what plugins know, linked files, renames.

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

    plugins, failed = installed_plugins(), list[str]()
    problems: list[str] = []
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
    problems: list[str] = []
    for project, folder in _folders(sessions):
        problems += _attempt(project, lambda p=project, f=folder: _follow_renames(engine, p, f))
    return problems


def take_in_shared_files(engine: Engine, sessions: Iterable[SessionRecord]) -> list[str]:
    """Take in what a team merged into its shared folders. Cheap when nothing is new, or nothing
    is shared. Returns problems."""
    team: SharedFilesDoor | None = find_plugin("team")
    if team is None:
        return []
    take_in = team.take_in_shared
    problems: list[str] = []
    for project, folder in _folders(sessions):
        problems += _attempt(
            project, lambda p=project, f=folder: take_in(engine, p, locate(f).root)
        )
    return problems


def take_in_notes(engine: Engine, sessions: Iterable[SessionRecord]) -> tuple[int, list[str]]:
    """Take in what changed in the memory files of clients, where they were imported before.
    Returns how much changed, and problems."""
    from wellkept.observe.imports.sources import keep_notes_in_step

    changed, problems = list[int](), list[str]()
    for project, folder in _folders(sessions):
        problems += _attempt(
            project,
            lambda p=project, f=folder: changed.append(
                keep_notes_in_step(engine, p, locate(f).root)
            ),
        )
    return sum(changed), problems


def _attempt(project: str, step: Callable[[], object]) -> list[str]:
    try:
        step()
    except (UsageError, ConflictError) as error:
        return [f"Learning in {project} is incomplete: {error}"]
    return []


def _follow_renames(engine: Engine, project: str, folder: Path) -> None:
    root = locate(folder).root
    follow_history(engine, project=project, root=root, mark_deleted=True)


def _folders(sessions: Iterable[SessionRecord]) -> list[tuple[str, Path]]:
    """The existing folders of sessions, by project."""
    named = dict.fromkeys((s.project, s.cwd) for s in sessions if s.cwd and "\0" not in s.cwd)
    return [(project, Path(cwd)) for project, cwd in named if Path(cwd).is_dir()]
