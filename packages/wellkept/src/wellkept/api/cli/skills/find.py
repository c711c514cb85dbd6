"""`wellkept skill search` and `detect`: skills for a query, and for this project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import exit_codes, options, output
from wellkept.api.cli.names import SESSION, SKILL
from wellkept.core.skills import InjectionPhase
from wellkept.core.text import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.codec import Json
    from wellkept.core.skills import Skill
    from wellkept.skills.library.select import Detection
    from wellkept.skills.selection.injection import SkillPack
    from wellkept.skills.selection.select import SkillChoice, SkillSelection

_phase_option = click.option(
    "--phase",
    type=click.Choice([phase.value for phase in InjectionPhase]),
    help="Only skills for this phase of work.",
)


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="QUERY...")
@click.option(
    "--limit", "-n", type=int, default=10, show_default=True, help="Maximum number of results."
)
@click.option("--tag", "tags", multiple=True, help="Only with one of these tags. Repeatable.")
@click.option("--without-tag", "unwanted", multiple=True, help="Only without this tag. Repeatable.")
@click.option("--profile", help="Ranking: default, or document (the documented formula).")
@click.option("--explain", is_flag=True, help="Show the parts of each score.")
@options.project_option
@options.json_option
def search(
    *,
    words: tuple[str, ...],
    limit: int,
    tags: tuple[str, ...],
    unwanted: tuple[str, ...],
    profile: str | None,
    explain: bool,
    project: str | None,
    as_json: bool,
) -> int:
    """Search skills, best match first.

    Exits with 1 when nothing was found, like grep.
    """
    query = output.read_input(words, what="query")
    with options.open_wellkept(project) as wk:
        found = wk.skills.search(
            query, limit=limit, include_tags=tags, exclude_tags=unwanted, profile=profile
        )
    if as_json:
        output.print_json(_plain_selection(found))
    else:
        _print_selection(found, explain=explain)
    return exit_codes.OK if found.choices else exit_codes.NOTHING


@click.command()
@click.argument("words", nargs=-1, metavar="[PROMPT...]")
@_phase_option
@click.option(
    "--explain", is_flag=True, help="Show files and patterns, or the parts of each score."
)
@click.option("--inject", is_flag=True, help="Print the text injected for an agent.")
@click.option("--force", multiple=True, type=SKILL, help="A skill to select anyway. Repeatable.")
@click.option("--session", type=SESSION, help="Session, for what is forced in it.")
@options.project_option
@options.json_option
def detect(
    *,
    words: tuple[str, ...],
    phase: str | None,
    explain: bool,
    inject: bool,
    force: tuple[str, ...],
    session: str | None,
    project: str | None,
    as_json: bool,
) -> int:
    """Show the skills detected for this project, or selected for a PROMPT.

    Exits with 1 when there are none.
    """
    prompt = output.read_input(words, what="prompt")
    with options.open_wellkept(project) as wk:
        if inject:
            pack = wk.skills.injection(prompt, phase=phase, force=force, session=session)
            return _print_pack(pack, as_json=as_json)
        if prompt.strip() or force or session:
            chosen = wk.skills.select(prompt, phase=phase, force=force, session=session)
            if as_json:
                output.print_json(_plain_selection(chosen))
            else:
                _print_selection(chosen, explain=explain)
            return exit_codes.OK if chosen.choices else exit_codes.NOTHING
        detection = wk.skills.detect(phase=phase, refresh=True)
    if as_json:
        output.print_json(_plain_detection(detection))
    else:
        _print_detection(detection, explain=explain)
    return exit_codes.OK if detection.found else exit_codes.NOTHING


# -- Selections -----------------------------------------------------------------------------------


def _plain_selection(found: SkillSelection) -> dict[str, Json]:
    return {
        "items": [
            {
                **_plain_skill(choice.skill),
                "score": choice.score,
                "reasons": [*choice.reasons],
                "parts": [_plain_part(choice, number) for number in range(len(choice.parts))],
            }
            for choice in found.choices
        ],
        "considered": found.considered,
        "notes": [*found.notes],
    }


def _plain_skill(skill: Skill) -> dict[str, Json]:
    return {
        "name": skill.name,
        "id": skill.id,
        "description": skill.description,
        "tags": [*skill.tags],
        "source": f"{skill.source.kind.value}:{skill.source.name}",
        "priority": skill.priority,
        "path": None if skill.path is None else str(skill.path),
    }


def _plain_part(choice: SkillChoice, number: int) -> dict[str, Json]:
    part = choice.parts[number]
    return {
        "name": part.name,
        "value": round(part.value, 4),
        "weight": part.weight,
        "effect": round(part.effect, 4),
        "detail": part.detail,
    }


def _print_selection(found: SkillSelection, *, explain: bool) -> None:
    rows = [
        (
            choice.skill.name,
            f"{choice.score:.2f}",
            choice.skill.source.kind.value,
            shorten(output.one_line(choice.skill.description), limit=70),
            choice.reasons[0] if choice.reasons else "",
        )
        for choice in found.choices
    ]
    if explain:
        for choice in found.choices:
            click.echo(f"{click.style(choice.skill.name, bold=True)} {choice.score:.2f}")
            output.print_table(("part", "value", "weight", "effect", "found"), _part_rows(choice))
    else:
        output.print_table(("name", "score", "source", "description", "why"), rows)
    if not found.choices:
        output.note(f"None of {found.considered} skills matches.")
    for remark in found.notes:
        output.note(remark)


def _part_rows(choice: SkillChoice) -> list[tuple[str, ...]]:
    return [
        (p.name, f"{p.value:.3f}", f"{p.weight:.2f}", f"{p.effect:+.3f}", p.detail)
        for p in choice.parts
    ]


# -- Detection and injection ----------------------------------------------------------------------


def _plain_detection(detection: Detection) -> dict[str, Json]:
    return {
        "items": [
            {
                **_plain_skill(match.skill),
                "reason": match.reason,
                "files": [*match.files],
                "patterns": [*match.patterns],
                "strength": match.strength,
                "phases": [phase.value for phase in match.skill.inject_into],
            }
            for match in detection.found
        ],
        "files_looked_at": detection.looked_at,
        "is_cut": detection.is_cut,
    }


def _print_detection(detection: Detection, *, explain: bool) -> None:
    rows = [
        (
            match.skill.name,
            str(match.skill.priority),
            match.skill.source.kind.value,
            match.reason,
            *((", ".join(match.files), ", ".join(match.patterns)) if explain else ()),
        )
        for match in detection.found
    ]
    more = ("files", "patterns") if explain else ()
    output.print_table(("name", "priority", "source", "why", *more), rows)
    if not detection.found:
        output.note("No skills detected for this project.")
    if detection.is_cut:
        output.note(f"Only the nearest {detection.looked_at} files were checked.")


def _print_pack(pack: SkillPack, *, as_json: bool) -> int:
    if as_json:
        output.print_json(pack)
    elif pack.text:
        click.echo(output.safe(pack.text))
    else:
        output.note("Nothing would be injected.")
    _note_names("cut", pack.cut)
    _note_names("name only", pack.named)
    _note_names("omitted", pack.left_out)
    return exit_codes.OK if pack.text else exit_codes.NOTHING


def _note_names(what: str, names: Sequence[str]) -> None:
    if names:
        output.note(f"{what}: {', '.join(names)}")
