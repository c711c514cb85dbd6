"""Options shared by several commands, and opening Wellkept for a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeAlias, cast, get_type_hints

import click

import wellkept
from wellkept.api.cli import output
from wellkept.api.cli.client_setup import InstalledClients
from wellkept.api.cli.names import PROJECT
from wellkept.core.settings.paths import current_folder
from wellkept.core.settings.sources import SettingSources, inspect_settings, load_settings
from wellkept.core.text import counted
from wellkept.core.types import MemoryType, Phase
from wellkept.store import spool

_LATE_S = 3600.0

Command: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Command], Command]

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
project_option = click.option(
    "--project",
    type=PROJECT,
    metavar="NAME",
    help="Project name, or project ID from `wellkept admin projects`.",
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show the changes without making them."
)
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")


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


def filter_options(command: Command) -> Command:
    """Add the filters of verbs. The command receives those that were given as `filters`."""
    from wellkept.api.verbs.command import option_of
    from wellkept.api.verbs.params import params_in
    from wellkept.memory.arguments import FilterArgs

    known = params_in(get_type_hints(FilterArgs, include_extras=True))

    @wraps(command)
    def with_filters(**kwargs: Any) -> Any:
        given = {one.name: kwargs.pop(one.name) for one in known}
        filters = {name: value for name, value in given.items() if value not in (None, ())}
        return command(**kwargs, filters=filters)

    for one in reversed(known):
        option = option_of(one)
        option.hidden = False
        cast("Any", with_filters).__click_params__.append(option)
    return with_filters


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
        " `wellkept admin drain`; `wellkept admin doctor` tells more."
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
    wk.services.client_setup = InstalledClients(current_folder())
    if not reads:
        return wk
    from wellkept.api.verbs.table import for_reading

    return ctx.with_resource(for_reading(wk))
