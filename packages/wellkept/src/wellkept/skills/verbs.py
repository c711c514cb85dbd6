"""The verbs that find, show, run and check skills. `core.verbs` says what a declaration is.

An agent is offered what it may run, and runs it as a model.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

from wellkept.core.errors import NotFoundError
from wellkept.core.team.people import asking
from wellkept.core.verbs import Alias, Arg, Effect, verb
from wellkept.memory.arguments import Names
from wellkept.memory.workspace import OpenMemory
from wellkept.skills.changes import CheckedSkills, SkillCheck, SkillPlace
from wellkept.skills.results import ShownSkill, SkillNameClash, SkillRow, SkillRows, SkillText

if TYPE_CHECKING:
    from wellkept.core.skills import Skill
    from wellkept.skills.library.api import Skills

_MAX_ARGUMENT_CHARS = 64_000
_MAX_RUNS = 20
# What scores less than this part of the best is noise to a model.
_NEAR_BEST = 0.5


class WithSkills(OpenMemory, Protocol):
    """An open memory with the skills of its project."""

    @cached_property
    def skills(self) -> Skills: ...


def names_of(given: Names) -> tuple[str, ...]:
    """One name, or several, as a tuple."""
    return (given,) if isinstance(given, str) else tuple(given)


# -- Read -----------------------------------------------------------------------------------------


@verb(
    noun="skill",
    toolset="skills",
    tell="Every skill of the project, highest priority first.",
    on_files=True,
    examples=({"source": "builtin"}, {"commands": True}),
)
def list_(
    wk: WithSkills,
    *,
    source: Annotated[
        Literal["builtin", "external", "mcp", "plugin", "generated", "user", "project", "managed"]
        | None,
        Arg("Only this kind of source."),
    ] = None,
    enabled: Annotated[bool, Arg("Only enabled ones.", aka=("enabled_only",))] = False,
    commands: Annotated[
        bool, Arg("What can be typed after a slash, also our own, the most used first.")
    ] = False,
    by: Annotated[
        Literal["person", "model"], Arg("Commands for whom.", flag="--as", hidden=True)
    ] = "person",
    all: Annotated[bool, Arg("Hidden and disabled commands too.", hidden=True)] = False,
) -> SkillRows:
    """List skills, highest priority first, and name clashes."""
    from wellkept.skills.results import finding_lines

    index = wk.skills.index()
    if commands:
        table = wk.skills.commands
        scores = table.scores()
        listed = [*table.table] if all else table.list(by=by)
        clashes = [
            SkillNameClash(one.name, one.winner.source, tuple(c.source for c in one.covered))
            for one in table.clashes()
        ]
        return SkillRows(
            items=tuple(SkillRow.of_command(one, scores.get(one.key, 0.0)) for one in listed),
            clashes=tuple(clashes),
            notes=tuple(
                f"/{one.name} comes from {one.winner} and hides {', '.join(one.covered)}."
                for one in clashes
            ),
        )
    skills = wk.skills.list(source=source, include_disabled=not enabled)
    return SkillRows(
        items=tuple(map(SkillRow.of, skills)),
        clashes=tuple(
            SkillNameClash(one.name, one.winner.key, tuple(c.key for c in one.covered))
            for one in index.clashes
        ),
        findings=index.findings,
        notes=tuple(finding_lines(index.findings)),
    )


@verb(
    noun="skill",
    toolset="default",
    aliases=("search_skills", "skill_detect"),
    tell="Instructions that people or earlier sessions wrote for a kind of work "
    "(release, migration, review, ...). Use before such work, not before plain edits.",
    finds=True,
    on_files=True,
    examples=({"query": "write tests first", "limit": 2},),
)
def search(
    wk: WithSkills,
    query: Annotated[
        str,
        Arg(
            "The task at hand. Empty: those that this project calls for.",
            0,
            20_000,
            words=True,
            aka=("task", "task_description", "prompt"),
        ),
    ] = "",
    *,
    limit: Annotated[int, Arg("How many.", 1, 50, "-n")] = 10,
    tags: Annotated[Names, Arg("Only with one of these tags.", flag="--tag", hidden=True)] = (),
    without_tags: Annotated[
        Names, Arg("Only without this tag.", flag="--without-tag", hidden=True)
    ] = (),
    profile: Annotated[str | None, Arg("Ranking: default or document.", hidden=True)] = None,
    select: Annotated[
        bool, Arg("Only the few that an agent would be given for it.", hidden=True)
    ] = False,
    inject: Annotated[bool, Arg("The text that an agent would be given.", hidden=True)] = False,
    phase: Annotated[
        Literal["planning", "implementation", "retry", "always"] | None,
        Arg("Only for this phase of work.", hidden=True),
    ] = None,
    force: Annotated[Names, Arg("To select anyway.", hidden=True, names="skill")] = (),
    session: Annotated[
        str | None, Arg("Session, for what is forced in it.", hidden=True, names="session")
    ] = None,
) -> SkillRows:
    """Search skills, best match first; without a query, those that this project calls for.

    Exits with 1 when nothing fits, like grep.
    """
    forced = names_of(force)
    if inject:
        pack = wk.skills.injection(
            query, phase=phase, force=forced, session=session, profile=profile
        )
        return SkillRows(
            injected=pack.text,
            cut=pack.cut,
            named=pack.named,
            left_out=pack.left_out,
            notes=tuple(
                f"{what}: {', '.join(names)}"
                for what, names in (
                    ("cut", pack.cut),
                    ("name only", pack.named),
                    ("omitted", pack.left_out),
                )
                if names
            ),
        )
    is_selected = select or phase is not None or bool(forced)
    if not query.strip() and not (is_selected and (forced or session)):
        return _detected(wk, phase, limit)
    if is_selected:
        found = wk.skills.select(
            query,
            phase=phase,
            include_tags=names_of(tags),
            exclude_tags=names_of(without_tags),
            profile=profile,
            force=forced,
            session=session,
        )
    else:
        found = wk.skills.search(
            query,
            limit=limit,
            include_tags=names_of(tags),
            exclude_tags=names_of(without_tags),
            profile=profile,
        )
    choices = [one for one in found.choices if _is_offered(one.skill)]
    if asking().is_agent:
        best = max((one.score for one in choices), default=0.0)
        choices = [one for one in choices if one.score >= best * _NEAR_BEST]
    return SkillRows(
        items=tuple(
            SkillRow.of(
                one.skill,
                why="; ".join(one.reasons[:1]),
                score=round(one.score, 2),
                parts=one.parts,
            )
            for one in choices
        ),
        considered=found.considered,
        notes=found.notes,
    )


def _detected(wk: WithSkills, phase: str | None, limit: int) -> SkillRows:
    found = wk.skills.detect(phase=phase, refresh=True)
    offered = [one for one in found.found if _is_offered(one.skill)]
    cut = f"Only the nearest {found.looked_at} files were checked."
    return SkillRows(
        items=tuple(
            SkillRow.of(one.skill, why=one.reason, score=round(one.strength, 2), files=one.files)
            for one in offered[:limit]
        ),
        notes=(cut,) if found.is_cut else (),
    )


def _is_offered(skill: Skill) -> bool:
    """An agent is offered only what it may run."""
    if not asking().is_agent:
        return True
    return skill.enabled and not skill.invocation.disable_model_invocation


@verb(
    noun="skill",
    toolset="skills",
    tell="One skill with its text and what is wrong with it.",
    on_files=True,
    examples=({"name": "debug-systematically"},),
)
def show(
    wk: WithSkills,
    name: Annotated[str, Arg("Name, alias or id.", 1, 200, names="skill")],
    *,
    remind: Annotated[
        bool, Arg("The reminder that an agent gets while it is in use.", hidden=True)
    ] = False,
    level: Annotated[
        Literal["sparse", "normal", "detailed"], Arg("Length of the reminder.", hidden=True)
    ] = "normal",
) -> ShownSkill:
    """Show a skill: source, fields, findings and text."""
    skill = wk.skills.get(name)
    clash = next((one for one in wk.skills.index().clashes if one.name == skill.name), None)
    return ShownSkill.of(
        skill,
        covers=tuple(one.key for one in clash.covered) if clash else (),
        use=wk.skills.commands.use_of(skill),
        runs=tuple(wk.skills.library.runs_of(skill.name, limit=_MAX_RUNS)),
        reminder=wk.skills.reminders(name, level=level) if remind else None,
    )


@verb(
    noun="skill",
    effect=Effect.ADDS,
    repeatable=False,
    toolset="default",
    aliases=("run_skill", "get_skill", "skill_command"),
    tell="One skill in full, by the name that skill_search gives, for you to follow.",
    on_files=True,
    examples=({"name": "debug-systematically"},),
)
def run(
    wk: WithSkills,
    name: Annotated[str, Arg("Name or alias.", 1, 200, names="skill")],
    arguments: Annotated[
        str,
        Arg(
            'What follows the name; quote a word with spaces: fix "a b".',
            0,
            _MAX_ARGUMENT_CHARS,
            raw=True,
            metavar="ARGS",
        ),
    ] = "",
    *,
    by: Annotated[
        Literal["person", "model"],
        Arg("Caller: some are for people only, others for models only.", flag="--as", hidden=True),
    ] = "person",
    session: Annotated[
        str | None, Arg("Session; activates the skill's hooks in it.", names="session")
    ] = None,
    max_chars: Annotated[int | None, Arg("Longest text in characters.", 200, hidden=True)] = None,
    max_tokens: Annotated[int | None, Arg("Longest text in tokens.", 50, hidden=True)] = None,
) -> SkillText:
    """Run a skill or a built-in command, such as remember or help.

    A skill prints its prompt for the model, with ARGS replacing $ARGUMENTS and $1 to $9. A built-in
    command prints its result. Options must precede NAME; everything after it is an argument. A
    single - reads the arguments from standard input.
    """
    is_agent = asking().is_agent
    try:
        done = wk.skills.commands.run(
            name,
            arguments,
            by="model" if is_agent else by,
            session=session or None,
            max_chars=max_chars,
            max_tokens=max_tokens,
        )
    except NotFoundError as error:
        hint = f"{error.hint or ''} skill_search finds those that fit.".strip()
        raise NotFoundError(error.message, hint=hint if is_agent else error.hint) from None
    return SkillText.of(done)


@verb(
    noun="skill",
    toolset="skills",
    aliases=(Alias("skill_refresh", {"refresh": True}),),
    tell="Every finding about skills, or about all, with line numbers.",
    on_files=True,
    examples=({"targets": ["debug-systematically"]}, {"refresh": True}),
)
def validate(
    wk: WithSkills,
    targets: Annotated[
        Names | Iterable[Path], Arg("Names. Empty: all.", aka=("name",), metavar="NAME|PATH")
    ] = (),
    *,
    strict: Annotated[bool, Arg("Also fields outside the specification.")] = False,
    refresh: Annotated[
        bool, Arg("Read every place again instead, and count.", hidden=True)
    ] = False,
) -> CheckedSkills:
    """Check skills against the Agent Skills specification and its extensions.

    Without NAME or PATH, checks all skills. Exits with 1 when there is an error. The guide
    docs/guides/skills.md explains the codes.
    """
    if refresh:
        return _counted(wk.skills)
    chosen = (targets,) if isinstance(targets, str) else tuple(targets)
    known = [one if isinstance(one, Path) else _file_of(wk.skills.get(one)) for one in chosen]
    checked = wk.skills.validate(*known, strict=strict)
    bad = sum(not one.is_valid for one in checked)
    return CheckedSkills(
        items=tuple(
            SkillCheck(
                name=one.skill.name if one.skill else "",
                path=str(one.path or ""),
                valid=one.is_valid,
                findings=one.findings,
            )
            for one in checked
        ),
        notes=(f"{len(checked)} checked, {bad} with errors.",),
    )


def _file_of(skill: Skill) -> Path | str:
    return skill.path or skill.name


def _counted(skills: Skills) -> CheckedSkills:
    seen = skills.refresh()
    waiting = seen.generated.pending
    review = (f"{waiting} generated skills to review. Run `wellkept skill review`.",)
    return CheckedSkills(
        total=seen.total,
        enabled=seen.enabled,
        by_kind=seen.by_kind,
        places=tuple(
            SkillPlace(
                source=f"{source.kind.value}:{source.name}",
                skills=count,
                folder=str(source.root or ""),
            )
            for source, count in seen.sources
        ),
        pending=waiting,
        notes=(
            f"{seen.total} skills, {seen.enabled} on, {len(seen.clashes)} clashes, "
            f"{seen.errors} errors, {seen.warnings} warnings.",
            *(review if waiting else ()),
        ),
    )
