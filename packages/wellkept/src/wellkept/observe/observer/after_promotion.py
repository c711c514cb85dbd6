"""Learns from sessions beyond promotion: linked files, browser facts, renames.

Each part is independent and can be repeated. A failure in one project is reported and does not stop
the others. Nothing crosses projects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from wellkept.core.doors import each
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.session.sessions import SessionRecord
from wellkept.memory.engine import Engine
from wellkept.observe.browser.facts import learn_browser_facts
from wellkept.observe.browser.sources import BrowserSources
from wellkept.observe.learning.linked_files import link_sessions
from wellkept.observe.upkeep.renames import follow_history
from wellkept.project.folder_lookup import locate


def learn_from_sessions(engine: Engine, sessions: Sequence[SessionRecord]) -> list[str]:
    """Learn from sessions of any project; returns problems."""
    problems: list[str] = []
    for session in sessions:
        problems += _attempt(session.project, lambda s=session: _learn_browser_facts(engine, s))
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
    problems: list[str] = []
    for project, folder in _folders(sessions):
        problems += _attempt(
            project, lambda p=project, f=folder: each("after_learning", engine, p, locate(f).root)
        )
    return problems


def _attempt(project: str, step: Callable[[], object]) -> list[str]:
    try:
        step()
    except (UsageError, ConflictError) as error:
        return [f"Learning in {project} is incomplete: {error}"]
    return []


def _learn_browser_facts(engine: Engine, session: SessionRecord) -> None:
    sources = BrowserSources(session.cwd)
    learn_browser_facts(
        engine, project=session.project, session_id=session.id, find_files=sources.files_of
    )


def _follow_renames(engine: Engine, project: str, folder: Path) -> None:
    root = locate(folder).root
    follow_history(engine, project=project, root=root, mark_deleted=True)


def _folders(sessions: Iterable[SessionRecord]) -> list[tuple[str, Path]]:
    """The existing folders of sessions, by project."""
    named = dict.fromkeys((s.project, s.cwd) for s in sessions if s.cwd and "\0" not in s.cwd)
    return [(project, Path(cwd)) for project, cwd in named if Path(cwd).is_dir()]
