"""Learns from what a drain took in: missing vectors, summaries by a model, promotion, and beyond
it what plugins know, linked files, renames, and what a team or a client's own files say.

Each part is independent and can be repeated. A failure in one project is reported and does not stop
the others. Nothing crosses projects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from wellkept.core.doors import find_plugin
from wellkept.core.errors import ConflictError, ProviderError, UsageError
from wellkept.core.records import replace
from wellkept.core.session.sessions import SessionRecord
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.drain import DrainReport
from wellkept.observe.learning.linked_files import link_sessions
from wellkept.observe.model.consolidation import summarize_sessions
from wellkept.observe.upkeep.renames import follow_history
from wellkept.project.folder_lookup import locate

if TYPE_CHECKING:
    from wellkept.core.settings.model import Settings
    from wellkept.observe.observer.api import Observer

_MAX_VECTORS = 2_000


class LearningMemory(Protocol):
    """The part of `Wellkept` that learns."""

    @property
    def engine(self) -> Engine: ...

    @property
    def settings(self) -> Settings: ...

    @cached_property
    def observer(self) -> Observer: ...

    def fill_vectors(self, *, most: int = ...) -> int: ...


class SharedFilesDoor(Protocol):
    """What a team keeps in the project's repository."""

    def take_in_shared(self, engine: Engine, project: str, root: Path) -> None:
        """Take in what was merged since the last time, where sharing is on."""
        ...


def summarize_and_learn(wk: LearningMemory, report: DrainReport) -> DrainReport:
    """Compute missing vectors, summarize the sessions that are due with a model, and learn from
    those that passed validation. May take minutes."""
    from wellkept.observe.imports.sources import keep_notes_in_step

    engine, problems, changed = wk.engine, [*report.problems], list[int]()
    found = [one for one in map(engine.store.get_session, report.sessions) if one is not None]

    def note(project: str, root: Path) -> None:
        changed.append(keep_notes_in_step(engine, project, root))

    # What an agent wrote into its client's memory files while it worked.
    noted = in_projects(found, note)
    try:
        wk.fill_vectors(most=_MAX_VECTORS if any(changed) or report.vectors_due else 0)
    except ProviderError as error:
        problems.append(f"Vectors could not be computed: {error}")
    tokens = wk.settings.capture_daily_model_tokens
    model = summarize_sessions(engine, report.due, daily_tokens=tokens)
    problems += wk.observer.learn(report.due).problems if report.due else ()
    # Commits made before a session began are followed as soon as its first events arrive.
    problems += follow_renames(engine, [one for one in found if one.id not in report.due])
    problems += [*take_in_shared_files(engine, found), *noted]
    return replace(report, model=model, problems=tuple(problems))


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
