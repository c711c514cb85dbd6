"""Taking in what the hook processes caught: the observer, wired to this machine.

How a client's payload becomes events is handed in as a function, because clients are above `app`.
Which project an event belongs to follows from its own folder, never from where the drain runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.app.observer.deadline_embedder import DeadlineEmbedder
from wellkept.app.observer.spool_folder import SpoolFolder, SpoolStatus
from wellkept.app.projects.git import ask_git
from wellkept.app.projects.resolver import resolve_project
from wellkept.app.settings.model import Settings
from wellkept.app.settings.sources import SettingSources, inspect_settings
from wellkept.core.errors import ProviderError
from wellkept.core.ports.models import Embedder
from wellkept.core.ports.store import Store
from wellkept.core.records import replace
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.drain import DrainReport, DrainRules, Translate, drain
from wellkept.observe.model.session_summaries import summarize_sessions
from wellkept.observe.reading.environment import Environment, GitState, ProjectLocation

if TYPE_CHECKING:
    from wellkept.app.wellkept import Wellkept

UNKNOWN_PROJECT = "name:unplaced"
MAX_SOURCE_BYTES = 512 << 10
EMBEDDING_S = 5.0
_GIT_TIMEOUT_S = 5.0
_SHA = re.compile(r"[0-9a-f]{4,64}")
_PROJECT_VARIABLE = "WELLKEPT_PROJECT"


def drain_and_learn(
    wk: Wellkept, *, translate: Translate, environment: Mapping[str, str] | None = None
) -> DrainReport:
    """Take in everything that waits in this user's spool, unless another process is at it, let a
    model sum up what is due, and see what it means for skills."""
    report = drain_spool(wk, translate=translate, environment=environment)
    return learn_skills(wk, summarize_and_learn(wk, report), environment=environment)


def drain_spool(
    wk: Wellkept,
    *,
    translate: Translate,
    environment: Mapping[str, str] | None = None,
    embedding_s: float = EMBEDDING_S,
) -> DrainReport:
    """The part that one process does at a time: no text model is asked while others wait, and an
    embedder only for so long."""
    env = os.environ if environment is None else environment
    spool = SpoolFolder.of(env)
    with spool.draining() as mine:
        if not mine:
            return DrainReport(busy=True)
        hurried = _Hurried(wk.engine, embedding_s)
        report = drain(
            hurried.engine,
            spool,
            translate=translate,
            environment=machine_environment(wk.engine.store, env),
            rules=replace(drain_rules(wk.settings), daily_model_tokens=0),
        )
        return replace(report, vectors_due=hurried.has_failed)


class _Hurried:
    """The engine of one drain: an embedder that failed or was too slow is not asked again, and
    what is kept without a vector gets it when nobody waits."""

    def __init__(self, engine: Engine, seconds: float) -> None:
        self.has_failed = False
        self.engine = replace(
            engine, embedder=self._embedder, on_embedding_failure=self._note_failure
        )
        self._whole = engine
        self._seconds = seconds
        self._patient: DeadlineEmbedder | None = None

    def _embedder(self) -> Embedder | None:
        if self.has_failed:
            return None
        if self._patient is None and (found := self._whole.embedder()) is not None:
            self._patient = DeadlineEmbedder(found, seconds=self._seconds)
        return self._patient

    def _note_failure(self, error: ProviderError) -> None:
        self.has_failed = True
        self._whole.on_embedding_failure(error)


def summarize_and_learn(wk: Wellkept, report: DrainReport) -> DrainReport:
    """Let a model sum up the sessions that a drain found due, and learn from those whose work has
    held up; this may take minutes. Vectors that the drain had no time for are made first."""
    vectors = _fill_vectors(wk) if report.vectors_due else ()
    tokens = wk.settings.capture_daily_model_tokens
    model = summarize_sessions(wk.engine, report.due, daily_tokens=tokens)
    learned = wk.observer.learn(report.due).problems if report.due else ()
    moved = _follow_commits(wk, [one for one in report.sessions if one not in report.due])
    told = (*report.problems, *vectors, *learned, *moved)
    return replace(report, model=model, problems=told)


def _follow_commits(wk: Wellkept, session_ids: Sequence[str]) -> list[str]:
    """Somebody may have committed before a session began, so it is looked at with its first
    events."""
    from wellkept.app.observer.follow_ups import follow_renames

    found = map(wk.engine.store.get_session, session_ids)
    return follow_renames(wk.engine, [session for session in found if session is not None])


def _fill_vectors(wk: Wellkept) -> tuple[str, ...]:
    try:
        wk.fill_vectors()
    except ProviderError as error:
        return (f"Vectors could not be made: {error}",)
    return ()


def learn_skills(
    wk: Wellkept, report: DrainReport, *, environment: Mapping[str, str] | None = None
) -> DrainReport:
    """Judge the skills that sessions used which are over now, and look for new ones; by rule."""
    if not report.due:
        return report
    from wellkept.app.skills.learn import learn_from

    env = os.environ if environment is None else environment
    learned = learn_from(wk, report.due, environment=env)
    return replace(report, problems=(*report.problems, *learned.problems))


def retry_events(
    wk: Wellkept, *, translate: Translate, environment: Mapping[str, str] | None = None
) -> DrainReport:
    """Try once more what was set aside, and forget the record of what did not fit."""
    spool = SpoolFolder.of(os.environ if environment is None else environment)
    with spool.draining() as mine:
        if not mine:
            return DrainReport(busy=True)
        spool.bring_back()
        spool.clear_dropped()
    return drain_and_learn(wk, translate=translate, environment=environment)


def spool_status(wk: Wellkept, *, environment: Mapping[str, str] | None = None) -> SpoolStatus:
    """What waits to be taken in, what did not fit, and what was set aside."""
    spool = SpoolFolder.of(os.environ if environment is None else environment)
    return spool.status(wk.engine.store)


def drain_rules(settings: Settings) -> DrainRules:
    """The rules that the settings ask for."""
    return DrainRules(
        turns_between_summaries=settings.capture_summary_turns,
        idle_minutes=settings.capture_idle_minutes,
        daily_model_tokens=settings.capture_daily_model_tokens,
    )


def machine_environment(store: Store, environment: Mapping[str, str]) -> Environment:
    """This machine as the observer sees it; answers are kept for as long as the world is."""
    env = {name: value for name, value in environment.items() if name != _PROJECT_VARIABLE}

    @lru_cache(maxsize=256)
    def place(cwd: str | None) -> ProjectLocation:
        return _place(cwd, store, env)

    @lru_cache(maxsize=256)
    def git(folder: str) -> GitState | None:
        return read_git(Path(folder))

    return Environment(locate=place, git=git, read_file=read_source, commit_files=commit_files)


def _place(cwd: str | None, store: Store, environment: Mapping[str, str]) -> ProjectLocation:
    if not cwd or "\0" in cwd:
        return ProjectLocation(UNKNOWN_PROJECT)
    folder = Path(cwd)
    settings, _ = inspect_settings(SettingSources.of(environment, cwd=folder))
    identity = resolve_project(folder, explicit_name=settings.project)
    root = identity.root.as_posix()
    return ProjectLocation(
        store.canonical_project(identity.identity),
        tuple(dict.fromkeys((root, _as_given(cwd, root)))),
    )


def _as_given(cwd: str, root: str) -> str:
    """The root by the path that the client knows it by, which may go through a link."""
    try:
        below = Path(cwd).resolve().relative_to(root)
    except (OSError, RuntimeError, ValueError):
        return root
    given = Path(cwd)
    for _ in below.parts:
        given = given.parent
    return given.as_posix()


def read_git(folder: Path) -> GitState | None:
    """Branch and commit of a checkout; None when it is none."""
    branch = _line(folder, "symbolic-ref", "--short", "-q", "HEAD")
    commit = _line(folder, "rev-parse", "--short", "-q", "--verify", "HEAD")
    return GitState(branch, commit) if branch or commit else None


def commit_files(folder: str, sha: str) -> tuple[str, ...]:
    """The files that a commit touched, named from the root of the repository."""
    if not _SHA.fullmatch(sha):
        return ()
    arguments = ("diff-tree", "--no-commit-id", "--name-only", "-r", "-z", "--root", sha)
    answer = ask_git(Path(folder), arguments, timeout_s=_GIT_TIMEOUT_S) or b""
    names = answer.decode("utf-8", errors="replace").split("\0")
    return tuple(name for name in names if name)


def read_source(path: str) -> str | None:
    """The text of a source file as it is now; None when it is gone, large or no text."""
    try:
        file = Path(path)
        if not file.is_file() or file.stat().st_size > MAX_SOURCE_BYTES:
            return None
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _line(folder: Path, *arguments: str) -> str | None:
    answer = ask_git(folder, arguments, timeout_s=_GIT_TIMEOUT_S)
    return answer.decode("utf-8", errors="replace").strip() or None if answer else None
