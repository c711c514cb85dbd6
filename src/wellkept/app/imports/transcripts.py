"""Taking in transcripts that coding clients left on this machine: the cold start of a memory.

Read-only on everything but the store. A transcript's own folder decides its project, through the
same resolver as everything else; one whose folder is not known is left out and reported. How a
client writes its transcripts is known above `app`, which hands them in. What comes in has no
vectors yet: `Wellkept.reindex` makes them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.app.observer.ingest import drain_rules, machine_environment, read_source
from wellkept.core.records import field, record, replace
from wellkept.core.transcripts import ReadStats, Transcript, UnreadableFile
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.ingest import CommandPolicy, EventIngester, IngestRules
from wellkept.observe.ingest.transcript_import import (
    ImportedTranscript,
    ImportState,
    take_transcript,
)
from wellkept.observe.reading.environment import Environment

if TYPE_CHECKING:
    from wellkept.app.wellkept import Wellkept
    from wellkept.core.types import Progress

_KEPT_SOURCES = 32


@record(kw_only=True)
class TranscriptFilter:
    """Which transcripts are meant. `project` None means every one."""

    project: str | None = None
    since: datetime | None = None


@record(frozen=False, kw_only=True)
class TranscriptReport:
    """What was found and what became of it; sessions by what happened to them."""

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
        """How many sessions brought something."""
        return self.new + self.continued


def import_transcripts(
    wk: Wellkept,
    source: str,
    found: Iterable[Transcript | UnreadableFile],
    *,
    wanted: TranscriptFilter,
    dry_run: bool = False,
    progress: Progress | None = None,
    environment: Mapping[str, str] | None = None,
    learn: bool = True,
) -> TranscriptReport:
    """Take in a client's transcripts, each into the project of its own folder, and then learn from
    the sessions that are over."""
    env = os.environ if environment is None else environment
    rules = IngestRules(
        turns_between_summaries=drain_rules(wk.settings).turns_between_summaries,
        commands=CommandPolicy.NONE if dry_run else CommandPolicy.REMEMBER,
    )
    taker = EventIngester(_without_vectors(wk.engine), _world_of_then(wk, env), rules)
    run = _Run(wk, taker, TranscriptReport(source=source, dry_run=dry_run), progress)
    run.take(run.chosen(found, wanted))
    if learn and taker.due and not dry_run:
        learned = wk.observer.learn(list(taker.due), daily_model_tokens=0, with_vectors=False)
        run.report.problems.extend(learned.problems)
    return run.told()


def _without_vectors(engine: Engine) -> Engine:
    """The engine for much at once: found by words as soon as it is in; vectors, which take many
    times as long, are a re-index that can be broken off."""
    return replace(engine, embedder=lambda: None)


def _world_of_then(wk: Wellkept, environment: Mapping[str, str]) -> Environment:
    """This machine, asked only for what may still be as it was."""
    now = machine_environment(wk.engine.store, environment)
    return Environment(
        locate=now.locate,
        read_file=lru_cache(maxsize=_KEPT_SOURCES)(read_source),
        commit_files=_if_there(now),
    )


def _if_there(world: Environment) -> Callable[[str, str], tuple[str, ...]]:
    """Asking git costs a process, so a folder that is gone is not asked about."""

    @lru_cache(maxsize=256)
    def is_checkout(folder: str) -> bool:
        return (Path(folder) / ".git").exists()

    def files(folder: str, sha: str) -> tuple[str, ...]:
        return world.commit_files(folder, sha) if is_checkout(folder) else ()

    return files


@record(frozen=False)
class _Run:
    """The running account of one import."""

    wk: Wellkept
    taker: EventIngester
    report: TranscriptReport
    progress: Progress | None
    _done: int = 0
    _total: int = 0

    def chosen(
        self, found: Iterable[Transcript | UnreadableFile], wanted: TranscriptFilter
    ) -> list[Transcript]:
        """The transcripts that are meant; the others are counted."""
        kept: list[Transcript] = []
        for one in found:
            if isinstance(one, UnreadableFile):
                self.report.unread.append(one)
            elif one.cwd is None:
                reason = "does not tell its folder, so its project is not known"
                self.report.unread.append(UnreadableFile(one.parts[0].path, reason))
            elif wanted.since is not None and one.last_at < wanted.since:
                self.report.too_old += 1
            elif wanted.project not in (None, self.taker.environment.locate(one.cwd).project):
                self.report.other_projects += 1
            else:
                kept.append(one)
        self._total = sum(transcript.size_bytes for transcript in kept)
        return kept

    def take(self, transcripts: Iterable[Transcript]) -> None:
        """Take one after the other; one that cannot be read does not keep the others out."""
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

    def told(self) -> TranscriptReport:
        """The account of everything."""
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
        minutes = self.wk.settings.capture_idle_minutes
        return self.wk.engine.clock() - transcript.last_at >= timedelta(minutes=minutes)

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
