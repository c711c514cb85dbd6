"""`wellkept stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output

if TYPE_CHECKING:
    from wellkept.core.ports.injections import InjectionTotals
    from wellkept.memory.arguments import FilterArgs


@click.command()
@options.filter_options
@options.project_option
@options.json_option
def stats(*, filters: FilterArgs, project: str | None, as_json: bool) -> None:
    """Count memories by type, scope and source, and what agents were given."""
    with options.open_wellkept(project, reads=True) as wk:
        found = wk.stats(**filters)
        given = wk.injected.totals()
    if as_json:
        shown = output.plain(found)
        assert isinstance(shown, dict)
        output.print_json({**shown, "injected": output.plain(given)})
        return
    rows = [
        (kind, name, str(count))
        for kind, counts in (
            ("type", found.by_type),
            ("scope", found.by_scope),
            ("source", found.by_source),
        )
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    rows += [
        ("state", name, str(getattr(found, name)))
        for name in ("closed", "stale", "archived", "needs_review", "pinned")
        if getattr(found, name)
    ]
    rows.append(("total", "", str(found.total)))
    output.print_table(("", "", "memories"), rows)
    if found.oldest and found.newest:
        output.note(f"From {output.day(found.oldest)} to {output.day(found.newest)}.")
    if given.lines:
        _print_totals(given)


def _print_totals(given: InjectionTotals) -> None:
    click.echo()
    rows = [
        (
            one.kind,
            str(one.lines),
            f"{one.tokens:,}",
            _share(one.used, one.used + one.ignored + one.harm),
            str(one.unclear),
            str(one.harm),
        )
        for one in given.kinds
    ]
    output.print_table(("given", "lines", "tokens", "used", "unclear", "harm"), rows)
    output.note(
        f"{given.lines} lines in {given.sessions} sessions, {given.tokens:,} tokens;"
        f" {given.silent} silent. Tokens saved: {given.saved_tokens:,}."
        f" {given.how_saved_is_counted}"
    )


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else "-"
