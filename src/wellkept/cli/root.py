"""The `wellkept` command itself: finds commands by name and loads only the one that is run.

Invariant: starting a command imports its own module and no other command's; `--help` imports none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Final

import click

from wellkept import __version__
from wellkept.cli import exit_codes
from wellkept.cli.groups import environment_colour
from wellkept.core.errors import WellkeptError

SECTIONS: Final = MappingProxyType(
    {
        "To begin": {
            "init": ("data.init", "Take in this project's documents and history."),
            "tour": (
                "data.tour",
                "Take in this project, show what is known, and try three questions.",
            ),
            "install": ("run.install", "Put Wellkept into a coding client."),
            "uninstall": ("run.uninstall", "Take Wellkept out of a coding client again."),
            "status": (
                "run.status",
                "Show which coding clients Wellkept is in, and what of it runs.",
            ),
        },
        "Memories": {
            "remember": ("memory.remember", "Keep a statement."),
            "recall": ("memory.recall", "Find the memories that answer a question."),
            "list": ("memory.list_", "List memories, newest first."),
            "show": ("memory.show", "Show memories in full."),
            "timeline": ("memory.timeline", "Show what stands before and after a memory in time."),
            "context": ("memory.context", "Show what is worth saying now, inside a token budget."),
            "edit": ("memory.edit", "Change a memory."),
            "forget": ("memory.forget", "Delete memories for good."),
            "apply": ("memory.apply", "Carry out the memory commands in a message."),
            "relate": ("memory.relate", "Say how a memory stands to another memory or to a file."),
            "confidence": (
                "memory.relate",
                "Set how sure a memory is; what it is related to moves with it.",
            ),
            "why": ("work.observer", "Show why a memory is there: sessions, signals, rule, score."),
            "stats": ("memory.stats", "Count memories by type, scope and source."),
        },
        "Work, skills and code": {
            "sessions": ("work.sessions", "List sessions, the latest first, or show one."),
            "observer": (
                "work.observer",
                "Show what is being learned, and say whether work held up.",
            ),
            "methodology": ("work.methodology", "Show and choose the way of working."),
            "skill": ("skills.group", "Find, run, check, write and switch skills."),
            "graph": ("graph.group", "Build the code graph, and ask what a change touches."),
        },
        "Servers": {
            "mcp": ("run.mcp", "Serve memory to a coding client by MCP."),
            "serve": (
                "run.serve",
                "Serve memory over HTTP and MCP, and take in events as they come.",
            ),
            "events": ("run.events", "Show what is new, as it happens."),
        },
        "To and fro": {
            "import": (
                "data.export_import",
                "Take in transcripts, git, other tools' data, or an exported file.",
            ),
            "export": ("data.export_import", "Write memories to a file for git or for people."),
            "backup": ("data.backup", "Copy the whole store into a new file."),
            "restore": ("data.restore", "Put a backup in the place of the whole store."),
            "projects": ("data.projects", "List projects, and merge two that are one."),
        },
        "Maintenance": {
            "maintain": (
                "system.maintenance",
                "Follow renames, archive merged work, refresh, decay and prune in one go.",
            ),
            "refresh": (
                "system.maintenance",
                "Follow renamed files, and mark memories that no longer hold.",
            ),
            "decay": ("system.maintenance", "Let importance fade with disuse."),
            "prune": ("system.maintenance", "Remove what is no longer worth keeping, for good."),
            "compact": ("system.maintenance", "Merge near-duplicates."),
            "archive": ("system.maintenance", "Archive what belongs to a finished unit of work."),
            "doctor": ("system.doctor", "Look everything over, and mend what can be mended."),
            "reindex": ("system.reindex", "Bring the search indexes up to the model in use."),
            "spool": (
                "run.spool",
                "Show, take in and repair what was caught but is not in memory yet.",
            ),
        },
        "Settings": {
            "config": ("system.config", "Show and change settings."),
            "completion": ("system.completion", "Print the completion script for a shell."),
        },
    }
)
"""What the help lists together: command name -> module under `commands`, and its one-line help. The
function has the name of the command."""

COMMANDS: Final = MappingProxyType(
    {name: entry for section in SECTIONS.values() for name, entry in section.items()}
)


class LazyGroup(click.Group):
    """A group whose commands are imported when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"wellkept.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name + _SUFFIX.get(cmd_name, ""))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], list(COMMANDS), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
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


_NAME, _COMPLETE_VARIABLE = "wellkept", "_WELLKEPT_COMPLETE"
# Names that Python keeps for itself.
_SUFFIX: Final = MappingProxyType({"list": "_", "import": "_"})


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": None},
)
@click.option(
    "--store",
    metavar="FILE",
    help="Database file, in place of the one the settings name.",
)
@click.version_option(__version__, "--version", "-V", message="wellkept %(version)s")
@click.pass_context
def root(ctx: click.Context, store: str | None) -> None:
    """A memory for coding agents that outlives the session."""
    ctx.obj = store
    # What the environment says, until a command has read the settings.
    ctx.color = environment_colour()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command line; every way it can end becomes an exit code."""
    _stand_in_for_closed_streams()
    _accept_any_terminal()
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
    except Exception:  # noqa: BLE001 - a crash must not end with the code of "nothing found"
        from traceback import print_exc

        print_exc()
        return exit_codes.CRASHED


def _run(arguments: list[str]) -> int:
    try:
        return _invoke(arguments)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        click.echo("Nothing was done.", err=True)
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
    if _COMPLETE_VARIABLE in os.environ:
        root.main(arguments, prog_name=_NAME, complete_var=_COMPLETE_VARIABLE)
    with root.make_context(_NAME, arguments) as ctx:
        code = root.invoke(ctx)
    sys.stdout.flush()
    return code if isinstance(code, int) else exit_codes.OK


def _show(error: WellkeptError) -> None:
    from wellkept.cli.output import safe

    _print_error(safe(error.message))
    if error.hint:
        click.echo(f"Hint: {safe(error.hint)}", err=True)


def _show_system_error(error: OSError) -> None:
    """What the system refused, such as writing to a full disk; nothing of it is our mistake."""
    if os.environ.get("WELLKEPT_DEBUG") == "1":
        from traceback import print_exc

        print_exc()
    where = f" ({error.filename})" if error.filename else ""
    _print_error(f"The system refused: {error.strerror or error}{where}.")
    click.echo("Hint: set WELLKEPT_DEBUG=1 to see where.", err=True)


def _print_error(message: str) -> None:
    mark = click.style("Error: ", fg="red", bold=True)
    click.echo(mark + message, err=True, color=environment_colour())


def _show_usage(error: click.ClickException) -> None:
    _print_error(error.format_message())
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    if ctx is not None:
        click.echo(f"Hint: see `{ctx.command_path} --help`.", err=True)


def _as_text(argument: str) -> str:
    """An argument as UTF-8, also where the locale made Python read it as something else."""
    return os.fsencode(argument).decode("utf-8", errors="replace")


def _stand_in_for_closed_streams() -> None:
    """Put the null device where a standard stream is closed.

    Otherwise the next file opened would take its number, and be written to by mistake.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def _accept_any_terminal() -> None:
    """A character that the terminal's encoding lacks is shown escaped instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _silence_stdout() -> None:
    """Keep the interpreter from complaining about the closed pipe at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
