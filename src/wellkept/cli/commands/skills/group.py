"""`wellkept skill`: the group; its commands are in the `skill_*` modules beside it."""

from __future__ import annotations

import click

from wellkept.cli.commands.skills import find, generate, hooks, inspect, remote, run, write
from wellkept.cli.groups import Group


@click.group(cls=Group)
def skill() -> None:
    """Find, run, check, write and switch skills.

    Skills are looked for in the project (.skills, .claude/skills, .agents/skills, .opencode/skills,
    CLAUDE.md and its like), in your home folder, in plugins and lists, and among those that come
    with Wellkept. On a name clash the project goes before the person, and the person before the
    rest.
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
    write.delete,
    write.export,
    remote.add,
    generate.generate,
    generate.review,
    generate.refine,
    hooks.hooks,
    hooks.trust,
    hooks.distrust,
):
    skill.add_command(command)
