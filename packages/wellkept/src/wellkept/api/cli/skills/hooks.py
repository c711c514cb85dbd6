"""`wellkept skill hooks`, `trust` and `untrust`: shell commands of skills."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import SKILL
from wellkept.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.codec import Json
    from wellkept.skills.hooks.runner import ListedHook


@click.command()
@options.project_option
@options.json_option
def hooks(*, project: str | None, as_json: bool) -> None:
    """List the hooks of skills, and whether they are trusted in this folder.

    A hook is a shell command that runs before or after a tool, or at the end, while its skill is in
    use. It runs only after `wellkept skill trust`. A changed skill file needs new trust.
    """
    with options.open_wellkept(project) as wk:
        listed = wk.skills.hooks.list()
    if as_json:
        output.print_json({"items": [_plain(one) for one in listed]})
        return
    _print(listed)
    if not listed:
        output.note("No skill here has hooks.")


def _plain(listed: ListedHook) -> dict[str, Json]:
    return {
        "skill": listed.skill.name,
        "source": f"{listed.skill.source.kind.value}:{listed.skill.source.name}",
        "event": listed.hook.event.value,
        "matcher": listed.hook.matcher,
        "command": listed.hook.command,
        "once": listed.hook.once,
        "timeout_s": listed.hook.timeout_s,
        "state": listed.state.value,
        "path": None if listed.skill.path is None else str(listed.skill.path),
        "line": listed.hook.line,
    }


def _print(listed: Sequence[ListedHook]) -> None:
    rows = [
        (
            one.skill.name,
            one.state.value,
            one.hook.event.value,
            one.hook.matcher or "*",
            output.one_line(one.hook.command) + (" (once)" if one.hook.once else ""),
        )
        for one in listed
    ]
    output.print_table(("skill", "state", "event", "tools", "command"), rows)


@click.command()
@click.argument("names", nargs=-1, type=SKILL, metavar="[NAME]...")
@options.dry_run_option
@options.yes_option
@options.project_option
@options.json_option
def trust(
    *, names: tuple[str, ...], dry_run: bool, yes: bool, project: str | None, as_json: bool
) -> None:
    """Show the hooks of skills and allow them to run in this folder.

    Without NAME, the hooks of all skills. Trust is per user, per folder, and for the current files
    of the skill.
    """
    with options.open_wellkept(project) as wk:
        chosen = {wk.skills.get(name).name for name in names}
        shown = [one for one in wk.skills.hooks.list() if not names or one.skill.name in chosen]
        if not as_json:
            _print(shown)
        if shown and not dry_run:
            output.confirm(f"Allow {counted(len(shown), 'command')} to run in {wk.root}?", yes=yes)
        skills = (
            [] if dry_run or not (shown or names) else wk.skills.hooks.trust(*names, seen=shown)
        )
    trusted = [skill.name for skill in skills]
    if as_json:
        output.print_json({"dry_run": dry_run, "trusted": trusted, "items": [*map(_plain, shown)]})
    elif not shown:
        output.note("No skill here has hooks." if not names else "None of these skills has hooks.")
    else:
        output.note(f"Trusted: {', '.join(trusted)}" if trusted else "Nothing was trusted.")


@click.command()
@click.argument("names", nargs=-1, type=SKILL, metavar="[NAME]...")
@options.project_option
@options.json_option
def untrust(*, names: tuple[str, ...], project: str | None, as_json: bool) -> None:
    """Revoke trust in this folder for the named skills, or for all."""
    with options.open_wellkept(project) as wk:
        wk.skills.hooks.untrust(*names)
        listed = wk.skills.hooks.list()
    if as_json:
        output.print_json({"items": [_plain(one) for one in listed]})
    else:
        output.note("No longer trusted: " + (", ".join(names) or "all skills here"))
