"""The `wellkept` command: lists the commands and imports only the one that runs.

Invariant: running a command imports no other command's module; `--help` imports none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Final

import click

from wellkept import __version__
from wellkept.api.cli import exit_codes
from wellkept.api.cli.groups import environment_colour
from wellkept.core.errors import WellkeptError

if TYPE_CHECKING:
    from wellkept.api.plugins import HasCommands

SECTIONS: Final = MappingProxyType(
    {
        "Getting started": {
            "init": ("data.init", "Learn what this project says about itself."),
            "tour": (
                "data.tour",
                "Import this project, show a summary and try three questions.",
            ),
            "demo": (
                "data.demo",
                "Make a project with weeks of history in a folder of its own, and show its page.",
            ),
            "install": ("run.install", "Install Wellkept in a coding client."),
            "uninstall": ("run.uninstall", "Remove Wellkept from a coding client."),
            "status": (
                "run.status",
                "Show installed clients and running processes.",
            ),
            "hook": (
                "run.hook",
                "Take one event of any coding client as JSON on standard input, and print context"
                " for it.",
            ),
            "off": (
                "run.pause",
                "Silence the hooks of every client at once, in open sessions too.",
            ),
            "on": ("run.pause", "Let the hooks speak and capture again."),
        },
        "Memories": {
            "remember": ("memory.remember", "Store a memory."),
            "recall": ("memory.recall", "Search memories."),
            "list": ("memory.list_", "List memories, newest first."),
            "show": ("memory.show", "Show memories in full."),
            "timeline": ("memory.timeline", "Show the memories before and after a memory."),
            "context": (
                "memory.context",
                "Show the context an agent would get, within a token budget.",
            ),
            "edit": ("memory.edit", "Change a memory."),
            "forget": ("memory.forget", "Delete memories permanently."),
            "apply": ("memory.apply", "Execute the memory commands in a message."),
            "relate": ("memory.relate", "Relate a memory to another memory or a file."),
            "confidence": (
                "memory.relate",
                "Set the confidence of a memory and update related memories.",
            ),
            "log": (
                "memory.log",
                "Show what agents were told lately, why, and what came of each line.",
            ),
            "why": (
                "memory.why",
                "Show where a memory or a line that an agent was given comes from, and whether"
                " it was of use.",
            ),
            "flag": (
                "memory.log",
                "Flag a memory that is wrong or did harm: it goes silent and waits for review.",
            ),
            "ask": ("memory.ask", "Answer a question from memory, with citations."),
            "review": (
                "memory.review",
                "Show what a session, or the project, left to look at, in three groups.",
            ),
            "correct": (
                "memory.review",
                "Correct a memory: inaccurate, outdated, too specific, or a duplicate.",
            ),
            "history": (
                "memory.review",
                "Show how a memory came to be: what replaced what, its evidence and its use.",
            ),
            "bulk": (
                "memory.bulk",
                "Confirm, reject, archive, delete, flag, weigh or tag many memories, with undo.",
            ),
            "undo": (
                "memory.bulk",
                "Take an action back by its id, or list what can be taken back.",
            ),
            "health": (
                "memory.health",
                "Show whether the memory is alive, trusted and of use, with a score from 0 to 100.",
            ),
            "facets": (
                "memory.facets",
                "Count how many memories each further filter would leave.",
            ),
            "stats": (
                "memory.stats",
                "Count memories by type, scope and source, and what agents were given.",
            ),
        },
        "Work, skills and code": {
            "sessions": ("work.sessions", "List sessions, newest first, or show one."),
            "observer": (
                "work.observer",
                "Show what is being learned, and report whether work passed.",
            ),
            "methodology": ("work.methodology", "Show and choose the methodology."),
            "skill": ("skills.group", "Find, run, validate, write, enable and disable skills."),
            "graph": ("graph.group", "Build and query the code graph."),
        },
        "Agent": {
            "agent": (
                "+agent",
                "Let an agent work on a task, with this project's memory.",
            ),
            "chat": ("+agent", "Talk with an agent that knows this project."),
        },
        "Servers": {
            "mcp": ("run.mcp", "Run the MCP server."),
            "serve": (
                "run.serve",
                "Run the HTTP and MCP server, and process hook events.",
            ),
            "token": ("run.serve", "Show the file of the server's token, or replace the token."),
            "open": (
                "run.open_",
                "Open the page in a browser; start a server when none is running.",
            ),
            "team": (
                "+team",
                "Run Wellkept for a team on PostgreSQL: organisations, people, tokens, audit,"
                " policies.",
            ),
            "events": ("run.events", "Show recent activity, or follow it live."),
        },
        "Import and export": {
            "import": (
                "data.export_import",
                "Import transcripts, git history, other tools' data or an export.",
            ),
            "export": ("data.export_import", "Export memories to JSONL or Markdown."),
            "backup": ("data.backup", "Copy the store to a new file."),
            "restore": ("data.restore", "Replace the store with a backup."),
            "move": (
                "+team",
                "Copy the whole store to another engine, and verify the copy.",
            ),
            "projects": ("data.projects", "List, merge and join projects."),
            "handoff": ("data.handoff", "Hand a branch over to the next person's agent."),
            "share": ("+team", "Share memories with your team through git."),
            "remote": (
                "+team",
                "Share memories with your team through a server.",
            ),
        },
        "Maintenance": {
            "maintain": (
                "system.maintenance",
                "Run all maintenance: refresh, decay, and archive what ended. Deletes nothing.",
            ),
            "refresh": (
                "system.maintenance",
                "Follow renamed files and mark stale memories.",
            ),
            "decay": ("system.maintenance", "Reduce the importance of unused memories."),
            "prune": ("system.maintenance", "Delete unimportant memories permanently."),
            "compact": ("system.maintenance", "Merge near-duplicate memories."),
            "archive": ("system.maintenance", "Archive the memories of a finished work unit."),
            "doctor": (
                "system.doctor",
                "Check the installation and the store, and repair problems.",
            ),
            "reindex": (
                "system.reindex",
                "Update the search indexes for the current embedding model.",
            ),
            "storage": (
                "system.storage",
                "Show what fills the store, and what a prune would take.",
            ),
            "spool": (
                "run.spool",
                "Show, process and retry captured events that are not stored yet.",
            ),
        },
        "Settings": {
            "config": ("system.config", "Show and change settings."),
            "model": ("system.model", "Show, choose and test the model that reads sessions."),
            "models": (
                "system.models",
                "List, download and remove embedding models and rerankers.",
            ),
            "completion": ("system.completion", "Print the completion script for a shell."),
        },
    }
)
"""Help section -> command name -> module under `commands` and one-line help. The function in the
module has the name of the command."""

COMMANDS: Final = MappingProxyType(
    {name: entry for section in SECTIONS.values() for name, entry in section.items()}
)

ALIASES: Final = MappingProxyType({"project": "projects", "injected": "log"})
"""Other names of commands, not listed in the help."""


class _LazyGroup(click.Group):
    """A group whose commands are imported when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        module = _module(cmd_name, COMMANDS[cmd_name][0])
        command: click.Command = getattr(module, cmd_name + _SUFFIX.get(cmd_name, ""))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = args and (args[0] in COMMANDS or args[0] in ALIASES)
        if args and not known and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], list(COMMANDS), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"Unknown command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        first_column = max(map(len, COMMANDS))
        for title, section in SECTIONS.items():
            rows = [(name.ljust(first_column), text) for name, (_, text) in section.items()]
            with formatter.section(title):
                formatter.write_dl(rows)


def _module(command: str, name: str) -> ModuleType:
    if not name.startswith("+"):
        return import_module(f"wellkept.api.cli.{name}")
    from wellkept.core.doors import require_plugin

    plugin: HasCommands = require_plugin(name[1:])
    return plugin.command(command)


_NAME = "wellkept"
_OF_CLIENTS: Final = frozenset({"hook", "spool"})
# Reserved words and builtins of Python.
_SUFFIX: Final = MappingProxyType({"list": "_", "import": "_", "open": "_"})


@click.group(
    cls=_LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": None},
)
@click.option(
    "--store",
    metavar="FILE|URL",
    help="Database file, or address of a PostgreSQL database; overrides the settings.",
)
@click.version_option(__version__, "--version", "-V", message="wellkept %(version)s")
@click.pass_context
def root(ctx: click.Context, store: str | None) -> None:
    """Persistent memory for coding agents."""
    ctx.obj = store
    # Until the command reads the settings.
    ctx.color = environment_colour()
    if ctx.invoked_subcommand is None:
        from wellkept.api.cli.greeting import print_greeting

        print_greeting(__version__, store)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. Never raises."""
    _replace_closed_streams()
    _escape_unencodable_output()
    try:
        return _run([_as_text(argument) for argument in arguments])
    except BrokenPipeError:
        _silence_stdout()
        return exit_codes.BROKEN_PIPE
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)
        return exit_codes.INTERRUPTED
    except OSError as error:
        _silence_stdout()
        _show_system_error(error)
        return exit_codes.SYSTEM_REFUSED
    except Exception:  # noqa: BLE001 - a crash must not exit with 1
        from traceback import print_exc

        print_exc()
        return exit_codes.CRASHED


def _run(arguments: list[str]) -> int:
    try:
        return _invoke(arguments)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        click.echo("Cancelled. Nothing was changed.", err=True)
        return exit_codes.NOTHING
    except click.ClickException as error:
        _show_usage(error)
        return exit_codes.USAGE
    except WellkeptError as error:
        if os.environ.get("WELLKEPT_DEBUG") == "1":
            from traceback import print_exc

            print_exc()
        _show(error)
        return exit_codes.exit_code(error)


def _invoke(arguments: list[str]) -> int:
    """Run the command without click's own handling of pipes and interrupts."""
    match arguments:
        case ["help", *words]:
            arguments = [*words, "--help"]
        case ["version"]:
            arguments = ["--version"]
        case _:
            pass
    with root.make_context(_NAME, arguments) as ctx, _asked_by_its_caller(arguments):
        code = root.invoke(ctx)
    sys.stdout.flush()
    return code if isinstance(code, int) else exit_codes.OK


def _asked_by_its_caller(arguments: Sequence[str]) -> AbstractContextManager[None]:
    """A command in an agent's tool call is the agent's; events that clients bring are nobody's."""
    from wellkept.clients.agent_shell import agent_of

    name = next((one for one in arguments if one in COMMANDS), "")
    if agent_of(os.environ) is None or name in _OF_CLIENTS:
        return nullcontext()
    from wellkept.api.server.caller import asked_by
    from wellkept.core.team.people import AGENT

    return asked_by(AGENT)


def _show(error: WellkeptError) -> None:
    from wellkept.api.cli.output import safe

    _print_error(safe(error.message))
    if error.hint:
        click.echo(f"Hint: {safe(error.hint)}", err=True)


def _show_system_error(error: OSError) -> None:
    """Print an error of the operating system, such as a full disk."""
    if os.environ.get("WELLKEPT_DEBUG") == "1":
        from traceback import print_exc

        print_exc()
    where = f" ({error.filename})" if error.filename else ""
    _print_error(f"System error: {error.strerror or error}{where}.")
    click.echo("Hint: set WELLKEPT_DEBUG=1 to see where.", err=True)


def _print_error(message: str) -> None:
    """An error may quote what it was given, and what is printed may be kept in a log."""
    from wellkept.text.secrets.redaction import redact

    mark = click.style("Error: ", fg="red", bold=True)
    click.echo(mark + redact(message).text, err=True, color=environment_colour())


def _show_usage(error: click.ClickException) -> None:
    _print_error(error.format_message())
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    if ctx is not None:
        click.echo(f"Hint: see `{ctx.command_path} --help`.", err=True)


def _as_text(argument: str) -> str:
    """Decode an argument as UTF-8, whatever the locale."""
    return os.fsencode(argument).decode("utf-8", errors="replace")


def _replace_closed_streams() -> None:
    """Open the null device for closed standard streams.

    Otherwise the next opened file would get descriptor 0, 1 or 2 and be written to by mistake.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def _escape_unencodable_output() -> None:
    """Print characters missing in the terminal's encoding as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _silence_stdout() -> None:
    """Avoid an error message about the closed pipe at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
