"""`wellkept sessions`: list and show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.groups import Group
from wellkept.api.cli.names import SESSION

if TYPE_CHECKING:
    from wellkept.context.start.session_view import SessionView
    from wellkept.core.session.sessions import SessionRecord


@click.group(cls=Group, invoke_without_command=True)
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=20, show_default=True,
              help="Maximum number of sessions.")  # fmt: skip
@click.option("--all-projects", is_flag=True, help="Include all projects.")
@options.project_option
@options.json_option
@click.pass_context
def sessions(
    ctx: click.Context, *, limit: int, all_projects: bool, project: str | None, as_json: bool
) -> None:
    """List sessions, newest first, or show one."""
    if ctx.invoked_subcommand is not None:
        return
    with options.open_wellkept(project) as wk:
        project_filter = None if all_projects else wk.project
        found = wk.engine.store.sessions(project=project_filter, limit=limit)
    if as_json:
        output.print_json({"items": [_plain(record) for record in found]})
        return
    headings = ("id", "when", "client", "title", "prompts", "tools", "observed", "state")
    cells = [_cells(record) for record in found]
    empty = "No sessions yet. Install Wellkept in a coding client with `wellkept install`."
    output.print_table(headings, cells, empty=empty)


@sessions.command()
@click.argument("session", metavar="ID", type=SESSION)
@options.json_option
def show(*, session: str, as_json: bool) -> None:
    """Show a session: summary, observations and state."""
    from wellkept.context.start.session_view import view_session

    with options.open_wellkept() as wk:
        view = view_session(wk.engine, session)
    if as_json:
        output.print_json(
            {
                "session": _plain(view.record),
                "summary": view.summary,
                "observations": view.observations,
                "prompts": view.prompts,
            }
        )
        return
    _print(view)


@sessions.command()
@click.argument("session", metavar="ID", type=SESSION)
@options.json_option
def timeline(*, session: str, as_json: bool) -> None:
    """Show what happened in a session, in order, with the lines that the agent was given."""
    from wellkept.api.views.session_text import timeline_lines

    with options.open_wellkept() as wk:
        found = wk.session_timeline(session, all_projects=True)
    if as_json:
        shown = output.plain(found)
        assert isinstance(shown, dict)
        output.print_json({**shown, "session": _plain(found.session)})
        return
    first, *rest = timeline_lines(found)
    click.secho(output.safe(first), bold=True)
    for line in rest:
        click.echo(output.safe(line))


def _print(view: SessionView) -> None:
    record = view.record
    click.secho(output.one_line(record.title or record.id), bold=True)
    rows = [
        ("id", record.id),
        ("client", f"{record.client} {record.model or ''}".strip()),
        ("project", record.project),
        ("from", record.started_at.strftime("%Y-%m-%d %H:%M")),
        ("to", record.last_event_at.strftime("%Y-%m-%d %H:%M")),
        ("git", f"{record.branch or ''} {record.commit_sha or ''}".strip()),
        ("state", _state(record)),
        ("tokens", _tokens(record)),
    ]
    output.print_table(("", ""), [row for row in rows if row[1]])
    if view.summary is not None:
        click.echo(f"\n{output.indented(view.summary.content, by=2)}")
    for heading, memories in (("Prompts", view.prompts), ("Observations", view.observations)):
        if memories:
            click.secho(f"\n{heading}", bold=True)
        for memory in memories:
            output.print_memory_line(memory)


def _tokens(record: SessionRecord) -> str:
    """What the client reported of its model calls; "" when it reports nothing."""
    if record.output_tokens is None:
        return ""
    cached = f" (+ {record.cached_tokens:,} from the cache)" if record.cached_tokens else ""
    return f"{record.input_tokens or 0:,} in{cached}, {record.output_tokens:,} out"


def _plain(record: SessionRecord) -> dict[str, object]:
    shown = output.plain(record)
    assert isinstance(shown, dict)
    return {name: value for name, value in shown.items() if name not in ("work", "revision")}


def _cells(record: SessionRecord) -> tuple[str, ...]:
    return (
        record.id[:12],
        record.last_event_at.strftime("%Y-%m-%d %H:%M"),
        record.client,
        output.one_line(record.title or ""),
        str(record.prompt_count),
        str(record.tool_count),
        str(record.observation_count),
        _state(record),
    )


def _state(record: SessionRecord) -> str:
    return "open" if record.is_open else f"ended ({record.end_reason or 'unknown'})"
