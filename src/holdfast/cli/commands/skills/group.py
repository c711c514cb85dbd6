"""`holdfast skill`: the group; its commands are in the `skill_*` modules beside it."""

from __future__ import annotations

import click

from holdfast.cli.commands.skills import find as skill_find
from holdfast.cli.commands.skills import generate as skill_generate
from holdfast.cli.commands.skills import hooks as skill_hooks
from holdfast.cli.commands.skills import inspect as skill_look
from holdfast.cli.commands.skills import remote as skill_remote
from holdfast.cli.commands.skills import run as skill_run
from holdfast.cli.commands.skills import write as skill_write
from holdfast.cli.groups import Group


@click.group(cls=Group)
def skill() -> None:
    """Find, run, check, write and switch skills.

    Skills are looked for in the project (.skills, .claude/skills, .agents/skills, .opencode/skills,
    CLAUDE.md and its like), in your home folder, in plugins and lists, and among those that come
    with Holdfast. On a name clash the project goes before the person, and the person before the
    rest.
    """


for command in (
    skill_look.list_skills,
    skill_look.show,
    skill_look.validate,
    skill_find.search,
    skill_find.detect,
    skill_run.run,
    skill_run.commands,
    skill_run.remind,
    skill_look.refresh,
    skill_write.new,
    skill_write.edit,
    skill_write.enable,
    skill_write.disable,
    skill_write.delete,
    skill_write.export,
    skill_remote.add,
    skill_generate.generate,
    skill_generate.review,
    skill_generate.refine,
    skill_hooks.hooks,
    skill_hooks.trust,
    skill_hooks.distrust,
):
    skill.add_command(command)
