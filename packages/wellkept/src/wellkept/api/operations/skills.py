"""Skill operations: search, run, list, enable, create, delete.

Agents get search and run only. Skills reserved for people cannot be run as a model, and hooks are
trusted only on the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.api.operations.skill_records import (
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
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.skills import Skill, SkillKind

if TYPE_CHECKING:
    from wellkept.api import Wellkept

MAX_PROMPTS = 100
_MAX_NOTES = 20
_MAX_RUNS = 20
# What scores less than this part of the best is noise.
_NEAR_BEST = 0.5

# -- Operations -----------------------------------------------------------------------------------


def skill_search(wk: Wellkept, request: FindSkillsInput) -> SkillRowsOutput:
    """Skills that fit a task, or this project."""
    if not request.query.strip():
        return skill_detect(wk, request)
    found = wk.skills.search(request.query, limit=request.limit, include_tags=request.tags)
    offered = [choice for choice in found.choices if _for_models(choice.skill)]
    best = max((choice.score for choice in offered), default=0.0)
    rows = [
        SkillRowOutput.of(one.skill, why=one.reasons[0] if one.reasons else "", score=one.score)
        for one in offered
        if one.score >= best * _NEAR_BEST
    ]
    return SkillRowsOutput(skills=rows, notes=list(found.notes))


def skill_detect(wk: Wellkept, request: FindSkillsInput) -> SkillRowsOutput:
    """Skills that this project calls for by its files."""
    found = wk.skills.detect().found
    rows = [SkillRowOutput.of(one.skill, why=one.reason) for one in found if _for_models(one.skill)]
    return SkillRowsOutput(skills=rows[: request.limit])


def skill_run(wk: Wellkept, request: RunSkillInput) -> SkillTextOutput:
    """Run a command as a model."""
    try:
        return _run(wk, request, by="model")
    except NotFoundError as error:
        hint = f"{error.hint or ''} skill_search finds those that fit.".strip()
        raise NotFoundError(error.message, hint=hint) from None


def skill_command(wk: Wellkept, request: RunSkillInput) -> SkillTextOutput:
    """Run a command as a person."""
    return _run(wk, request, by="person")


def _run(wk: Wellkept, request: RunSkillInput, *, by: str) -> SkillTextOutput:
    done = wk.skills.commands.run(
        request.name, request.arguments, by=by, session=request.session or None
    )
    return SkillTextOutput.of(done)


def skill_commands(wk: Wellkept, _: NoInput) -> CommandRowsOutput:
    """What can be typed after a slash."""
    commands = wk.skills.commands
    scores = commands.scores()
    return CommandRowsOutput(
        commands=[CommandRowOutput.of(one, scores.get(one.key, 0.0)) for one in commands.list()]
    )


def skill_list(wk: Wellkept, request: ListSkillsInput) -> SkillRowsOutput:
    """Every skill of a project."""
    index = wk.skills.index()
    listed = wk.skills.list(
        source=request.source or None, include_disabled=not request.enabled_only
    )
    return SkillRowsOutput(
        skills=[SkillRowOutput.of(skill) for skill in listed],
        clashes=[clash.name for clash in index.clashes],
        notes=[one_line(finding.message) for finding in index.findings[:_MAX_NOTES]],
    )


def skill_show(wk: Wellkept, request: SkillNameInput) -> SkillOutput:
    """One skill, whole."""
    skill = wk.skills.get(request.name)
    clash = next((one for one in wk.skills.index().clashes if one.name == skill.name), None)
    return SkillOutput.of(
        skill,
        covers=[one.key for one in clash.covered] if clash else [],
        use=wk.skills.commands.use_of(skill),
        runs=wk.skills.library.runs_of(skill.name, limit=_MAX_RUNS),
    )


def skill_switch(wk: Wellkept, request: SwitchSkillInput) -> SkillOutput:
    """Switch a skill on or off."""
    change = wk.skills.enable if request.on else wk.skills.disable
    return SkillOutput.of(change(request.name))


def skill_create(wk: Wellkept, request: CreateSkillInput) -> SkillOutput:
    """Make a skill."""
    made = wk.skills.create(
        request.name,
        description=request.description,
        body=request.body,
        tags=tuple(request.tags),
        folder=request.folder,
    )
    return SkillOutput.of(made)


def skill_delete(wk: Wellkept, request: DeleteSkillInput) -> DeleteSkillOutput:
    """Remove a skill, but only when that was confirmed."""
    files = wk.skills.delete(request.name, dry_run=not request.confirm)
    return DeleteSkillOutput(
        name=request.name, done=request.confirm, files=[str(file) for file in files]
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


def run_prompt(wk: Wellkept, request: RunSkillInput) -> SkillTextOutput:
    """A skill that a person picked; commands of our own are no prompts."""
    if wk.skills.commands.get(request.name).skill is None:
        raise UsageError(f"Unknown prompt '/{request.name}'.", hint="Run `prompts/list`.")
    return skill_command(wk, request)


def _for_models(skill: Skill) -> bool:
    return skill.enabled and not skill.invocation.disable_model_invocation
