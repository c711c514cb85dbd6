"""Imports the transcripts that coding clients left on this machine.

Writes only to the store. The folder of a transcript decides its project; one without a folder is
skipped and reported. Parsing client formats is done in `clients`. Imported memories have no vectors
until `Wellkept.reindex`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.chat.transcripts import ReadStats, Transcript, UnreadableFile
from wellkept.core.records import field, record, replace
from wellkept.core.settings import paths
from wellkept.observe.ingest.ingest import CommandPolicy, EventIngester, IngestRules
from wellkept.observe.ingest.transcript_import import (
    ImportedTranscript,
    ImportState,
    take_transcript,
)
from wellkept.observe.observer.api import Observer
from wellkept.observe.observer.drain import drain_rules, machine_environment, read_source
from wellkept.text.shell.environment import Environment

if TYPE_CHECKING:
    from wellkept.core.types import Progress
    from wellkept.memory.workspace import Workspace

_KEPT_SOURCES = 32


@record(kw_only=True)
class TranscriptFilter:
    """Which transcripts to import; `project` None means all projects."""

    project: str | None = None
    since: datetime | None = None


@record(frozen=False, kw_only=True)
class TranscriptReport:
    """Counts of one import."""

    source: str
    dry_run: bool = False
    new: int = 0
    continued: int = 0
    unchanged: int = 0
    caught: int = 0
    other_projects: int = 0
    too_old: int = 0
    bytes_read: int = 0
    events: int = 0
    known_events: int = 0
    repeated_events: int = 0
    prompts: int = 0
    observations: int = 0
    redacted: int = 0
    projects: dict[str, int] = field(default_factory=dict[str, int])
    reading: ReadStats = field(default_factory=ReadStats)
    unread: list[UnreadableFile] = field(default_factory=list[UnreadableFile])
    problems: list[str] = field(default_factory=list[str])

    @property
    def sessions(self) -> int:
        """How many sessions added something."""
        return self.new + self.continued


def import_transcripts(
    services: Workspace,
    source: str,
    found: Iterable[Transcript | UnreadableFile],
    *,
    wanted: TranscriptFilter,
    dry_run: bool = False,
    progress: Progress | None = None,
    environment: Mapping[str, str] | None = None,
    learn: bool = True,
) -> TranscriptReport:
    """Import a client's transcripts into their projects, then learn from finished sessions."""
    env = os.environ if environment is None else environment
    rules = IngestRules(
        turns_between_summaries=drain_rules(services.settings).turns_between_summaries,
        commands=CommandPolicy.NONE if dry_run else CommandPolicy.REMEMBER,
    )
    taker = EventIngester(
        replace(services.engine, embedder=lambda: None), _past_environment(services, env), rules
    )
    run = _Run(services, taker, TranscriptReport(source=source, dry_run=dry_run), progress)
    run.take(run.chosen(found, wanted))
    if learn and taker.due and not dry_run:
        learned = Observer(services).learn(list(taker.due), with_vectors=False)
        run.report.problems.extend(learned.problems)
    return run.finish()


def _past_environment(services: Workspace, environment: Mapping[str, str]) -> Environment:
    """The environment without its git state, which has changed since the session."""
    now = machine_environment(services.store, environment)
    return Environment(
        locate=now.locate,
        read_file=lru_cache(maxsize=_KEPT_SOURCES)(read_source),
        commit_files=_if_there(now),
        named=now.named,
    )


def _if_there(world: Environment) -> Callable[[str, str], tuple[str, ...]]:
    """Skip folders that are gone: each question to git costs a process."""

    @lru_cache(maxsize=256)
    def is_checkout(folder: str) -> bool:
        return (Path(folder) / ".git").exists()

    def files(folder: str, sha: str) -> tuple[str, ...]:
        return world.commit_files(folder, sha) if is_checkout(folder) else ()

    return files


@record(frozen=False)
class _Run:
    """The state of one import."""

    services: Workspace
    taker: EventIngester
    report: TranscriptReport
    progress: Progress | None
    _done: int = 0
    _total: int = 0

    def chosen(
        self, found: Iterable[Transcript | UnreadableFile], wanted: TranscriptFilter
    ) -> list[Transcript]:
        """The transcripts that match; the others are counted."""
        kept: list[Transcript] = []
        for one in found:
            if isinstance(one, UnreadableFile):
                self.report.unread.append(one)
            elif one.cwd is None:
                reason = "names no folder, so its project is not known"
                self.report.unread.append(UnreadableFile(one.parts[0].path, reason))
            elif self._is_own(one.cwd):
                continue  # Wellkept itself asked the client as a model
            elif wanted.since is not None and one.last_at < wanted.since:
                self.report.too_old += 1
            elif wanted.project not in (None, self.taker.environment.locate(one.cwd).project):
                self.report.other_projects += 1
            else:
                kept.append(one)
        self._total = sum(transcript.size_bytes for transcript in kept)
        return kept

    def _is_own(self, cwd: str) -> bool:
        folder = paths.chat_folder(self.services.environment)
        return "\0" not in cwd and (
            Path(cwd).is_relative_to(folder) or Path(cwd).is_relative_to(folder.resolve())
        )

    def take(self, transcripts: Iterable[Transcript]) -> None:
        """Import one after the other; an unreadable one does not stop the others."""
        for transcript in transcripts:
            try:
                taken = take_transcript(
                    self.taker,
                    transcript,
                    is_quiet=self._is_quiet(transcript),
                    dry_run=self.report.dry_run,
                    on_bytes=self._advance,
                )
            except OSError as error:
                where = Path(error.filename) if error.filename else transcript.parts[0].path
                self.report.unread.append(UnreadableFile(where, error.strerror or str(error)))
            else:
                self._count(transcript, taken)

    def finish(self) -> TranscriptReport:
        """The report with the counts of the ingester."""
        counts = self.taker.counts
        return replace(
            self.report,
            events=counts.events,
            repeated_events=counts.repeated,
            prompts=counts.prompts,
            observations=counts.observations,
            redacted=counts.redacted,
            problems=[*self.report.problems, *counts.problems],
        )

    def _is_quiet(self, transcript: Transcript) -> bool:
        minutes = self.services.settings.capture_idle_minutes
        return self.services.clock() - transcript.last_at >= timedelta(minutes=minutes)

    def _advance(self, size: int) -> None:
        self._done += size
        self.report.bytes_read += size
        if self.progress is not None:
            self.progress(min(self._done, self._total), self._total)

    def _count(self, transcript: Transcript, taken: ImportedTranscript) -> None:
        report = self.report
        match taken.state:
            case ImportState.NEW:
                report.new += 1
            case ImportState.CONTINUED:
                report.continued += 1
            case ImportState.UNCHANGED:
                report.unchanged += 1
            case ImportState.CAUGHT:
                report.caught += 1
        report.known_events += taken.known
        report.reading.add(taken.reading)
        if taken.events:
            project = self.taker.environment.locate(transcript.cwd).project
            report.projects[project] = report.projects.get(project, 0) + 1
