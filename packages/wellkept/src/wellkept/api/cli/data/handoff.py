"""`wellkept handoff`."""

from __future__ import annotations

import click

from wellkept.api.cli import exit_codes, options, output


@click.command()
@click.argument("branch", required=False)
@click.option(
    "--write", is_flag=True, help="Write it into the shared folder (`wellkept share`), to commit."
)
@click.option("--push", is_flag=True, help="Send it to the team's server (`wellkept remote`).")
@options.project_option
@options.json_option
def handoff(
    *, branch: str | None, write: bool, push: bool, project: str | None, as_json: bool
) -> int:
    """Hand a branch over to the next person's agent.

    Prints what it needs to go on: what was asked and done, open ends, commands that work, traps and
    decisions. With --write it is put into the team's shared folder: once pushed on that branch, a
    colleague's next session there begins with it, until somebody went on. With --push it goes
    through the team's server instead.
    """
    with options.open_wellkept(project) as wk:
        made = wk.handoff(branch)
        path = wk.sharing.hand_over(made) if write and made.sections else None
        if push and made.sections:
            wk.remote.hand_over(made)
    if as_json:
        shown = output.plain(made)
        assert isinstance(shown, dict)
        output.print_json({**shown, "path": path})
    elif made.sections:
        click.echo(output.safe(made.text), nl=False)
    if not made.sections:
        output.note(f"Nothing is known of work on {output.one_line(made.branch)}.")
        return exit_codes.NOTHING
    if push:
        output.note("Sent to the team's server.")
    if path is not None:
        output.note(f"Written to {output.one_line(str(path))}: commit and push it on this branch.")
    return exit_codes.OK
