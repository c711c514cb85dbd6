"""Bash, BashOutput and KillShell: run a command, look at a background one, end it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import tempfile
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from wellkept.core.errors import UsageError
from wellkept.core.session.events import ToolKind
from wellkept.core.text import shorten
from wellkept.text.shell.effects import Effect, effect_of
from wellkept.text.shell.permission_rules import rule_for
from wellkept_agent.events import ToolProgress
from wellkept_agent.permissions import PermissionRequest
from wellkept_agent.settings import ToolSettings
from wellkept_agent.tools.base import Arguments, ToolContext, ToolOutput, TypedTool, failure
from wellkept_agent.tools.shell.process import ShellProcess

_LEFTOVERS = (
    "[Processes that the command left running were ended. Start servers with run_in_background.]"
)


class _BashArguments(Arguments):
    command: Annotated[str, Field(description="The command line, run by bash.")]
    timeout: Annotated[
        int | None, Field(ge=1, description="Milliseconds after which it is ended.")
    ] = None
    description: Annotated[str, Field(description="What it does, in five to ten words.")] = ""
    run_in_background: Annotated[
        bool,
        Field(description="Return at once with an id for BashOutput and KillShell."),
    ] = False


class Bash(TypedTool[_BashArguments]):
    """Runs commands; the working folder is kept between calls, variables are not."""

    name = "Bash"
    description = (
        "Run a shell command in the session's working folder; `cd` lasts, variables do not. There"
        " is no terminal and no input. Long output is cut in the middle; an exit code other than 0"
        " is given. Prefer Read, Edit, Glob and Grep for files. Start servers and watchers with"
        " run_in_background."
    )
    kind = ToolKind.SHELL
    is_long_running = True

    def __init__(self, settings: ToolSettings | None = None) -> None:
        self._settings = settings or ToolSettings()

    def subject(self, context: ToolContext, arguments: Mapping[str, object]) -> str:
        """What rules such as `Bash(git *)` are compared with."""
        return str(arguments.get("command", ""))

    def wants(
        self, context: ToolContext, arguments: Mapping[str, object]
    ) -> PermissionRequest | None:
        """Commands that only read inside the project need no permission."""
        command = str(arguments.get("command", ""))
        roots = (context.project_root, *context.session.extra_folders)
        effect = effect_of(command, folder=context.working_directory, roots=roots)
        if effect is Effect.READS:
            return None
        outside = " (reads outside of the project)" if effect is Effect.READS_OUTSIDE else ""
        return PermissionRequest(
            tool=self.name,
            arguments=shorten(command, limit=2_000),
            reason=f"run {shorten(command, limit=200)!r}{outside}",
            preview=command,
            rule=rule_for(command),
            only_reads=effect is Effect.READS_OUTSIDE,
        )

    async def run(self, context: ToolContext, arguments: _BashArguments) -> ToolOutput:
        """Run the command to its end, or start it in the background."""
        if not arguments.command.strip():
            return failure("The command is empty.")
        if "\0" in arguments.command:
            return failure("The command contains a NUL character, which no shell takes.")
        folder = context.working_directory
        if not folder.is_dir():
            context.session.working_directory = context.project_root
            return failure(
                f"The working folder {folder} is gone. It is {context.project_root} again."
            )
        if arguments.run_in_background:
            return self._in_background(context, arguments.command)
        limit_ms = arguments.timeout or self._settings.bash_timeout_ms
        limit_ms = min(limit_ms, self._settings.bash_max_timeout_ms)
        with tempfile.TemporaryDirectory(prefix="wellkept-bash-") as temporary:
            folder_file = Path(temporary) / "folder"
            process = self._started(context, arguments.command, folder_file)
            try:
                report = partial(_report, context)
                in_time = await process.wait(limit_ms / 1000, report)
                if not in_time:
                    await asyncio.to_thread(process.end)
                left_behind = await asyncio.to_thread(process.end_leftovers)
                await process.drain()
            except BaseException:  # cancelled: nothing may be left running
                process.end()
                raise
            notes = [_LEFTOVERS] if left_behind and in_time else []
            notes += _moved(context, folder_file)
        return self._output(arguments.command, process, notes, limit_ms if not in_time else None)

    def _started(self, context: ToolContext, command: str, folder_file: Path) -> ShellProcess:
        return ShellProcess(
            command,
            folder=context.working_directory,
            environment=command_environment(os.environ, keep=self._settings.bash_keep_variables),
            max_chars=self._settings.bash_output_chars,
            folder_file=folder_file,
        )

    def _in_background(self, context: ToolContext, command: str) -> ToolOutput:
        jobs = context.session.jobs
        jobs.check_room()
        process = ShellProcess(
            command,
            folder=context.working_directory,
            environment=command_environment(os.environ, keep=self._settings.bash_keep_variables),
            max_chars=self._settings.bash_output_chars,
        )
        job = jobs.add(process)
        return ToolOutput(
            content=f"Running in the background as {job.id}. Its output: BashOutput with"
            f" bash_id={job.id!r}. To end it: KillShell.",
            command=command,
        )

    def _output(
        self, command: str, process: ShellProcess, notes: list[str], timed_out_ms: int | None
    ) -> ToolOutput:
        text = process.output.text().rstrip()
        code = process.exit_code
        head: list[str] = []
        if timed_out_ms is not None:
            most = self._settings.bash_max_timeout_ms
            unit = " (timeout is in milliseconds)" if timed_out_ms < 1_000 else ""
            head = [
                f"Timed out after {timed_out_ms / 1000:g} s{unit}; the command and everything it"
                f" started were ended. Give a longer timeout (up to {most} ms) or use"
                " run_in_background."
            ]
        elif code:
            head = [f"Exit code {code}{_signal_name(code)}"]
        body = [text] if text else ([] if head else ["(No output; exit code 0.)"])
        return ToolOutput(
            content="\n".join([*head, *body, *notes]),
            is_error=bool(head),
            display=text,
            command=command,
        )


def _report(context: ToolContext, text: str) -> None:
    context.emit(ToolProgress(context.call_id, text))


def _signal_name(code: int) -> str:
    try:
        return f" ({signal.Signals(code - 128).name})" if code > 128 else ""
    except ValueError:
        return ""


def _moved(context: ToolContext, folder_file: Path) -> list[str]:
    """Take over the folder in which a command ended, when it is one of the session's."""
    try:
        ended_in = folder_file.read_text("utf-8", errors="surrogateescape").rstrip("\n")
    except OSError:
        return []
    here = context.working_directory
    if not ended_in or Path(ended_in) == here.resolve():
        return []
    try:
        context.session.working_directory = context.path(ended_in)
    except UsageError:
        return [f"[The working folder stays {here}: {ended_in} is outside of the project.]"]
    return []


class _BashOutputArguments(Arguments):
    bash_id: Annotated[str, Field(description="The id that Bash gave.")]
    filter: Annotated[
        str | None, Field(description="Only lines that match this regular expression.")
    ] = None
    wait: Annotated[
        int, Field(ge=0, le=60_000, description="Milliseconds to wait for an end first.")
    ] = 0


class BashOutput(TypedTool[_BashOutputArguments]):
    """New output of a background command."""

    name = "BashOutput"
    description = "What a background command has printed since the last look, and whether it runs."
    kind = ToolKind.SHELL
    read_only = True

    async def run(self, context: ToolContext, arguments: _BashOutputArguments) -> ToolOutput:
        """Give what came since the last look."""
        job = context.session.jobs.get(arguments.bash_id)
        if arguments.wait:
            await job.process.wait(arguments.wait / 1000)
        if job.process.exit_code is not None:
            await job.process.drain()
        text = job.unread().rstrip()
        if arguments.filter:
            try:
                wanted = re.compile(arguments.filter)
            except re.error as error:
                return failure(f"filter {arguments.filter!r} is no regular expression: {error}.")
            text = "\n".join(line for line in text.splitlines() if wanted.search(line))
        code = job.process.exit_code
        return ToolOutput(
            content=f"[{job.id}: {job.status}]\n{text or '(no new output)'}",
            is_error=bool(code) and not job.process.was_ended,
            command=job.process.command,
        )


class _KillShellArguments(Arguments):
    shell_id: Annotated[str, Field(description="The id that Bash gave.")]


class KillShell(TypedTool[_KillShellArguments]):
    """Ends a background command of this session."""

    name = "KillShell"
    description = "End a background command that Bash started, with everything it started."

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> None:
        """Only what the session itself started can be ended."""

    async def run(self, context: ToolContext, arguments: _KillShellArguments) -> ToolOutput:
        """End the job."""
        job = context.session.jobs.get(arguments.shell_id)
        if job.process.exit_code is not None:
            return ToolOutput(content=f"{job.id} has {job.status} already.")
        await asyncio.to_thread(job.process.end)
        return ToolOutput(content=f"{job.id} was ended.")


# -- The environment of commands: the person's own, without the keys that an agent works with -----


_OURS: Final = re.compile(
    r"WELLKEPT_\w*|(?:\w+_)?API_?KEYS?|(?:\w+_)?AUTH_TOKEN|(?:\w+_)?API_TOKEN"
)
_QUIET: Final = {
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "TERM": "dumb",
}
"""Nobody is there to page, to edit or to type a password."""


def command_environment(
    environment: Mapping[str, str], *, keep: Collection[str] = ()
) -> dict[str, str]:
    """The variables of a command. Names in `keep` are handed on whatever they look like."""
    kept = {
        name: value
        for name, value in environment.items()
        if name in keep or not _OURS.fullmatch(name.upper())
    }
    return {**kept, **_QUIET}
