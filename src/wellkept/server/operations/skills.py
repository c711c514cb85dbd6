"""The operations on skills, and how they are done.

Agents get two of them, finding and running; the rest is for the page. Running as a model never
passes for a person's wish: what only people may run is refused, and hooks are agreed to nowhere but
on the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError
from wellkept.core.skills import Skill, SkillKind
from wellkept.server.operations.skill_records import (
    CommandRowOutput,
    CommandRowsOutput,
    CreateSkillInput,
    DeleteSkillInput,
    DeleteSkillOutput,
    FindSkillsInput,
    ListSkillsInput,
    NoInput,
    RunSkillInput,
    SkillNameInput,
    SkillOutput,
    SkillOverviewOutput,
    SkillPromptsOutput,
    SkillRowOutput,
    SkillRowsOutput,
    SkillTextOutput,
    SwitchSkillInput,
    one_line,
)

if TYPE_CHECKING:
    from wellkept.app import Wellkept

MAX_PROMPTS = 100
_MAX_NOTES = 20

# -- How it is done -------------------------------------------------------------------------------


def skill_search(wk: Wellkept, asked: FindSkillsInput) -> SkillRowsOutput:
    """Skills that fit a task, or this project."""
    if not asked.query.strip():
        return skill_detect(wk, asked)
    found = wk.skills.search(asked.query, limit=asked.limit, include_tags=asked.tags)
    offered = [choice for choice in found.choices if _for_models(choice.skill)]
    rows = [
        SkillRowOutput.of(one.skill, why=one.reasons[0] if one.reasons else "", score=one.score)
        for one in offered
    ]
    return SkillRowsOutput(skills=rows, notes=list(found.notes))


def skill_detect(wk: Wellkept, asked: FindSkillsInput) -> SkillRowsOutput:
    """Skills that this project calls for by its files."""
    found = wk.skills.detect().found
    rows = [SkillRowOutput.of(one.skill, why=one.reason) for one in found if _for_models(one.skill)]
    return SkillRowsOutput(skills=rows[: asked.limit])


def skill_run(wk: Wellkept, asked: RunSkillInput) -> SkillTextOutput:
    """Run a command as a model."""
    return _ran(wk, asked, by="model")


def skill_command(wk: Wellkept, asked: RunSkillInput) -> SkillTextOutput:
    """Run a command as a person."""
    return _ran(wk, asked, by="person")


def _ran(wk: Wellkept, asked: RunSkillInput, *, by: str) -> SkillTextOutput:
    done = wk.skills.commands.run(asked.name, asked.arguments, by=by, session=asked.session or None)
    return SkillTextOutput.of(done)


def skill_commands(wk: Wellkept, _: NoInput) -> CommandRowsOutput:
    """What can be typed after a slash."""
    commands = wk.skills.commands
    scores = commands.scores()
    return CommandRowsOutput(
        commands=[CommandRowOutput.of(one, scores.get(one.key, 0.0)) for one in commands.list()]
    )


def skill_list(wk: Wellkept, asked: ListSkillsInput) -> SkillRowsOutput:
    """Every skill of a project."""
    index = wk.skills.index()
    listed = wk.skills.list(source=asked.source or None, include_disabled=not asked.enabled_only)
    return SkillRowsOutput(
        skills=[SkillRowOutput.of(skill) for skill in listed],
        clashes=[clash.name for clash in index.clashes],
        notes=[one_line(finding.message) for finding in index.findings[:_MAX_NOTES]],
    )


def skill_show(wk: Wellkept, asked: SkillNameInput) -> SkillOutput:
    """One skill, whole."""
    skill = wk.skills.get(asked.name)
    clash = next((one for one in wk.skills.index().clashes if one.name == skill.name), None)
    return SkillOutput.of(skill, covers=[one.key for one in clash.covered] if clash else [])


def skill_switch(wk: Wellkept, asked: SwitchSkillInput) -> SkillOutput:
    """Switch a skill on or off."""
    change = wk.skills.enable if asked.on else wk.skills.disable
    return SkillOutput.of(change(asked.name))


def skill_create(wk: Wellkept, asked: CreateSkillInput) -> SkillOutput:
    """Make a skill."""
    made = wk.skills.create(
        asked.name,
        description=asked.description,
        body=asked.body,
        tags=tuple(asked.tags),
        folder=asked.folder,
    )
    return SkillOutput.of(made)


def skill_delete(wk: Wellkept, asked: DeleteSkillInput) -> DeleteSkillOutput:
    """Remove a skill, but only when that was confirmed."""
    files = wk.skills.delete(asked.name, dry_run=not asked.confirm)
    return DeleteSkillOutput(
        name=asked.name, done=asked.confirm, files=[str(file) for file in files]
    )


def skill_refresh(wk: Wellkept, _: NoInput) -> SkillOverviewOutput:
    """Look through everything again."""
    seen = wk.skills.refresh()
    return SkillOverviewOutput(
        total=seen.total,
        enabled=seen.enabled,
        by_kind=dict(seen.by_kind),
        errors=seen.errors,
        warnings=seen.warnings,
    )


# -- As prompts of an MCP server ------------------------------------------------------------------


def skill_prompts(wk: Wellkept, _: NoInput) -> SkillPromptsOutput:
    """Skills for people, the most used first; not those that are other servers' prompts."""
    listed = [one.skill for one in wk.skills.commands.list() if one.skill is not None]
    own = [skill for skill in listed if skill.source.kind is not SkillKind.MCP]
    return SkillPromptsOutput(prompts=[SkillRowOutput.of(skill) for skill in own[:MAX_PROMPTS]])


def run_prompt(wk: Wellkept, asked: RunSkillInput) -> SkillTextOutput:
    """A skill that a person picked; commands of our own are no prompts."""
    if wk.skills.commands.get(asked.name).skill is None:
        raise UsageError(f"/{asked.name} is no prompt.", hint="List the prompts.")
    return skill_command(wk, asked)


def _for_models(skill: Skill) -> bool:
    return skill.enabled and not skill.invocation.disable_model_invocation
