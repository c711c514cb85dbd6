"""`wellkept skill`: the group. Its commands are in the modules beside it."""

from __future__ import annotations

import click

from wellkept.api.cli.groups import Group
from wellkept.api.cli.skills import find, generate, hooks, inspect, remote, run, write


@click.group(cls=Group)
def skill() -> None:
    """Find, run, validate, write, enable and disable skills.

    Skills come from the project (.skills, .claude/skills, .agents/skills, .opencode/skills,
    CLAUDE.md and similar files), your home folder, plugins, lists, your organisation, and Wellkept
    itself. On a name clash, those of the organisation win, then project skills, then user skills.
    """


for command in (
    inspect.list_skills,
    inspect.show,
    inspect.validate,
    find.search,
    find.detect,
    run.run,
    run.commands,
    run.remind,
    inspect.refresh,
    write.new,
    write.edit,
    write.enable,
    write.disable,
    write.force,
    write.delete,
    write.export,
    remote.add,
    generate.generate,
    generate.review,
    generate.refine,
    hooks.hooks,
    hooks.trust,
    hooks.untrust,
):
    skill.add_command(command)
