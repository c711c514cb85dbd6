"""`wellkept skill hooks`, `trust` and `distrust`: which shell commands of skills may run here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.cli import options, output
from wellkept.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.codec import Json
    from wellkept.skills.hooks.runner import ListedHook


@click.command()
@options.project_option
@options.json_option
def hooks(*, project: str | None, as_json: bool) -> None:
    """List the hooks of skills, with whether they may run in this folder.

    A hook is a shell command that runs before or after a tool, or at the end, while its skill is in
    use. It runs only after `wellkept skill trust`, and asks again when any file of its skill was
    changed.
    """
    with options.opened(project) as wk:
        listed = wk.skills.hooks.list()
    if as_json:
        output.print_json({"items": [_plain(one) for one in listed]})
        return
    _print(listed)
    if not listed:
        output.note("No skill here has hooks.")


def _plain(one: ListedHook) -> dict[str, Json]:
    return {
        "skill": one.skill.name,
        "source": f"{one.skill.source.kind.value}:{one.skill.source.name}",
        "event": one.hook.event.value,
        "matcher": one.hook.matcher,
        "command": one.hook.command,
        "once": one.hook.once,
        "timeout_s": one.hook.timeout_s,
        "state": one.state.value,
        "path": None if one.skill.path is None else str(one.skill.path),
        "line": one.hook.line,
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
@click.argument("names", nargs=-1, metavar="[NAME]...")
@options.dry_run_option
@options.yes_option
@options.project_option
@options.json_option
def trust(
    *, names: tuple[str, ...], dry_run: bool, yes: bool, project: str | None, as_json: bool
) -> None:
    """Allow the hooks of skills to run in this folder, after a look at them.

    Without a name, those of every skill here. The yes holds for you, for this folder, and for the
    files of the skill as they are now.
    """
    with options.opened(project) as wk:
        chosen = {wk.skills.get(name).name for name in names}
        asked = [one for one in wk.skills.hooks.list() if not names or one.skill.name in chosen]
        if not as_json:
            _print(asked)
        if asked and not dry_run:
            output.confirm(f"Let {counted(len(asked), 'command')} run in {wk.root}?", yes=yes)
        skills = (
            [] if dry_run or not (asked or names) else wk.skills.hooks.trust(*names, seen=asked)
        )
    agreed = [skill.name for skill in skills]
    if as_json:
        output.print_json({"dry_run": dry_run, "trusted": agreed, "items": [*map(_plain, asked)]})
    elif not asked:
        output.note("No skill here has hooks." if not names else "None of these has hooks.")
    else:
        output.note(f"Trusted: {', '.join(agreed)}" if agreed else "Nothing was agreed to.")


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@options.project_option
@options.json_option
def distrust(*, names: tuple[str, ...], project: str | None, as_json: bool) -> None:
    """Take back what was allowed in this folder; without a name, all of it."""
    with options.opened(project) as wk:
        wk.skills.hooks.distrust(*names)
        listed = wk.skills.hooks.list()
    if as_json:
        output.print_json({"items": [_plain(one) for one in listed]})
    else:
        output.note("No longer trusted: " + (", ".join(names) or "every skill here"))
