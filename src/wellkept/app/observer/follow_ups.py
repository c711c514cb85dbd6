"""What follows from sessions besides promotion: files that go together, what a module needs read,
how the application behaves, and files that their commits moved or deleted.

Each part is independent and can be done again: a failure in one project is told and keeps nothing
else from being learned. Nothing crosses projects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from wellkept.app.graph.co_change import learn_prefetch, link_sessions
from wellkept.app.observer.browser_sources import BrowserSources
from wellkept.app.projects.renames import follow_history
from wellkept.app.projects.resolver import resolve_project
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.sessions import SessionRecord
from wellkept.memory.engine import Engine
from wellkept.observe.browser.facts import learn_browser_facts


def learn_from_sessions(engine: Engine, sessions: Sequence[SessionRecord]) -> list[str]:
    """Learn from sessions of any projects; returns what went wrong."""
    problems: list[str] = []
    for session in sessions:
        problems += _tried(session.project, lambda s=session: _screens(engine, s))
    for project in dict.fromkeys(session.project for session in sessions):
        problems += _tried(project, lambda p=project: _files(engine, p))
    return problems + follow_renames(engine, sessions)


def follow_renames(engine: Engine, sessions: Iterable[SessionRecord]) -> list[str]:
    """Let what is known follow files that commits moved or deleted in the folders of sessions;
    costs next to nothing where none came. Returns what went wrong."""
    problems: list[str] = []
    for project, folder in _folders(sessions):
        problems += _tried(project, lambda p=project, f=folder: _moves(engine, p, f))
    return problems


def _tried(project: str, step: Callable[[], None]) -> list[str]:
    try:
        step()
    except (UsageError, ConflictError) as error:
        return [f"Not everything was learned in {project}: {error}"]
    return []


def _screens(engine: Engine, session: SessionRecord) -> None:
    sources = BrowserSources(session.cwd)
    learn_browser_facts(
        engine, project=session.project, session_id=session.id, files_of=sources.files_of
    )


def _files(engine: Engine, project: str) -> None:
    link_sessions(engine, project)
    learn_prefetch(engine, project)


def _moves(engine: Engine, project: str, folder: Path) -> None:
    root = resolve_project(folder).root
    follow_history(engine, project=project, root=root, mark_deleted=True)


def _folders(sessions: Iterable[SessionRecord]) -> list[tuple[str, Path]]:
    """The folders that sessions were in, those that are still there."""
    named = dict.fromkeys((s.project, s.cwd) for s in sessions if s.cwd and "\0" not in s.cwd)
    return [(project, Path(cwd)) for project, cwd in named if Path(cwd).is_dir()]
