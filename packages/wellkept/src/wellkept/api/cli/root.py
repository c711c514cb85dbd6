"""The `wellkept` command: lists the commands and imports only the one that runs.

Invariant: running a command imports no other command's module; `--help` imports none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from itertools import takewhile
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Final

import click

from wellkept import __version__
from wellkept.api.cli import door, exit_codes
from wellkept.api.cli.groups import Group, environment_colour, help_columns
from wellkept.api.verbs.index import VERBS
from wellkept.core.errors import WellkeptError

if TYPE_CHECKING:
    from wellkept.api.plugins import HasCommands


class _Root(click.Group):
    """The words of `wellkept`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*(name for section in door.DOOR.values() for name in section), *door.UNSHOWN]

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name in door.NOUNS:
            return _noun(cmd_name)
        is_known = cmd_name in VERBS or cmd_name in door.WORDS
        return _with_turns(cmd_name, command_at(cmd_name)) if is_known else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = (*VERBS, *door.WORDS, *door.NOUNS)
        if args and args[0] not in known and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"Unknown command {args[0]!r}.{hint}", ctx)
        return _turned(args[0], super().resolve_command(ctx, args))

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        first_column = max(len(name) for section in door.DOOR.values() for name in section)
        for title, section in door.DOOR.items():
            rows = [(name.ljust(first_column), text) for name, text in section.items()]
            with formatter.section(title):
                formatter.write_dl(rows)
        formatter.write_paragraph()
        formatter.write_text("`wellkept help WORD` tells more of one.")


class Noun(Group):
    """What stands under a noun: the commands of the group in the code, and those placed there."""

    def __init__(self, place: str, base: click.Group | None) -> None:
        super().__init__(
            place.rpartition(" ")[2],
            help=base.help if base is not None else door.DOOR["By subject"][place],
            invoke_without_command=base is not None and base.invoke_without_command,
            callback=base.callback if base is not None else None,
            params=base.params if base is not None else None,
        )
        self.place = place
        self.base = base

    def list_commands(self, ctx: click.Context) -> list[str]:
        own = self.base.list_commands(ctx) if self.base is not None else []
        own = [*_verbs_of(self.place), *own]
        kept = [name for name in own if f"{self.place} {name}" not in door.MOVED]
        placed = [name for name in door.below(self.place) if _is_installed(f"{self.place} {name}")]
        return [*kept, *(name for name in placed if name not in kept)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = f"{self.place} {cmd_name}"
        if place in door.PLACES:
            found = command_at(door.PLACES[place])
            base = found if isinstance(found, click.Group) else None
            found = Noun(place, base) if door.below(place) else leaf(found)
        elif place in VERBS:
            found = command_at(place)
        else:
            found = self.base.get_command(ctx, cmd_name) if self.base is not None else None
        return found and _with_turns(place, found)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # `wellkept agent TASK` is `wellkept agent run TASK`.
        words = {"run", "chat", "-h", "--help"}
        if self.place == "agent" and not words & {*args[:1]} and not ctx.resilient_parsing:
            args = ["run", *args]
        # `wellkept config` is `wellkept config list`.
        if self.place == "config" and args[:1] in ([], ["--json"]) and not ctx.resilient_parsing:
            args = ["list", *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return _turned(f"{self.place} {args[0]}", super().resolve_command(ctx, args))


def _noun(name: str) -> click.Command:
    base = command_at(name) if name in door.WORDS else None
    is_placed = any(place.startswith(f"{name} ") for place in (*door.PLACES, *door.TURNS, *VERBS))
    if base is not None and not is_placed:
        return base
    return Noun(name, base if isinstance(base, click.Group) else None)


def _verbs_of(noun: str) -> list[str]:
    return [words.removeprefix(f"{noun} ") for words in VERBS if words.startswith(f"{noun} ")]


def command_at(words: str) -> click.Command:
    """A command by its words in the code."""
    if words in VERBS:
        from wellkept.api.verbs.command import command_of

        return command_of(words)
    word, _, below = words.partition(" ")
    found: click.Command = getattr(_module(word, door.WORDS[word]), word + _SUFFIX.get(word, ""))
    if not below:
        return found
    assert isinstance(found, click.Group)
    return found.commands[below]


def _is_installed(place: str) -> bool:
    from wellkept.core.doors import find_plugin

    module = door.WORDS[door.PLACES[place].partition(" ")[0]]
    return not module.startswith("+") or find_plugin(module[1:]) is not None


def leaf(found: click.Command) -> click.Command:
    """What a group does when it is called alone, as a command."""
    if not isinstance(found, click.Group) or not found.invoke_without_command:
        return found
    return click.Command(
        found.name, callback=found.callback, params=[*found.params], help=found.help
    )


def _turned(
    place: str, found: tuple[str | None, click.Command | None, list[str]]
) -> tuple[str | None, click.Command | None, list[str]]:
    """Another command, when an option of the found one asks for it."""
    name, command, rest = found
    if (turn := door.turned(place, rest)) is None:
        return name, command, rest
    option, words, rest = turn
    return f"{name} {option}", leaf(command_at(words)), rest


def _with_turns(place: str, command: click.Command) -> click.Command:
    """The command with the options that make it another one, for its help."""
    from wellkept.api.cli.names import MEMORY

    known = {name for one in command.params for name in one.opts}
    for turn in door.TURNS.get(place, ()):
        if turn.option not in known:
            command.params.append(
                click.Option(
                    [turn.option],
                    is_flag=not turn.value,
                    metavar=turn.value or None,
                    help=turn.help,
                    type=MEMORY if turn.value == "ID" else None,
                    expose_value=False,
                )
            )
    return command


def _say_place(arguments: Sequence[str]) -> None:
    """Tell a person where the command stands now."""
    words = door.words_of(arguments)
    if not words or _is_of_clients(words) or {"--json", "--quiet", "-q"} & {*arguments}:
        return
    if found := door.place_of(words):
        now = found[1].replace("{}", "…")
        click.echo(f"`wellkept {found[0]}` is now `wellkept {now}`.", err=True)


def _module(command: str, name: str) -> ModuleType:
    if not name.startswith("+"):
        return import_module(f"wellkept.api.cli.{name}")
    from wellkept.core.doors import require_plugin

    plugin: HasCommands = require_plugin(name[1:])
    return plugin.command(command)


_NAME = "wellkept"
# Reserved words and builtins of Python.
_SUFFIX: Final = MappingProxyType({"list": "_", "import": "_", "open": "_"})


@click.group(
    cls=_Root,
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
    _say_place(arguments)
    arguments = _forwarded(arguments)
    made = root.make_context(_NAME, arguments, terminal_width=help_columns())
    with made as ctx, _asked_by_its_caller(arguments):
        code = root.invoke(ctx)
    sys.stdout.flush()
    return code if isinstance(code, int) else exit_codes.OK


def _forwarded(arguments: list[str]) -> list[str]:
    """The command line of a word of before, as it is now."""
    words = door.words_of(arguments)
    for count in (2, 1):
        if len(words) >= count and (now := door.FORWARDED.get(" ".join(words[:count]))):
            place = arguments.index(words[0])
            rest = arguments[place + count :]
            if rest[:1] in (["--help"], ["-h"]):
                return [*arguments[:place], *takewhile(str.isalpha, now.split()), *rest]
            filled = [rest.pop(0) if one == "{}" and rest else one for one in now.split()]
            return [*arguments[:place], *filled, *rest]
    return arguments


def _asked_by_its_caller(arguments: Sequence[str]) -> AbstractContextManager[None]:
    """A command in an agent's tool call is the agent's; events that clients bring are nobody's."""
    from wellkept.clients.known import agent_of

    words = door.words_of(arguments)
    if agent_of(os.environ) is None or _is_of_clients(words):
        return nullcontext()
    from wellkept.core.team.people import AGENT, asked_by

    return asked_by(AGENT)


def _is_of_clients(words: Sequence[str]) -> bool:
    return words[:1] == ["hook"] or words[:2] in (["spool", "drain"], ["admin", "drain"])


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
