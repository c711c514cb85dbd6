"""Options shared by several commands, and opening Wellkept for a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import click

import wellkept
from wellkept.api.cli import output
from wellkept.api.cli.client_setup import InstalledClients
from wellkept.api.cli.names import PROJECT, SESSION
from wellkept.core.query import Order
from wellkept.core.settings.paths import current_folder
from wellkept.core.settings.sources import SettingSources, inspect_settings, load_settings
from wellkept.core.text import counted
from wellkept.core.types import MemoryType, Phase, Scope, Source
from wellkept.store import spool

if TYPE_CHECKING:
    from wellkept.memory.arguments import FilterArgs

_LATE_S = 3600.0

Command: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Command], Command]

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
project_option = click.option(
    "--project",
    type=PROJECT,
    metavar="NAME",
    help="Project name, or project ID from `wellkept projects`.",
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show the changes without making them."
)
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")


def choice(
    values: type[MemoryType] | type[Scope] | type[Source] | type[Phase] | type[Order],
) -> click.Choice[str]:
    """The members of an enum as a choice."""
    return click.Choice([value.value for value in values], case_sensitive=False)


class _OpenChoice(click.Choice[str]):
    """A choice with completion that also accepts names defined by plugins."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return unknown names unchanged: the library validates them."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            return value.strip()


def open_choice(values: type[MemoryType] | type[Phase]) -> _OpenChoice:
    """The members of an enum that plugins can extend."""
    return _OpenChoice([value.value for value in values], case_sensitive=False)


_FILTERS: tuple[tuple[str, Decorator], ...] = (
    (
        "types",
        click.option(
            "--type",
            "types",
            multiple=True,
            type=open_choice(MemoryType),
            metavar="TYPE",
            help="Only this type. Repeatable.",
        ),
    ),
    (
        "scopes",
        click.option(
            "--scope", "scopes", multiple=True, type=choice(Scope), help="Only this scope."
        ),
    ),
    (
        "sources",
        click.option(
            "--source",
            "sources",
            multiple=True,
            type=choice(Source),
            metavar="SOURCE",
            help="Only from this source.",
        ),
    ),
    (
        "tags",
        click.option(
            "--tag",
            "tags",
            multiple=True,
            help="Only with this tag. Repeatable; all tags must match.",
        ),
    ),
    (
        "files",
        click.option(
            "--file", "files", multiple=True, metavar="PATH", help="Only linked to this file."
        ),
    ),
    (
        "modules",
        click.option("--module", "modules", multiple=True, help="Only linked to this module."),
    ),
    (
        "sessions",
        click.option(
            "--session", "sessions", multiple=True, type=SESSION, help="Only from this session."
        ),
    ),
    ("authors", click.option("--author", "authors", multiple=True, help="Only by this author.")),
    (
        "methodologies",
        click.option(
            "--methodology", "methodologies", multiple=True, help="Only from this methodology."
        ),
    ),
    (
        "bands",
        click.option(
            "--dots",
            "bands",
            multiple=True,
            type=click.IntRange(1, 5),
            help="Only with this many dots of confidence: 1 is below 0.2, 5 from 0.8 on.",
        ),
    ),
    (
        "since",
        click.option(
            "--since",
            metavar="WHEN",
            help="Only from this time on: a date, a time, or an age such as 7d or 12h.",
        ),
    ),
    (
        "until",
        click.option(
            "--until",
            metavar="WHEN",
            help="Only before this time: a date, a time, or an age such as 7d or 12h.",
        ),
    ),
    ("as_of", click.option("--as-of", metavar="WHEN", help="Only memories valid at this time.")),
    (
        "min_confidence",
        click.option(
            "--min-confidence", type=click.FloatRange(0, 1), default=0.0, help="Minimum confidence."
        ),
    ),
    (
        "min_importance",
        click.option(
            "--min-importance", type=click.FloatRange(0, 1), default=0.0, help="Minimum importance."
        ),
    ),
    (
        "validity",
        click.option(
            "--validity",
            type=click.Choice(["open", "closed", "any"]),
            default="open",
            show_default=True,
            help="Currently valid (open), no longer valid (closed), or both.",
        ),
    ),
    (
        "include_stale",
        click.option(
            "--stale/--no-stale",
            "include_stale",
            default=True,
            help="Include or exclude memories whose files no longer exist.",
        ),
    ),
    (
        "only_stale",
        click.option(
            "--only-stale", is_flag=True, help="Only memories whose files no longer exist."
        ),
    ),
    ("all_projects", click.option("--all-projects", is_flag=True, help="Search all projects.")),
)


def filter_options(command: Command) -> Command:
    """Add all memory filter options. The command receives them as `filters`."""

    @wraps(command)
    def with_filters(*args: Any, **kwargs: Any) -> Any:
        filters = {name: kwargs.pop(name) for name, _ in _FILTERS}
        return command(*args, filters=cast("FilterArgs", filters), **kwargs)

    wrapped: Command = with_filters
    for _, option in reversed(_FILTERS):
        wrapped = option(wrapped)
    return wrapped


def waiting_note(environment: Mapping[str, str]) -> str | None:
    """That captured events wait and nothing drains them; None when all is well or nobody reads."""
    state = spool.state_folder(environment)
    if state is None or not sys.stderr.isatty():
        return None
    late = spool.waiting_files(f"{state}/{spool.FOLDER_NAME}", longer_than_s=_LATE_S)
    if not late:
        return None
    return (
        f"Captured events of {counted(late, 'session')} wait, and nothing drains them. Run"
        " `wellkept spool drain`; `wellkept doctor` tells more."
    )


def open_wellkept(
    project: str | None = None, *, lenient: bool = False, reads: bool = False
) -> wellkept.Wellkept:
    """Open Wellkept with the store, project and settings of this command line.

    `lenient` ignores invalid settings instead of failing, so that `doctor` can report them. A
    command that only `reads` makes no file: where there is no store yet, it sees an empty one.
    """
    if project:
        from wellkept.core.team.people import asking

        asking().require_person("Looking into another project")
    ctx = click.get_current_context()
    sources = SettingSources.of(os.environ, cwd=current_folder())
    settings = inspect_settings(sources)[0] if lenient else load_settings(sources)
    for warning in settings.warnings:
        output.note(f"Ignored: {warning}")
    if note := waiting_note(os.environ):
        output.note(note)
    store = cast("str | None", ctx.find_root().obj)
    wk = wellkept.open(store, project=project, settings=settings)
    if reads and not wk.services.is_there:
        from tempfile import TemporaryDirectory

        nowhere = ctx.with_resource(TemporaryDirectory(prefix="wellkept-"))
        wk = wellkept.open(f"{nowhere}/memory.db", project=project, settings=settings)
    wk.services.client_setup = InstalledClients(current_folder())
    return wk
