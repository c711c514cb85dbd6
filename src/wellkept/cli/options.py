"""Options that several commands share, and opening the memory they talk to."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import click

import wellkept
from wellkept.app.settings.paths import current_folder
from wellkept.app.settings.sources import SettingSources, inspect_settings, load_settings
from wellkept.cli.groups import environment_colour
from wellkept.core.query import Order
from wellkept.core.types import MemoryType, Phase, Scope, Source

if TYPE_CHECKING:
    from wellkept.app.wiring.keyword_types import FilterArgs

Command: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Command], Command]

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document and nothing else."
)
project_option = click.option(
    "--project",
    metavar="NAME",
    help="Project by name, or by identity as `wellkept projects` lists it.",
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would be done; change nothing."
)
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")


def choice(
    values: type[MemoryType] | type[Scope] | type[Source] | type[Phase] | type[Order],
) -> click.Choice[str]:
    """The members of a vocabulary as a choice."""
    return click.Choice([value.value for value in values], case_sensitive=False)


class KnownOrMore(click.Choice[str]):
    """Names that are offered and completed, where a plugin may know more of them."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """A known name, or whatever else was given: the library says whether it is one."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            return value.strip()


def open_choice(values: type[MemoryType] | type[Phase]) -> KnownOrMore:
    """The members of a vocabulary that plugins can add to."""
    return KnownOrMore([value.value for value in values], case_sensitive=False)


_WHICH: tuple[tuple[str, Decorator], ...] = (
    (
        "types",
        click.option(
            "--type",
            "types",
            multiple=True,
            type=open_choice(MemoryType),
            metavar="TYPE",
            help="Only this type; may be repeated.",
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
            help="Only with this tag; repeated tags must all be there.",
        ),
    ),
    (
        "files",
        click.option(
            "--file", "files", multiple=True, metavar="PATH", help="Only tied to this file."
        ),
    ),
    (
        "modules",
        click.option("--module", "modules", multiple=True, help="Only tied to this module."),
    ),
    (
        "sessions",
        click.option("--session", "sessions", multiple=True, help="Only from this session."),
    ),
    ("authors", click.option("--author", "authors", multiple=True, help="Only by this author.")),
    (
        "since",
        click.option(
            "--since", metavar="WHEN", help="Event not before: a date, a time, or e.g. 7d, 12h."
        ),
    ),
    (
        "until",
        click.option(
            "--until", metavar="WHEN", help="Event before: a date, a time, or e.g. 7d, 12h."
        ),
    ),
    ("as_of", click.option("--as-of", metavar="WHEN", help="What was believed at that time.")),
    (
        "min_confidence",
        click.option(
            "--min-confidence", type=click.FloatRange(0, 1), default=0.0, help="Least confidence."
        ),
    ),
    (
        "min_importance",
        click.option(
            "--min-importance", type=click.FloatRange(0, 1), default=0.0, help="Least importance."
        ),
    ),
    (
        "validity",
        click.option(
            "--validity",
            type=click.Choice(["open", "closed", "any"]),
            default="open",
            show_default=True,
            help="Still believed, no longer believed, or both.",
        ),
    ),
    (
        "include_stale",
        click.option(
            "--stale/--no-stale",
            "include_stale",
            default=True,
            help="With or without memories whose files are gone.",
        ),
    ),
    ("all_projects", click.option("--all-projects", is_flag=True, help="Look in every project.")),
)


def which_options(command: Command) -> Command:
    """Add every option that says which memories are meant; the command gets them as `which`."""

    @wraps(command)
    def gathered(*args: Any, **kwargs: Any) -> Any:
        which = {name: kwargs.pop(name) for name, _ in _WHICH}
        return command(*args, which=cast("FilterArgs", which), **kwargs)

    wrapped: Command = gathered
    for _, option in reversed(_WHICH):
        wrapped = option(wrapped)
    return wrapped


def opened(project: str | None = None, *, lenient: bool = False) -> wellkept.Wellkept:
    """The memory that the command line means.

    `lenient` leaves out settings that cannot be used instead of failing, for looking into them.
    """
    ctx = click.get_current_context()
    sources = SettingSources.of(os.environ, cwd=current_folder())
    settings = inspect_settings(sources)[0] if lenient else load_settings(sources)
    wish = settings.output_colour
    ctx.color = environment_colour() if wish == "auto" else wish == "always"
    store = cast("str | None", ctx.find_root().obj)
    return wellkept.open(store, project=project, settings=settings)
