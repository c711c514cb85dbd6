"""Background work of a long-lived process: drain the spool, summarize sessions, maintain projects.

Several processes may run it at once: the spool lock lets one drain at a time, and each event counts
once. Slow work (a model, maintenance) runs in a second thread without that lock, so events never
wait; so does sync with a team's server. The caller passes the function that parses client payloads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING

from wellkept.api.learning import learn_more
from wellkept.core.doors import find_plugin
from wellkept.core.errors import WellkeptError
from wellkept.core.records import record
from wellkept.observe.observer.drain import drain_spool, summarize_and_learn
from wellkept.observe.observer.spool_folder import SpoolFolder

if TYPE_CHECKING:
    from wellkept.api.plugins import TeamPlugin
    from wellkept.api.wellkept import Wellkept
    from wellkept.observe.ingest.drain import DrainReport, Translate


@record(kw_only=True)
class WorkerIntervals:
    """How often the spool is polled, and how often it is drained without new events.

    The latter summarizes idle sessions and removes finished files.
    """

    look_every_s: float = 0.1
    drain_every_s: float = 60.0
    sync_every_s: float = 15.0
    """How often remotes are looked at; each says itself when its time has come."""


class BackgroundWorker:
    """Drains and keeps up from threads between `start` and `stop`; also a context manager."""

    def __init__(
        self,
        open_in: Callable[[Path], Wellkept],
        *,
        folder: Path,
        translate: Translate,
        environment: Mapping[str, str],
        pace: WorkerIntervals | None = None,
        on_error: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self._open_in = open_in
        self._folder = folder
        self._translate = translate
        self._environment = environment
        self._spool = SpoolFolder.of(environment)
        self._pace = pace or WorkerIntervals()
        self._on_error = on_error
        self._stopping = threading.Event()
        self._later: SimpleQueue[DrainReport | None] = SimpleQueue()
        self._seen: tuple[tuple[str, int, int], ...] | None = None
        self._drained_at = 0.0
        # Daemons: a model that takes minutes must not keep the process from exiting.
        works = {
            "wellkept-drain": self._drain_on,
            "wellkept-maintenance": self._follow_up_on,
            "wellkept-sync": self._sync_on,
        }
        self._threads = [
            threading.Thread(target=self._run, args=(work,), name=name, daemon=True)
            for name, work in works.items()
        ]

    def __enter__(self) -> BackgroundWorker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Finish the running drain. Model calls and maintenance already started are not awaited."""
        self._stopping.set()
        self._later.put(None)
        if self._threads[0].is_alive():
            self._threads[0].join()

    def drain_if_needed(self, wk: Wellkept) -> DrainReport | None:
        """Drain if there are new events or the interval has passed; None when nothing was done."""
        now = monotonic()
        seen = self._spool.signature()
        is_time = now - self._drained_at >= self._pace.drain_every_s
        nothing_yet = not seen and not wk.services.is_there
        if nothing_yet or (self._seen == seen and not is_time):
            return None
        report = drain_spool(
            wk.engine,
            wk.settings,
            translate=self._translate,
            environment=self._environment,
            database=wk.path,
        )
        if report.busy:
            return None
        # What came in meanwhile is not in `seen`, so the next look finds a difference. Drained
        # files are gone; one that was in use is looked at again: what was drained must not stay.
        left = seen if self._spool.signature() else ()
        self._seen, self._drained_at = None if report.in_use else left, now
        return report

    def follow_up(self, wk: Wellkept, report: DrainReport) -> None:
        """What may take long: a model sums up what is due, skills are learned, and projects are
        kept up."""
        learn_more(wk, summarize_and_learn(wk, report), environment=self._environment)
        for folder in self._due_folders(wk, report.sessions):
            with self._open_in(folder) as project:
                project.maintain_if_due()

    def _due_folders(self, wk: Wellkept, session_ids: Sequence[str]) -> list[Path]:
        from wellkept.memory.lifecycle.maintenance import maintenance_due

        sessions = [wk.engine.store.get_session(session_id) for session_id in session_ids]
        folders = {one.project: one.cwd for one in sessions if one is not None and one.cwd}
        return [
            Path(cwd)
            for project, cwd in folders.items()
            if maintenance_due(wk.engine, project=project) and Path(cwd).is_dir()
        ]

    def _run(self, work: Callable[[Wellkept], None]) -> None:
        """Work with the memory of the process's own folder; a failure to open it is told."""
        try:
            wk = self._open_in(self._folder)
        except WellkeptError as error:
            self._on_error(error)
            return
        with wk:
            work(wk)

    def _drain_on(self, wk: Wellkept) -> None:
        while not self._stopping.wait(self._pace.look_every_s):
            try:
                report = self.drain_if_needed(wk)
            except (WellkeptError, OSError) as error:
                self._put_off(error)
                continue
            if report is not None and report.sessions:
                self._later.put(report)

    def _put_off(self, error: Exception) -> None:
        """Nothing is lost: events stay in the spool until more come or it is time again."""
        self._on_error(error)
        self._seen, self._drained_at = self._spool.signature(), monotonic()

    def _follow_up_on(self, wk: Wellkept) -> None:
        while (report := self._later.get()) is not None and not self._stopping.is_set():
            try:
                self.follow_up(wk, report)
            except (WellkeptError, OSError) as error:
                self._on_error(error)

    def _sync_on(self, wk: Wellkept) -> None:
        """Share with teams' servers. A server that does not answer holds up nothing else."""
        team: TeamPlugin | None = find_plugin("team")
        while team is not None and not self._stopping.wait(self._pace.sync_every_s):
            if not wk.services.is_there:
                continue
            try:
                team.sync_due(wk.engine, environment=self._environment, stop=self._stopping.is_set)
            except (WellkeptError, OSError) as error:
                self._on_error(error)
