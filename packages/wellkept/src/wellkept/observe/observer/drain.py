"""Drains the spool of this user: the lock, the machine's view of folders, and the time limits; then
learns from what was taken in.

`translate` turns client payloads into events; it is passed in. The
project of an event follows from the event's folder, not from where the drain runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from shutil import disk_usage
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TypeVar

from wellkept.core.errors import ProviderError, StoreFullError
from wellkept.core.git.run import ask_git
from wellkept.core.ports.models import Embedder, Vector
from wellkept.core.ports.store import Store
from wellkept.core.records import replace
from wellkept.core.session.events import Event
from wellkept.core.session.sessions import SpoolEntry
from wellkept.core.settings.model import Settings
from wellkept.core.settings.sources import SettingSources, inspect_settings
from wellkept.core.time_limit import call_within
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.drain import DrainReport, DrainRules, Translate, drain
from wellkept.observe.observer.spool_folder import SpoolFolder
from wellkept.project.folder_project import project_at
from wellkept.project.known_secrets import FILE_SUFFIX, know_secrets
from wellkept.project.resolver import resolve_project
from wellkept.text.memory_commands.rules import NamedThings
from wellkept.text.shell.environment import Environment, GitState, ProjectLocation

if TYPE_CHECKING:
    from wellkept.observe.observer.api import Observer

UNKNOWN_PROJECT = "name:unplaced"
MAX_SOURCE_BYTES = 512 << 10
EMBEDDING_S = 5.0
_MAX_VECTORS = 2_000
_GIT_TIMEOUT_S = 5.0
_SHA = re.compile(r"[0-9a-f]{4,64}")
_PROJECT_VARIABLE = "WELLKEPT_PROJECT"


class LearningMemory(Protocol):
    """The part of `Wellkept` that learns."""

    @property
    def engine(self) -> Engine: ...

    @property
    def settings(self) -> Settings: ...

    @cached_property
    def observer(self) -> Observer: ...

    def fill_vectors(self, *, most: int = ...) -> int: ...


def drain_spool(
    engine: Engine,
    settings: Settings,
    *,
    translate: Translate,
    environment: Mapping[str, str] | None = None,
    embedding_s: float = EMBEDDING_S,
    database: Path | None = None,
    spool: SpoolFolder | None = None,
    machine: Environment | None = None,
) -> DrainReport:
    """Drain the spool under its lock: no text model, the embedder for at most `embedding_s`.

    With `database`, secrets that the projects' own files hold are recognised. `spool` and `machine`
    are those of this user unless given.
    """
    env = os.environ if environment is None else environment
    spool = spool or SpoolFolder.of(env)
    with spool.draining() as locked:
        if not locked:
            return DrainReport(busy=True)
        with suppress(OSError):
            known = str(database.with_suffix(FILE_SUFFIX)) if database else ""
            spool.redact_first(on=settings.capture_redact == "hook", known_values=known)
        limited = _TimeLimitedEngine(engine, embedding_s)
        rules = drain_rules(settings)

        def attempt() -> DrainReport:
            return drain(
                limited.engine,
                spool,
                translate=_knowing(translate, settings, database, env),
                environment=machine or machine_environment(engine.store, env),
                rules=rules,
            )

        try:
            report = attempt()
        except StoreFullError:
            if not spool.give_room():
                raise
            report = attempt()
        with suppress(OSError):
            spool.keep_room(disk_usage(spool.state).free)
        return replace(report, vectors_due=limited.has_failed)


def summarize_and_learn(wk: LearningMemory, report: DrainReport) -> DrainReport:
    """Compute missing vectors, summarize the sessions that are due with a model, and learn from
    those that passed validation. May take minutes."""
    from wellkept.observe.imports.sources import keep_notes_in_step
    from wellkept.observe.model.consolidation import summarize_sessions
    from wellkept.observe.observer.learn import follow_renames, in_projects, take_in_shared_files

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
    model = summarize_sessions(
        engine,
        report.due,
        daily_tokens=wk.settings.capture_daily_model_tokens,
        batch_tokens=wk.settings.text_model_batch_tokens,
        max_failures=wk.settings.text_model_max_failures,
    )
    problems += wk.observer.learn(report.due).problems if report.due else ()
    # Commits made before a session began are followed as soon as its first events arrive.
    problems += follow_renames(engine, [one for one in found if one.id not in report.due])
    problems += [*take_in_shared_files(engine, found), *noted]
    return replace(report, model=model, problems=tuple(problems))


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


def drain_rules(settings: Settings) -> DrainRules:
    """The drain rules from the settings."""
    return DrainRules(
        turns_between_summaries=settings.capture_summary_turns,
        idle_minutes=settings.capture_idle_minutes,
        injection_days=settings.injections_keep_days,
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
    from wellkept.project.rule_targets import named_things

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


_Result = TypeVar("_Result")


class DeadlineEmbedder:
    """An `Embedder` that waits at most `seconds` over all calls."""

    def __init__(self, embedder: Embedder, *, seconds: float) -> None:
        self._embedder = embedder
        self._left_s = seconds

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return self._within_limit(lambda: self._embedder.embed_documents(texts))

    def embed_query(self, text: str) -> Vector:
        return self._within_limit(lambda: self._embedder.embed_query(text))

    def _within_limit(self, call: Callable[[], _Result]) -> _Result:
        began = monotonic()
        try:
            return call_within(self._left_s, call, what=self.model_id)
        finally:
            self._left_s = max(0.0, self._left_s - (monotonic() - began))
