"""`wellkept skill generate`, `review` and `refine`: skills generated from successful sessions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

import click

from wellkept.api.cli import exit_codes, options, output
from wellkept.api.cli.names import SKILL
from wellkept.core.errors import UsageError
from wellkept.core.generated_skills import SkillReview
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.core.generated_skills import GeneratedSkill
    from wellkept.skills.library.catalog import GeneratedSkills, GeneratedSkillView

_HEADINGS = ("name", "review", "state", "uses", "success", "note")


@click.command()
@click.option(
    "--session",
    metavar="ID",
    help="Session id or its beginning. Default: recent sessions.",
)
@click.option("--rules-only", is_flag=True, help="Do not use a model for the wording.")
@options.dry_run_option
@options.project_option
@options.json_option
@click.pass_context
def generate(
    ctx: click.Context,
    *,
    session: str | None,
    rules_only: bool,
    dry_run: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Generate skills from successful sessions.

    A session qualifies when it has ended, has at least 3 tool calls, was successful (tests after
    the last edit, a commit that was kept, your own words), and no skill covers the same task.
    Generated skills wait for `wellkept skill review`. Exits with 1 when nothing was generated.
    """
    with options.open_wellkept(project) as wk:
        found = wk.skills.generator.generate(session, dry_run=dry_run, with_model=not rules_only)
    if as_json:
        output.print_json(found)
    else:
        for skill in found.made:
            _print_generated(skill, dry_run=dry_run)
        for skipped in found.passed:
            name = output.one_line(f"{skipped.session_id[:12]} {skipped.title or ''}".rstrip())
            output.note(f"Skipped {name}: {skipped.reason}.")
        if not (found.made or found.passed):
            output.note("No sessions in this project yet.")
    ctx.exit(exit_codes.OK if found.made else exit_codes.NOTHING)


def _print_generated(skill: GeneratedSkill, *, dry_run: bool) -> None:
    if dry_run:
        click.echo(output.safe(skill.text))
        return
    click.echo(
        output.one_line(f"Generated {skill.name} from session {', '.join(skill.session_ids)}")
    )
    if not skill.enabled:
        output.note(f"Review it with `wellkept skill review {skill.name}`.")


@click.command()
@click.argument("name", required=False, type=SKILL)
@click.option("--accept", "decision", flag_value="accept", help="Enable the skill.")
@click.option("--reject", "decision", flag_value="reject", help="Reject the skill for good.")
@click.option("--edit", "decision", flag_value="edit", help="Edit the text, then enable the skill.")
@click.option(
    "--text",
    type=click.File("r", encoding="utf-8"),
    help="With --edit: file with the new SKILL.md, instead of $EDITOR; - reads standard input.",
)
@click.option("--history", is_flag=True, help="Also show earlier versions.")
@options.project_option
@options.json_option
def review(
    *,
    name: str | None,
    decision: str | None,
    text: TextIO | None,
    history: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """List, show, accept, reject or edit generated skills.

    Without NAME, lists them with their use and success. With NAME, shows the skill; --accept,
    --reject or --edit decides.
    """
    if name is None:
        if decision is not None:
            raise UsageError("No skill named.", hint="Pass a NAME; without one, skills are listed.")
        _list(project, as_json=as_json)
        return
    with options.open_wellkept(project) as wk:
        if decision is not None:
            _decide(wk.skills.library, name, decision, text)
        view = wk.skills.library.view(name)
    if as_json:
        output.print_json(_plain(view, with_text=True))
        return
    if decision is None:
        _show(view, history=history)
    else:
        state = "on" if view.skill.enabled else "off"
        click.echo(output.one_line(f"{view.skill.name}: {view.skill.review.value}, {state}"))


def _decide(library: GeneratedSkills, name: str, decision: str, source: TextIO | None) -> None:
    if decision == "reject":
        library.review(name, "reject")
    elif decision == "accept":
        library.review(name, "accept")
    elif (text := _new_text(library.get(name).text, source)) is not None:
        library.review(name, "edit", text=text)


def _new_text(current: str, source: TextIO | None) -> str | None:
    """The new document, or None when the editor was closed without a change."""
    try:
        if source is not None:
            return source.read()
    except UnicodeDecodeError:
        raise UsageError("The text is not UTF-8.", hint="Save it as UTF-8 first.") from None
    output.require_editor(alternative="--text")
    try:
        return click.edit(current, extension=".md")
    except click.ClickException as error:
        raise UsageError(
            f"The editor failed: {error.message}.", hint="Set EDITOR, or pass --text."
        ) from None


def _list(project: str | None, *, as_json: bool) -> None:
    with options.open_wellkept(project) as wk:
        views = wk.skills.library.views()
    if as_json:
        output.print_json({"items": [_plain(view) for view in views]})
        return
    shown = [view for view in views if view.skill.review is not SkillReview.REJECTED]
    output.print_table(_HEADINGS, [_cells(view) for view in shown])
    rejected = len(views) - len(shown)
    output.note(
        f"{counted(len(shown), 'generated skill')}{f', {rejected} rejected' if rejected else ''}."
    )


def _cells(view: GeneratedSkillView) -> tuple[str, ...]:
    skill, record = view.skill, view.record
    rate = f"{record.success_rate:.0%} of {record.judged}" if record.judged else "-"
    state = "on" if skill.enabled else "off"
    return skill.name, skill.review.value, state, str(record.uses), rate, skill.note or ""


def _show(view: GeneratedSkillView, *, history: bool) -> None:
    facts = dict(zip(_HEADINGS, _cells(view), strict=True))
    facts |= {
        "origin": f"{view.skill.origin.value}, by {view.skill.made_by}",
        "sessions": ", ".join(view.skill.session_ids),
        "earlier versions": str(len(view.editions)),
    }
    for label, text in facts.items():
        click.echo(f"{click.style(label + ':', bold=True)} {output.one_line(text)}")
    click.echo(f"\n{output.safe(view.skill.text)}")
    for edition in view.editions if history else ():
        click.echo(f"--- until {edition.until:%Y-%m-%d %H:%M}, by {edition.made_by}\n")
        click.echo(output.safe(edition.text))


def _plain(view: GeneratedSkillView, *, with_text: bool = False) -> dict[str, object]:
    skill = output.plain(view.skill)
    assert isinstance(skill, dict)
    if not with_text:
        skill.pop("text")
    record = {
        "uses": view.record.uses,
        "judged": view.record.judged,
        "succeeded": view.record.succeeded,
        "failed_in_a_row": view.record.failed_in_a_row,
        "success_rate": view.record.success_rate,
    }
    return {"skill": skill, "record": record, "editions": view.editions if with_text else []}


@click.command()
@click.argument("name", type=SKILL)
@click.option("--rules-only", is_flag=True, help="Do not use a model for the wording.")
@click.option("--replace-edits", is_flag=True, help="Also replace manual edits.")
@options.dry_run_option
@options.project_option
@options.json_option
def refine(
    *,
    name: str,
    rules_only: bool,
    replace_edits: bool,
    dry_run: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Regenerate a skill from all successful sessions that used or resemble it.

    Keeps the steps of at least half of these sessions, with counts. The previous text is kept as a
    version; the new one waits for review.
    """
    with options.open_wellkept(project) as wk:
        result = wk.skills.generator.refine(
            name, dry_run=dry_run, with_model=not rules_only, replace_edits=replace_edits
        )
    if as_json:
        output.print_json(result)
        return
    if dry_run or not sys.stdout.isatty():
        click.echo(output.safe(result.skill.text))
    changed = "is unchanged" if result.skill.text == result.before else "is refined"
    verb = "would be refined" if dry_run else changed
    output.note(f"{name} {verb}: {counted(len(result.sessions), 'session')}.")
