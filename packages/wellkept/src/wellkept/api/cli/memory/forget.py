"""`wellkept forget`."""

from __future__ import annotations

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import MEMORY
from wellkept.core.errors import UsageError
from wellkept.core.text import counted


@click.command()
@click.argument("names", nargs=-1, type=MEMORY, metavar="ID...")
@click.option(
    "--keep-history", is_flag=True, help="Close the memories but keep them in the history."
)
@click.option(
    "--all", "everything", is_flag=True, help="All memories and sessions of this project."
)
@options.dry_run_option
@options.yes_option
@options.project_option
@options.json_option
def forget(
    *,
    names: tuple[str, ...],
    keep_history: bool,
    everything: bool,
    dry_run: bool,
    yes: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Delete memories permanently.

    ID is a full id, a short id or its beginning, or a key.
    """
    if everything == bool(names) or (everything and keep_history):
        raise UsageError("Pass memory ids, or --all for the whole project.", hint="Not both.")
    if everything:
        _clear(dry_run=dry_run, yes=yes, project=project, as_json=as_json)
        return
    with options.open_wellkept(project) as wk:
        memories = wk.forget(*names, keep_history=keep_history, dry_run=True)
        if not as_json:
            for memory in memories:
                output.print_memory_line(memory)
        if not dry_run:
            if not keep_history:
                output.confirm(
                    f"Delete {counted(len(memories), 'memory', 'memories')} permanently?", yes=yes
                )
            wk.forget(*(m.id for m in memories), keep_history=keep_history)
    if as_json:
        output.print_json({"dry_run": dry_run, "count": len(memories), "items": memories})
    else:
        done = "closed" if keep_history else "forgotten"
        output.note(
            f"Would be {done}: {len(memories)}" if dry_run else f"{done.title()}: {len(memories)}"
        )


def _clear(*, dry_run: bool, yes: bool, project: str | None, as_json: bool) -> None:
    with options.open_wellkept(project) as wk:
        found = wk.clear_project(dry_run=True)
        memories = counted(found.memories, "memory", "memories")
        summary = f"{memories} and {counted(found.sessions, 'session')}"
        if not dry_run and (found.memories or found.sessions):
            output.confirm(f"Delete {summary} of {wk.project} permanently?", yes=yes)
            found = wk.clear_project()
    if as_json:
        counts = {"count": found.memories, "sessions": found.sessions}
        output.print_json({"dry_run": dry_run, **counts, "items": []})
    else:
        click.echo(f"{'Would be forgotten' if dry_run else 'Forgotten'}: {summary}")
