"""Commands that run in the background of a session, by id. All end with the session."""

from __future__ import annotations

import asyncio
import atexit
import weakref

from wellkept.core.errors import NotFoundError, UsageError
from wellkept_agent.tools.shell.process import ShellProcess

MAX_JOBS = 16


class ShellJob:
    """One background command and how far its output was read."""

    def __init__(self, job_id: str, process: ShellProcess) -> None:
        self.id = job_id
        self.process = process
        self.position = 0

    def unread(self) -> str:
        """Output since the last look."""
        text, self.position = self.process.output.since(self.position)
        return text

    @property
    def status(self) -> str:
        """Running, or how it ended."""
        code = self.process.exit_code
        if self.process.was_ended:
            return "ended"
        return "running" if code is None else f"exited with code {code}"


class ShellJobs:
    """The background commands of a session and its sub-agents."""

    def __init__(self) -> None:
        self._jobs: dict[str, ShellJob] = {}
        self._count = 0
        _open.add(self)

    def add(self, process: ShellProcess) -> ShellJob:
        """Keep a command that runs on."""
        self._count += 1
        job = ShellJob(f"bash_{self._count}", process)
        self._jobs[job.id] = job
        return job

    def check_room(self) -> None:
        """A UsageError when too many run already."""
        running = [one.id for one in self._jobs.values() if one.process.exit_code is None]
        if len(running) >= MAX_JOBS:
            raise UsageError(
                f"{len(running)} commands run in the background already.",
                hint=f"End one with KillShell: {', '.join(running)}.",
            )

    def get(self, job_id: str) -> ShellJob:
        """A job by its id."""
        job = self._jobs.get(job_id)
        if job is None:
            known = ", ".join(f"{one.id} ({one.status})" for one in self._jobs.values())
            raise NotFoundError(
                f"There is no background command {job_id!r}.",
                hint=f"There are: {known}." if known else "None was started in this session.",
            )
        return job

    def all(self) -> list[ShellJob]:
        """Every job of the session, ended ones too."""
        return list(self._jobs.values())

    async def close(self) -> None:
        """End whatever still runs."""
        await asyncio.to_thread(self.end_all)

    def end_all(self) -> None:
        """End whatever still runs, without an event loop."""
        for job in self._jobs.values():
            job.process.end()
        self._jobs.clear()


_open: weakref.WeakSet[ShellJobs] = weakref.WeakSet()


@atexit.register
def _end_open_jobs() -> None:
    for jobs in list(_open):
        jobs.end_all()
