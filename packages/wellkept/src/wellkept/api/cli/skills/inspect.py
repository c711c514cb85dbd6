"""`wellkept skill list`, `show`, `validate` and `refresh`: read-only commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import exit_codes, options, output
from wellkept.api.cli.names import SKILL
from wellkept.core.records import fields
from wellkept.core.skills import SkillKind
from wellkept.core.text import counted, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wellkept.core.codec import Json
    from wellkept.core.skills import Skill, SkillClash, SkillFinding
    from wellkept.skills.authoring.validate import ValidationReport
    from wellkept.skills.library.api import SkillsOverview

_NOT_IN_LISTS = frozenset(("body",))


@click.command("list")
@click.option(
    "--source",
    type=click.Choice([kind.value for kind in SkillKind]),
    help="Only this kind of source.",
)
@click.option("--enabled", "enabled_only", is_flag=True, help="Only enabled skills.")
@options.project_option
@options.json_option
def list_skills(
    *, source: str | None, enabled_only: bool, project: str | None, as_json: bool
) -> None:
    """List skills, highest priority first, and name clashes."""
    with options.open_wellkept(project) as wk:
        skills = wk.skills.list(source=source, include_disabled=not enabled_only)
        index = wk.skills.index()
    if as_json:
        output.print_json(
            {
                "items": [plain_skill(skill) for skill in skills],
                "clashes": [_plain_clash(clash) for clash in index.clashes],
                "findings": index.findings,
            }
        )
        return
    headings = ("name", "source", "priority", "state", "description")
    output.print_table(headings, [_cells(skill) for skill in skills])
    print_findings(index.findings, on_stderr=True)


def _cells(skill: Skill) -> tuple[str, ...]:
    errors = sum(found.is_error for found in skill.findings)
    state = "on" if skill.enabled else "off"
    state += f" ({shorten(skill.note, limit=60)})" if skill.note else ""
    return (
        skill.name,
        f"{skill.source.kind.value}:{skill.source.name}",
        str(skill.priority),
        f"{state}, {errors} errors" if errors else state,
        shorten(" ".join(skill.description.split()), limit=80),
    )


def plain_skill(skill: Skill, *, with_body: bool = False) -> dict[str, Json]:
    """A skill as JSON, with or without its body."""
    excluded = frozenset[str]() if with_body else _NOT_IN_LISTS
    found = {
        f.name: output.plain(getattr(skill, f.name))
        for f in fields(skill)
        if f.name not in excluded
    }
    pairs = {"metadata": dict(skill.metadata), "extra": dict(skill.extra)}
    return {"id": skill.id, **found, **_pairs(pairs), "body_tokens": skill.body_tokens}


def _pairs(pairs: dict[str, dict[str, str]]) -> dict[str, Json]:
    """String pairs as JSON objects."""
    return {name: dict[str, "Json"](values) for name, values in pairs.items()}


def _plain_clash(clash: SkillClash) -> dict[str, object]:
    return {
        "name": clash.name,
        "winner": clash.winner.key,
        "covered": [skill.key for skill in clash.covered],
    }


@click.command()
@click.argument("name", type=SKILL)
@options.project_option
@options.json_option
def show(*, name: str, project: str | None, as_json: bool) -> None:
    """Show a skill: source, fields, findings and text."""
    with options.open_wellkept(project) as wk:
        skill = wk.skills.get(name)
        clash = next((c for c in wk.skills.index().clashes if c.name == skill.name), None)
        use = wk.skills.commands.use_of(skill)
    if as_json:
        covers = [one.key for one in clash.covered] if clash else []
        output.print_json(
            {
                "skill": plain_skill(skill, with_body=True),
                "covers": covers,
                "uses": use.count if use else 0,
            }
        )
        return
    used = f"{counted(use.count, 'time')}, last {use.last_used_at:%Y-%m-%d}" if use else ""
    for label, text in [*_facts(skill, clash), *([("used", used)] if used else [])]:
        click.echo(f"{click.style(label + ':', bold=True)} {output.one_line(text)}")
    print_findings(skill.findings)
    click.echo()
    click.echo(output.safe(skill.body))


def _facts(skill: Skill, clash: SkillClash | None) -> list[tuple[str, str]]:
    use = skill.invocation
    facts = [
        ("name", f"{skill.name} ({'on' if skill.enabled else 'off'})"),
        ("note", skill.note or ""),
        ("description", skill.description),
        ("when to use", skill.when_to_use or ""),
        ("source", f"{skill.source.kind.value}:{skill.source.name}, priority {skill.priority}"),
        ("covers", ", ".join(one.key for one in clash.covered) if clash else ""),
        ("file", str(skill.path or "")),
        ("version", skill.version or ""),
        ("license", skill.license or ""),
        ("compatibility", skill.compatibility or ""),
        ("tags", ", ".join(skill.tags)),
        ("aliases", ", ".join(use.aliases)),
        ("arguments", use.argument_hint or ""),
        ("allowed tools", ", ".join(use.allowed_tools)),
        ("hooks", ", ".join(f"{hook.event.value} {hook.matcher}" for hook in skill.hooks)),
        ("metadata", ", ".join(f"{key}={value}" for key, value in skill.metadata)),
        ("other fields", ", ".join(key for key, _ in skill.extra)),
        ("size", f"about {skill.body_tokens:,} tokens"),
        ("sha256", skill.sha256),
    ]
    return [(label, text) for label, text in facts if text]


@click.command()
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...")
@click.option("--strict", is_flag=True, help="Also warn about fields outside the specification.")
@options.project_option
@options.json_option
@click.pass_context
def validate(
    ctx: click.Context,
    *,
    targets: tuple[str, ...],
    strict: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Check skills against the Agent Skills specification and its extensions.

    Without NAME or PATH, checks all skills. Exits with 1 when there is an error. The guide
    docs/guides/skills.md explains the codes.
    """
    with options.open_wellkept(project) as wk:
        checked = wk.skills.validate(*targets, strict=strict)
    if as_json:
        output.print_json({"items": [_plain_validated(one) for one in checked]})
    else:
        for one in checked:
            print_findings(one.findings)
        bad = sum(not one.is_valid for one in checked)
        output.note(f"{len(checked)} checked, {bad} with errors.")
    ctx.exit(exit_codes.OK if all(one.is_valid for one in checked) else exit_codes.NOTHING)


def _plain_validated(one: ValidationReport) -> dict[str, object]:
    name = one.skill.name if one.skill else None
    return {"name": name, "path": one.path, "valid": one.is_valid, "findings": one.findings}


def print_findings(findings: Iterable[SkillFinding], *, on_stderr: bool = False) -> None:
    """Print findings like a compiler: file:line: severity code: message."""
    for found in findings:
        where = f"{found.path or ''}{f':{found.line}' if found.line else ''}"
        text = f"{found.severity.value} {found.code}: {found.message}"
        colour = "red" if found.is_error else "yellow"
        line = output.one_line(f"{where}: {text}" if where else text)
        click.echo(click.style(line, fg=colour), err=on_stderr)


@click.command()
@options.project_option
@options.json_option
def refresh(*, project: str | None, as_json: bool) -> None:
    """Scan all sources again and print the counts."""
    with options.open_wellkept(project) as wk:
        overview = wk.skills.refresh()
    if as_json:
        output.print_json(_plain_overview(overview))
        return
    rows = [
        (f"{source.kind.value}:{source.name}", str(count), str(source.root or ""))
        for source, count in overview.sources
    ]
    output.print_table(("source", "skills", "folder"), rows)
    output.note(
        f"{overview.total} skills, {overview.enabled} on, {len(overview.clashes)} clashes, "
        f"{overview.errors} errors, {overview.warnings} warnings."
    )
    if overview.generated.pending:
        output.note(
            f"{overview.generated.pending} generated skills to review. Run `wellkept skill review`."
        )


def _plain_overview(overview: SkillsOverview) -> dict[str, object]:
    return {
        "total": overview.total,
        "enabled": overview.enabled,
        "by_kind": dict(overview.by_kind),
        "sources": [{"source": source, "skills": count} for source, count in overview.sources],
        "clashes": [_plain_clash(clash) for clash in overview.clashes],
        "errors": overview.errors,
        "warnings": overview.warnings,
        "findings": overview.findings,
        "generated": {
            "total": overview.generated.total,
            "pending": overview.generated.pending,
            "accepted": overview.generated.accepted,
            "rejected": overview.generated.rejected,
            "enabled": overview.generated.enabled,
            "uses": overview.generated.record.uses,
            "success_rate": overview.generated.record.success_rate,
        },
    }
