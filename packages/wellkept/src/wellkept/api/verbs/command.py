"""A verb as a command: its options from the signature, its text coloured and wrapped.

Every command has `--json`, `--quiet` and `--project`. One that removes shows what would go, and
asks. Options that are `hidden` are taken and shown by `--help-all` only.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from importlib import import_module
from typing import Any

import click

from wellkept.api.cli import exit_codes, options, output
from wellkept.api.cli.names import Name
from wellkept.api.verbs.params import Param, all_params, params_of, result_of
from wellkept.api.verbs.table import DRY_RUN, PROGRESS, find, is_job, remarks
from wellkept.core.errors import UsageError
from wellkept.core.team.people import Role
from wellkept.core.types import MemoryType, Phase
from wellkept.core.verbs import Table, Verb

_OPEN = {"type": MemoryType, "phase": Phase}
_QUIET = click.option("--quiet", "-q", is_flag=True, help="Print ids only, one per line.")


def command_of(words: str) -> click.Command:
    """The command of a verb."""
    verb = find(words)
    params: list[click.Parameter] = []
    for one in all_params(verb):
        params.append(_argument(one) if one.positional else option_of(one))
    common = [options.json_option, _QUIET, options.project_option]
    if _asks(verb):
        common.insert(0, options.yes_option)
    command = VerbCommand(verb, params)
    for decorate in reversed(common):
        holder = decorate(lambda: None)
        command.params += holder.__click_params__  # type: ignore[attr-defined]
    command.params.append(_help_all(command))
    return command


class VerbCommand(click.Command):
    """The command of a verb."""

    def __init__(self, verb: Verb, params: list[click.Parameter]) -> None:
        super().__init__(
            verb.name,
            params=params,
            callback=self._called,
            help=verb.function.__doc__,
            short_help=verb.summary,
        )
        if any(one.arg.raw for one in params_of(verb.function)):
            self.context_settings = {"ignore_unknown_options": True}
            self.allow_interspersed_args = False
        self.verb = verb

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # A pasted text may begin with the dash of a list.
        return super().parse_args(ctx, [one.removeprefix("- ") for one in args])

    def _called(
        self,
        *,
        as_json: bool,
        quiet: bool,
        project: str | None,
        yes: bool = False,
        **values: Any,
    ) -> int:
        known = {one.name: one for one in all_params(self.verb)}
        given = {
            name: _value(known[name], value)
            for name, value in values.items()
            if value is not None and value != ()
        }
        for one in known.values():
            if one.arg.words and one.required and one.name not in given:
                given[one.name] = _piped(one)
        own = {name: value for name, value in given.items() if not known[name].of_text}
        of_text = {name: value for name, value in given.items() if known[name].of_text}
        own = {**self.verb.at_terminal, **own}
        show = _Shown(as_json=as_json, quiet=quiet, of_text=of_text)
        return call(self.verb, own, show, project=project, yes=yes)


def _asks(verb: Verb) -> bool:
    """Whether a command shows what it would do, and asks."""
    return hasattr(result_of(verb.function), "question")


class _Shown:
    """How a result is printed."""

    def __init__(self, *, as_json: bool, quiet: bool, of_text: dict[str, Any]) -> None:
        self.as_json, self.quiet, self.of_text = as_json, quiet, of_text

    def print(self, result: Any) -> None:
        """Print a result: as JSON, as ids, as a table or as its text."""
        if self.as_json:
            output.print_json(result)
            return
        if self.quiet:
            for one in getattr(result, "ids", ()):
                click.echo(one)
            return
        as_table = getattr(result, "as_table", None)
        table: Table | None = as_table(**self.of_text) if as_table else None
        text = "" if table else result.as_text(**self.of_text)
        if table is not None:
            output.print_table(table.headings, table.rows, empty=table.empty)
            if table.foot:
                output.note(table.foot)
        elif text and getattr(result, "found", True):
            click.echo(output.styled(text))
        elif text:
            output.note(text)
        for one in remarks(result, options=True):
            output.note(one)


def call(
    verb: Verb, own: dict[str, Any], show: _Shown, *, project: str | None, yes: bool = False
) -> int:
    """Run a verb for a person; one that removes shows what would go and asks first."""
    from wellkept.api.verbs.table import run

    reads = verb.role is Role.READER
    with (
        options.open_wellkept(project, lenient=verb.lenient, reads=reads) as wk,
        ExitStack() as stack,
    ):
        own = _completed(verb.words, wk, own)
        if _asks(verb) and not own.get(DRY_RUN) and not yes:
            preview = run(verb, wk, {**own, DRY_RUN: True})
            if preview.question:
                if not show.as_json:
                    show.print(preview)
                output.confirm(preview.question, yes=yes)
                own = {**own, **getattr(preview, "agreed", {})}
        if is_job(verb):
            bar = output.progress_bar(verb.words.capitalize())
            own = {**own, PROGRESS: stack.enter_context(bar)}
        result = run(verb, wk, own)
        stack.close()
        show.print(result)
        if verb.words == "context" and result.moment == "session":
            from wellkept.api.cli.system.maintenance import maintain_after_answer

            sys.stdout.flush()
            maintain_after_answer(wk)
    is_none = verb.finds and not result.found
    return exit_codes.NOTHING if is_none or getattr(result, "failed", False) else exit_codes.OK


DIALOGUES = {
    "edit": "memory.edit",
    "skill edit": "skills",
    "skill review": "skills",
    "skill validate": "skills",
    "config set": "config",
    "config unset": "config",
}
"""Verbs that a person may be asked about first -> the module of `cli` that asks."""


def _completed(words: str, wk: Any, own: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with what a dialogue adds."""
    if words not in DIALOGUES:
        return own
    module = import_module(f"wellkept.api.cli.{DIALOGUES[words]}")
    completed: dict[str, Any] = getattr(module, words.replace(" ", "_"))(wk, own)
    return completed


def _piped(param: Param) -> str:
    if output.is_interactive():
        raise UsageError("No text was given.", hint="Type it after the command, or pipe it in.")
    return output.read_input(("-",), what=param.name)


def _value(param: Param, value: Any) -> Any:
    if param.arg.raw:
        return output.read_input(value, what=param.name) if value == ("-",) else value
    if param.arg.pipe and value == "-":
        return output.read_input([value], what=param.name)
    if param.arg.words and param.kind.form == "text":
        text = output.read_input(value, what=param.name)
        if not text.strip():
            raise UsageError("No text was given.", hint="Type it after the command.")
        return text
    if param.kind.form in ("object", "records"):
        from wellkept.api.verbs.check import converted

        return converted(param, value)
    return value


def _argument(param: Param) -> click.Argument:
    many = param.arg.words or param.arg.raw or param.kind.is_many
    name = param.arg.metavar or param.name.upper().removesuffix("S" if many else "")
    shown = f"{name}..." if many else name
    required = param.required and not (param.arg.words and param.kind.form == "text")
    kind = click.UNPROCESSED if param.arg.raw else _type(param)
    return click.Argument(
        [param.name],
        nargs=-1 if many else 1,
        required=required,
        type=kind,
        metavar=shown if required else f"[{shown}]",
    )


def option_of(param: Param) -> click.Option:
    """An option that is handed on only when it was given."""
    names = (param.arg.flag or f"--{param.name.replace('_', '-')}").split()
    if param.arg.short:
        names.append(param.arg.short)
    is_flag = param.kind.form == "bool"
    if is_flag and param.default is not False and "/" not in names[0]:
        names[0] = f"{names[0]}/--no-{names[0][2:]}"
    default = param.default
    shows = isinstance(default, (str, int, float)) and default not in ("", False, True, 0)
    extra: dict[str, Any] = {"is_flag": True} if is_flag else {"type": _type(param)}
    if shows:
        extra["show_default"] = str(default)
    return _Option(
        [*names, param.name],
        default=None,
        multiple=param.kind.is_many,
        required=param.required,
        help=param.arg.help,
        metavar=param.arg.metavar or None,
        hidden=param.arg.hidden,
        **extra,
    )


class _Option(click.Option):
    """An option that is handed on only when it was given, and shows the verb's own default."""

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:  # noqa: ARG002
        return None

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra: Any = super().get_help_extra(ctx)
        if isinstance(self.show_default, str):
            extra["default"] = self.show_default
        return extra


def _type(param: Param) -> click.ParamType[Any, Any] | None:
    kind, arg = param.kind, param.arg
    low, high = (None if one is None else int(one) for one in (arg.low, arg.high))
    is_free = low is None and high is None
    if arg.names in _OPEN:
        return options.open_choice(_OPEN[arg.names])
    if arg.names:
        return Name(arg.names)
    match kind.form:
        case "choice":
            return click.Choice(kind.of, case_sensitive=False)
        case "int" | "ints":
            return click.INT if is_free else click.IntRange(low, high)
        case "float":
            return click.FLOAT if is_free else click.FloatRange(arg.low, arg.high)
        case _:
            return None


def _help_all(command: click.Command) -> click.Option:
    def show(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            for one in command.params:
                if isinstance(one, click.Option):
                    one.hidden = False
            click.echo(ctx.get_help())
            ctx.exit()

    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show every option.",
    )
