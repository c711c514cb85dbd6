"""`wellkept team join`: share a project through a team's server."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import exit_codes, options, output
from wellkept.api.cli.groups import Group
from wellkept.core.ids import short_id
from wellkept.core.text import counted, first_line
from wellkept.core.types import Scope

if TYPE_CHECKING:
    from wellkept.core.team.records import SharedState
    from wellkept_team.sharing.team_entry import PushResult, TeamChange
    from wellkept_team.sync.api import RemoteState
    from wellkept_team.sync.run import SyncReport

_SCOPES = tuple(one.value for one in Scope if one is not Scope.USER)
_SHORT_WAIT_S = 300


@click.group(cls=Group, invoke_without_command=True)
@options.json_option
@click.pass_context
def remote(ctx: click.Context, *, as_json: bool) -> None:
    """Share memories with your team through a server.

    Your own database is always what your agents talk to; chosen memories are pushed and pulled in
    the background, and offline nothing is missing. Memories about you and secrets never leave.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(status, as_json=as_json)


@remote.command()
@click.argument("url")
@click.option("--as", "name", metavar="NAME", help="Name of the project on the server.")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(_SCOPES),
    multiple=True,
    help="Scope to share. Repeatable. Default: global and module.",
)
@options.json_option
def add(*, url: str, name: str | None, scopes: tuple[str, ...], as_json: bool) -> int:
    """Log in to a server and share this project.

    Asks for your token, or reads it from standard input; it is kept in a file that only you can
    read. The first sync runs at once, so that the next session knows what the team knows.
    """
    token = _read_token()
    with options.open_wellkept() as wk:
        chosen = [Scope(one) for one in scopes]
        added = wk.remote.add(
            url, token=token, project=name, **({"scopes": chosen} if chosen else {})
        )
        state = wk.remote.state()
    if as_json:
        output.print_json({"remote": added.remote, "sync": added.report})
    else:
        _print_report(added.report)
        if state is not None:
            _print_state(state)
    return _code(added.report)


@remote.command("list")
@options.json_option
def list_(*, as_json: bool) -> None:
    """List the remotes of every project on this machine."""
    with options.open_wellkept(reads=True) as wk:
        found = wk.remote.list()
    if as_json:
        output.print_json({"items": found})
        return
    rows = [
        (one.project, one.remote.url, one.remote.condition.value, f"{one.shared:,}")
        for one in found
    ]
    output.print_table(("project", "server", "state", "shared"), rows)


@remote.command()
@options.json_option
def status(*, as_json: bool = False) -> int:
    """Show how sharing through the server is doing."""
    with options.open_wellkept(reads=True) as wk:
        state = wk.remote.state()
    if as_json:
        output.print_json({"is_on": state is not None, "state": state})
        return exit_codes.OK
    if state is None:
        click.echo("This project has no remote.")
        output.note("Add one with `wellkept team join URL`.")
        return exit_codes.OK
    _print_state(state)
    return exit_codes.OK if state.remote.problem is None else exit_codes.NOTHING


@remote.command()
@options.json_option
def sync(*, as_json: bool) -> int:
    """Push and pull now. Exits with 1 when it did not work."""
    with options.open_wellkept() as wk:
        report = wk.remote.sync()
    if as_json:
        output.print_json(report)
    else:
        _print_report(report)
    return _code(report)


@remote.command()
@options.yes_option
@options.json_option
def remove(*, yes: bool, as_json: bool) -> None:
    """Share nothing any more through the server. Memories stay, here and there."""
    with options.open_wellkept() as wk:
        state = wk.remote.state()
        if state is not None:
            output.confirm(f"Stop sharing with {state.remote.url}?", yes=yes)
        removed = wk.remote.remove()
    if as_json:
        output.print_json({"removed": removed.url})
    else:
        click.echo(f"Removed {removed.url}. Its token is forgotten.")


@remote.command()
@options.json_option
def rotate(*, as_json: bool) -> None:
    """Exchange your token for a new one. The old one ends at once; the expiry stays.

    The new token is kept on this machine only and never shown.
    """
    with options.open_wellkept() as wk:
        wk.remote.rotate()
        state = wk.remote.state()
    if as_json:
        output.print_json({"rotated": None if state is None else state.remote.url})
    else:
        click.echo("The token was exchanged and kept. Other machines with the old one log in anew.")


@remote.command()
@options.json_option
def review(*, as_json: bool) -> None:
    """Show what waits on the server for a second person or a reviewer."""
    with options.open_wellkept() as wk:
        found = wk.remote.waiting()
    if as_json:
        output.print_json({"items": found})
        return
    if not found:
        click.echo("Nothing waits.")
    for one in found:
        _print_waiting(one)


@remote.command()
@click.argument("names", nargs=-1, required=True, metavar="ID...")
@options.json_option
def approve(*, names: tuple[str, ...], as_json: bool) -> None:
    """Say yes as a reviewer: it holds for the team. Your name stays with it."""
    _decide(names, holds=True, as_json=as_json)


@remote.command()
@click.argument("names", nargs=-1, required=True, metavar="ID...")
@options.yes_option
@options.json_option
def reject(*, names: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Say no as a reviewer: it does not hold for the team. Its history stays."""
    output.confirm(f"End {counted(len(names), 'memory', 'memories')} for the team?", yes=yes)
    _decide(names, holds=False, as_json=as_json)


def _decide(names: tuple[str, ...], *, holds: bool, as_json: bool) -> None:
    with options.open_wellkept() as wk:
        results: tuple[PushResult, ...] = wk.remote.decide(names, holds=holds)
    if as_json:
        output.print_json({"results": results})
        return
    for one in results:
        click.echo(f"m:{short_id(one.id)} {_word(one.state)}")


def _read_token() -> str:
    """The token, from a prompt or from standard input; never from the command line."""
    if sys.stdin.isatty():
        return str(click.prompt("Token", hide_input=True))
    return sys.stdin.readline()


def _code(report: SyncReport) -> int:
    return exit_codes.NOTHING if report.problem else exit_codes.OK


def _print_report(report: SyncReport) -> None:
    if report.busy:
        output.note("Another process is syncing right now.")
        return
    click.echo(
        f"Pushed {report.pushed}, of which {report.waiting} wait for a second person or a reviewer;"
        f" pulled {report.pulled}: {report.new} new, {report.changed} changed,"
        f" {report.closed} closed."
    )
    if report.conflicts:
        told = ", ".join(f"m:{short_id(one)}" for one in report.conflicts[:5])
        click.secho(f"{len(report.conflicts)} up for review: {told}", fg="yellow")
    for name, why in list(report.refused.items())[:10]:
        output.note(f"{name}: {output.one_line(why)}")
    if report.problem:
        click.secho(output.safe(report.problem), fg="yellow")


def _print_state(state: RemoteState) -> None:
    from wellkept_team.sync.state import READER, advice

    known = state.remote
    who = f" as {known.person} ({known.role})" if known.person else ""
    click.echo(f"{known.url}{output.safe(who)}: {known.condition.value}")
    click.echo(
        f"{counted(state.shared, 'memory', 'memories')} of the team here,"
        f" {state.proposed} proposed by you; scopes {', '.join(known.scopes)}"
    )
    if known.synced_at is not None:
        click.echo(f"Last sync {known.synced_at:%Y-%m-%d %H:%M} UTC")
    if known.problem:
        again = f" Next try {known.next_at:%H:%M} UTC." if known.next_at else ""
        click.secho(output.safe(known.problem + again), fg="yellow")
    if told := advice(known):
        click.secho(told, fg="yellow")
    if known.role == READER:
        click.echo("You are a reader: nothing is pushed from here.")
    if abs(known.skew_s) > _SHORT_WAIT_S:
        click.secho(f"This machine's clock is {_ago(known.skew_s)} the server's.", fg="yellow")
    if state.conflicts:
        told = ", ".join(f"m:{short_id(one)}" for one in state.conflicts[:5])
        click.secho(f"{len(state.conflicts)} with rivals, up for review: {told}", fg="yellow")
    for one in known.refused[:5]:
        output.note(f"Not shared: {output.one_line(one)}")


def _ago(skew_s: float) -> str:
    amount = abs(skew_s)
    shown = f"{amount / 86_400:.1f} days" if amount > 86_400 else f"{amount / 60:.0f} minutes"
    return f"{shown} {'behind' if skew_s > 0 else 'ahead of'}"


def _print_waiting(one: TeamChange) -> None:
    shared = one.entry.shared
    text = first_line(shared.content, limit=100) if shared else ""
    click.echo(f"m:{short_id(one.id)} {_word(one.state)} by {output.safe(one.owner)}: {text}")
    for label, names in (
        ("replaces", shared.replaces if shared else ()),
        ("rivals", one.entry.rivals),
    ):
        if names:
            click.echo(f"  {label}: {', '.join(f'm:{short_id(name)}' for name in names)}")
    if one.entry.ended_by:
        when = f" on {one.entry.until:%Y-%m-%d}" if one.entry.until else ""
        click.echo(f"  ended by {output.safe(one.entry.ended_by)}{when}, and proposed again")
    if one.entry.withdrawn_by:
        click.echo(f"  withdrawn by {output.safe(', '.join(one.entry.withdrawn_by))}")


def _word(state: SharedState | None) -> str:
    return "unknown" if state is None else state.value
