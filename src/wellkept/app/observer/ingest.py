"""Drains the spool of this user and learns from the sessions in it.

`translate` turns client payloads into events; it is passed in because clients are above `app`. The
project of an event follows from the event's folder, not from where the drain runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.app.known_secrets import FILE_SUFFIX, know_secrets
from wellkept.app.observer.deadline_embedder import DeadlineEmbedder
from wellkept.app.observer.spool_folder import SpoolFolder, SpoolStatus
from wellkept.app.projects.git import ask_git
from wellkept.app.projects.placement import project_at
from wellkept.app.projects.resolver import resolve_project
from wellkept.app.settings.model import Settings
from wellkept.app.settings.sources import SettingSources, inspect_settings
from wellkept.core.errors import ProviderError
from wellkept.core.events import Event
from wellkept.core.ports.models import Embedder
from wellkept.core.ports.store import Store
from wellkept.core.records import replace
from wellkept.core.sessions import SpoolEntry
from wellkept.memory.commands.named import NamedThings
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.drain import DrainReport, DrainRules, Translate, drain
from wellkept.observe.model.consolidation import summarize_sessions
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
    """Drain this user's spool, unless another process does, then summarize and learn."""
    report = drain_spool(
        wk.engine,
        wk.settings,
        translate=translate,
        environment=environment,
        database=wk.path,
    )
    return learn_skills(wk, summarize_and_learn(wk, report), environment=environment)


def drain_spool(
    engine: Engine,
    settings: Settings,
    *,
    translate: Translate,
    environment: Mapping[str, str] | None = None,
    embedding_s: float = EMBEDDING_S,
    database: Path | None = None,
) -> DrainReport:
    """Drain the spool under its lock: no text model, the embedder for at most `embedding_s`.

    With `database`, secrets that the projects' own files hold are recognised.
    """
    env = os.environ if environment is None else environment
    spool = SpoolFolder.of(env)
    with spool.draining() as locked:
        if not locked:
            return DrainReport(busy=True)
        with suppress(OSError):
            known = str(database.with_suffix(FILE_SUFFIX)) if database else ""
            spool.redact_first(on=settings.capture_redact == "hook", known_values=known)
        limited = _TimeLimitedEngine(engine, embedding_s)
        report = drain(
            limited.engine,
            spool,
            translate=_knowing(translate, settings, database, env),
            environment=machine_environment(engine.store, env),
            rules=drain_rules(settings),
        )
        return replace(report, vectors_due=limited.has_failed)


def _knowing(
    translate: Translate,
    settings: Settings,
    database: Path | None,
    environment: Mapping[str, str],
) -> Translate:
    """`translate` that first makes known what the .env files of an event's folder hold."""
    seen: set[str | None] = set()

    def translating(entry: SpoolEntry, redact: Callable[[str], str]) -> Sequence[Event]:
        events = translate(entry, redact)
        fresh = {event.origin.cwd for event in events} - seen
        if not fresh or database is None:
            return events
        for cwd in fresh:
            seen.add(cwd)
            folder = Path(cwd) if cwd and "\0" not in cwd else None
            know_secrets(database, settings, folder=folder, environment=environment)
        # Names in the events were redacted without what is known now.
        return translate(entry, redact)

    return translating


class _TimeLimitedEngine:
    """The engine of one drain. After the embedder failed or timed out, memories are stored without
    a vector; `summarize_and_learn` adds it later."""

    def __init__(self, engine: Engine, seconds: float) -> None:
        self.has_failed = False
        self.engine = replace(
            engine, embedder=self._embedder, on_embedding_failure=self._note_failure
        )
        self._engine = engine
        self._seconds = seconds
        self._limited_embedder: DeadlineEmbedder | None = None

    def _embedder(self) -> Embedder | None:
        if self.has_failed:
            return None
        if self._limited_embedder is None and (found := self._engine.embedder()) is not None:
            self._limited_embedder = DeadlineEmbedder(found, seconds=self._seconds)
        return self._limited_embedder

    def _note_failure(self, error: ProviderError) -> None:
        self.has_failed = True
        self._engine.on_embedding_failure(error)


def summarize_and_learn(wk: Wellkept, report: DrainReport) -> DrainReport:
    """Compute missing vectors, summarize the sessions that are due with a model, and learn from
    those that passed validation. May take minutes."""
    vectors = _fill_vectors(wk) if report.vectors_due else ()
    tokens = wk.settings.capture_daily_model_tokens
    model = summarize_sessions(wk.engine, report.due, daily_tokens=tokens)
    learned = wk.observer.learn(report.due).problems if report.due else ()
    others = [one for one in report.sessions if one not in report.due]
    renamed = _follow_renames(wk.engine, others)
    problems = (*report.problems, *vectors, *learned, *renamed)
    return replace(report, model=model, problems=problems)


def _follow_renames(engine: Engine, session_ids: Sequence[str]) -> list[str]:
    """Follow commits made before a session began, as soon as its first events arrive."""
    from wellkept.app.observer.follow_ups import follow_renames

    found = map(engine.store.get_session, session_ids)
    return follow_renames(engine, [session for session in found if session is not None])


def _fill_vectors(wk: Wellkept) -> tuple[str, ...]:
    try:
        wk.fill_vectors()
    except ProviderError as error:
        return (f"Vectors could not be computed: {error}",)
    return ()


def learn_skills(
    wk: Wellkept, report: DrainReport, *, environment: Mapping[str, str] | None = None
) -> DrainReport:
    """Rate the skills that finished sessions used, and look for new ones. By rule, no model."""
    if not report.due:
        return report
    from wellkept.app.skills.learn import learn_from

    env = os.environ if environment is None else environment
    learned = learn_from(wk, report.due, environment=env)
    return replace(report, problems=(*report.problems, *learned.problems))


def retry_events(
    wk: Wellkept, *, translate: Translate, environment: Mapping[str, str] | None = None
) -> DrainReport:
    """Retry events that were set aside, and clear the record of dropped ones."""
    spool = SpoolFolder.of(os.environ if environment is None else environment)
    with spool.draining() as locked:
        if not locked:
            return DrainReport(busy=True)
        spool.bring_back()
        spool.clear_dropped()
    return drain_and_learn(wk, translate=translate, environment=environment)


def spool_status(store: Store, *, environment: Mapping[str, str] | None = None) -> SpoolStatus:
    """Events waiting in the spool, dropped ones, and those set aside."""
    spool = SpoolFolder.of(os.environ if environment is None else environment)
    return spool.status(store)


def drain_rules(settings: Settings) -> DrainRules:
    """The drain rules from the settings."""
    return DrainRules(
        turns_between_summaries=settings.capture_summary_turns,
        idle_minutes=settings.capture_idle_minutes,
        injection_days=settings.injections_keep_days,
        injection_lines=settings.injections_keep_lines,
        silent_after=settings.injections_silent_after,
    )


def machine_environment(store: Store, environment: Mapping[str, str]) -> Environment:
    """The observer's view of this machine. Results are cached for its lifetime."""
    env = {name: value for name, value in environment.items() if name != _PROJECT_VARIABLE}

    @lru_cache(maxsize=256)
    def place(cwd: str | None) -> ProjectLocation:
        return _place(cwd, store, env)

    @lru_cache(maxsize=256)
    def git(folder: str) -> GitState | None:
        return read_git(Path(folder))

    return Environment(
        locate=place, git=git, read_file=read_source, commit_files=commit_files, named=_named
    )


def _named(root: str, text: str) -> NamedThings:
    from wellkept.app.projects.named_things import named_things

    return named_things(Path(root), text)


def _place(cwd: str | None, store: Store, environment: Mapping[str, str]) -> ProjectLocation:
    if not cwd or "\0" in cwd:
        return ProjectLocation(UNKNOWN_PROJECT)
    folder = Path(cwd)
    settings, _ = inspect_settings(SettingSources.of(environment, cwd=folder))
    if settings.project is not None:
        identity = resolve_project(folder, explicit_name=settings.project)
    else:
        identity = project_at(store, folder)
    root = identity.root.as_posix()
    return ProjectLocation(
        store.canonical_project(identity.identity),
        tuple(dict.fromkeys((root, _root_as_written(cwd, root)))),
    )


def _root_as_written(cwd: str, root: str) -> str:
    """The root as the client writes it, which may contain a symbolic link."""
    try:
        below = Path(cwd).resolve().relative_to(root)
    except (OSError, RuntimeError, ValueError):
        return root
    written = Path(cwd)
    for _ in below.parts:
        written = written.parent
    return written.as_posix()


def read_git(folder: Path) -> GitState | None:
    """Branch and commit of a checkout; None outside a repository."""
    branch = _line(folder, "symbolic-ref", "--short", "-q", "HEAD")
    commit = _line(folder, "rev-parse", "--short", "-q", "--verify", "HEAD")
    return GitState(branch, commit) if branch or commit else None


def commit_files(folder: str, sha: str) -> tuple[str, ...]:
    """The files changed by a commit, relative to the repository root."""
    if not _SHA.fullmatch(sha):
        return ()
    arguments = ("diff-tree", "--no-commit-id", "--name-only", "-r", "-z", "--root", sha)
    answer = ask_git(Path(folder), arguments, timeout_s=_GIT_TIMEOUT_S) or b""
    names = answer.decode("utf-8", errors="replace").split("\0")
    return tuple(name for name in names if name)


def read_source(path: str) -> str | None:
    """The current text of a source file; None when it is missing, too large or not text."""
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
