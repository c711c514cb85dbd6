"""`wellkept team share`: a team's memories as files in its repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import exit_codes, options, output
from wellkept.api.cli.groups import Group
from wellkept.api.cli.names import MEMORY
from wellkept.core.errors import UsageError
from wellkept.core.text import counted

if TYPE_CHECKING:
    import wellkept
    from wellkept.core.memory import Memory
    from wellkept.memory.arguments import FilterArgs
    from wellkept_team.sharing.export_files import WrittenOut
    from wellkept_team.sharing.import_files import RefusedFile, TakenIn

_MAX_AT_ONCE = 500


@click.group(cls=Group, invoke_without_command=True)
@options.json_option
@click.pass_context
def share(ctx: click.Context, *, as_json: bool) -> None:
    """Share memories with your team through git.

    `share add` writes chosen memories as small Markdown files into a folder of the repository; you
    commit them and open a pull request. What is merged into the main branch is taken in by itself
    wherever `share on` was said. Personal memories and secrets never leave.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(status, as_json=as_json)


@share.command()
@options.json_option
def status(*, as_json: bool = False) -> None:
    """Show what is shared and what waits."""
    with options.open_wellkept(reads=True) as wk:
        state = wk.sharing.state()
    if as_json:
        output.print_json(state)
        return
    if not state.is_on:
        click.echo("Sharing is off for this project.")
        output.note("Switch it on: `wellkept team join --git` shows first what would be taken in.")
        return
    click.echo(f"Folder {state.folder}, taken in from {state.branch or 'no branch yet'}")
    click.echo(f"{counted(state.shared, 'memory', 'memories')} shared")
    if state.unmerged:
        click.echo(f"{len(state.unmerged)} not merged yet: commit the folder, open a pull request")
    if state.waiting:
        click.echo(f"{len(state.waiting)} changed here: wellkept team sync --git")
    if state.to_take_in:
        click.echo("The branch has news: wellkept team sync --git")


@share.command("on")
@click.option(
    "--folder", metavar="FOLDER", help="Folder in the repository. Default: .wellkept/shared"
)
@click.option(
    "--branch", metavar="BRANCH", help="Branch to take in. Default: the remote's main branch."
)
@options.dry_run_option
@options.yes_option
@options.json_option
def switch_on(
    *, folder: str | None, branch: str | None, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Share this project, and take in what its team shares.

    Shows what would be taken in, then asks: your agents will be told what these files say.
    """
    with options.open_wellkept() as wk:
        preview = wk.sharing.switch_on(folder=folder, branch=branch, dry_run=True)
        if not as_json:
            _print_taken(preview)
        if dry_run:
            taken = preview
        else:
            output.confirm("Tell your agents what this team shares, now and later?", yes=yes)
            taken = wk.sharing.switch_on(folder=folder, branch=branch)
    if as_json:
        output.print_json({"taken_in": taken, "dry_run": dry_run})
    elif not dry_run:
        click.echo("Sharing is on.")


@share.command("off")
@options.json_option
def switch_off(*, as_json: bool) -> None:
    """Take nothing in any more. Memories and files stay."""
    with options.open_wellkept() as wk:
        wk.sharing.switch_off()
    if as_json:
        output.print_json({"is_on": False})
    else:
        click.echo("Sharing is off.")


@share.command()
@click.argument("names", nargs=-1, type=MEMORY, metavar="[ID]...")
@options.filter_options
@options.dry_run_option
@options.json_option
def add(*, names: tuple[str, ...], filters: FilterArgs, dry_run: bool, as_json: bool) -> int:
    """Write memories into the shared folder: by id, or all that match the filters.

    Nothing is committed. A memory that holds a secret is refused; so are personal ones.
    """
    if bool(names) == bool(filters):
        raise UsageError("Pass memory ids, or filters such as --type convention.", hint="Not both.")
    with options.open_wellkept() as wk:
        chosen = [wk.get(name) for name in names] if names else _matching(wk, filters)
        written = wk.sharing.add(chosen, dry_run=dry_run)
    return _finish(written, as_json=as_json, dry_run=dry_run)


@share.command()
@click.argument("names", nargs=-1, required=True, type=MEMORY, metavar="ID...")
@options.dry_run_option
@options.json_option
def remove(*, names: tuple[str, ...], dry_run: bool, as_json: bool) -> int:
    """Remove memories from the shared folder.

    They stay known here. Once the removal is merged, they no longer hold for the others.
    """
    with options.open_wellkept() as wk:
        written = wk.sharing.remove([wk.get(name) for name in names], dry_run=dry_run)
    return _finish(written, as_json=as_json, dry_run=dry_run)


@share.command()
@options.dry_run_option
@options.json_option
def update(*, dry_run: bool, as_json: bool) -> int:
    """Write what changed here, and take in what was merged."""
    with options.open_wellkept() as wk:
        taken = wk.sharing.take_in(dry_run=dry_run)
        written = wk.sharing.add((), dry_run=dry_run)
    if as_json:
        output.print_json({"taken_in": taken, "written_out": written, "dry_run": dry_run})
        return _code(taken.refused or written.refused)
    _print_taken(taken)
    _print_written(written, dry_run=dry_run)
    return _code(taken.refused or written.refused)


def _matching(wk: wellkept.Wellkept, filters: FilterArgs) -> list[Memory]:
    page = wk.list(limit=_MAX_AT_ONCE, **filters)
    if page.total > len(page.items):
        raise UsageError(
            f"{page.total:,} memories match; at most {_MAX_AT_ONCE} are shared at once.",
            hint="Use narrower filters.",
        )
    return list(page.items)


def _finish(written: WrittenOut, *, as_json: bool, dry_run: bool) -> int:
    if as_json:
        output.print_json({"written_out": written, "dry_run": dry_run})
    else:
        _print_written(written, dry_run=dry_run)
    return _code(written.refused)


def _code(refused: tuple[RefusedFile, ...]) -> int:
    return exit_codes.NOTHING if refused else exit_codes.OK


def _print_written(written: WrittenOut, *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    for path in written.written:
        click.echo(f"{would}written {output.one_line(path)}")
    for path in written.removed:
        click.echo(f"{would}removed {output.one_line(path)}")
    _print_refused(written.refused)
    if (written.written or written.removed) and not dry_run:
        output.note("Commit the folder: once merged, your team's agents know it.")
    elif not written.refused and not written.written and not written.removed:
        click.echo(f"{counted(written.unchanged, 'file')} up to date")


def _print_taken(taken: TakenIn) -> None:
    would = "would be " if not taken.applied else ""
    for label, ids in (
        ("new", taken.new),
        ("changed", taken.changed),
        ("closed", taken.closed),
        ("up for review, two versions", taken.conflicts),
    ):
        if ids:
            click.echo(f"{counted(len(ids), 'memory', 'memories')} {would}{label}")
    if not (taken.new or taken.changed or taken.closed or taken.conflicts):
        click.echo(f"Nothing new from the team ({counted(taken.unchanged, 'file')} known)")
    _print_refused(taken.refused)


def _print_refused(refused: tuple[RefusedFile, ...]) -> None:
    for one in refused:
        output.note(f"{output.one_line(one.path)}: {output.one_line(one.reason)}")
