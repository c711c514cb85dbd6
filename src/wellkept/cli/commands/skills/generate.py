"""`wellkept skill generate`, `review` and `refine`: skills out of sessions that went well."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

import click

from wellkept.cli import exit_codes, options, output
from wellkept.core.errors import UsageError
from wellkept.core.generated_skills import SkillReview
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.app.skills.library import GeneratedSkills, GeneratedSkillView
    from wellkept.core.generated_skills import GeneratedSkill

_HEADINGS = ("name", "review", "state", "uses", "went well", "note")


@click.command()
@click.option(
    "--session",
    metavar="ID",
    help="This session, by its id or the beginning of it; without it, the recent ones.",
)
@click.option("--rules-only", is_flag=True, help="Do not ask a model for better words.")
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
    """Make skills out of sessions that went well.

    A session counts when it is over, has at least 3 tool calls, went well by what is kept of it
    (tests after the last edit, a commit that stays, your own words), and no skill is for the same
    already. What is made waits for `wellkept skill review`. Ends with 1 when nothing was made.
    """
    with options.opened(project) as wk:
        found = wk.skills.generator.generate(session, dry_run=dry_run, with_model=not rules_only)
    if as_json:
        output.print_json(found)
    else:
        for skill in found.made:
            _print_made(skill, dry_run=dry_run)
        for one in found.passed:
            name = output.one_line(f"{one.session_id[:12]} {one.title or ''}".rstrip())
            output.note(f"Passed over {name}: {one.reason}.")
        if not (found.made or found.passed):
            output.note("There are no sessions in this project yet.")
    ctx.exit(exit_codes.OK if found.made else exit_codes.NOTHING)


def _print_made(skill: GeneratedSkill, *, dry_run: bool) -> None:
    if dry_run:
        click.echo(output.safe(skill.text))
        return
    click.echo(output.one_line(f"Made {skill.name} from session {', '.join(skill.session_ids)}"))
    if not skill.enabled:
        output.note(f"Look at it with `wellkept skill review {skill.name}`.")


@click.command()
@click.argument("name", required=False)
@click.option("--accept", "answer", flag_value="accept", help="Switch it on.")
@click.option("--reject", "answer", flag_value="reject", help="Put it away; it does not come back.")
@click.option("--edit", "answer", flag_value="edit", help="Change its text, then switch it on.")
@click.option(
    "--text",
    type=click.File("r", encoding="utf-8"),
    help="With --edit: the new SKILL.md in place of $EDITOR; - is standard input.",
)
@click.option("--history", is_flag=True, help="Also show what it said before.")
@options.project_option
@options.json_option
def review(
    *,
    name: str | None,
    answer: str | None,
    text: TextIO | None,
    history: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Look at skills made from sessions, and say yes or no.

    Without a name all of them are listed, with how often they were used and how that went. With a
    name the skill is shown; --accept, --reject or --edit decides.
    """
    if name is None:
        if answer is not None:
            raise UsageError("Which skill?", hint="Name one; without a name they are listed.")
        _list(project, as_json=as_json)
        return
    with options.opened(project) as wk:
        if answer is not None:
            _decide(wk.skills.library, name, answer, text)
        view = wk.skills.library.view(name)
    if as_json:
        output.print_json(_plain(view, with_text=True))
        return
    if answer is None:
        _show(view, history=history)
    else:
        state = "on" if view.skill.enabled else "off"
        click.echo(output.one_line(f"{view.skill.name}: {view.skill.review.value}, {state}"))


def _decide(library: GeneratedSkills, name: str, answer: str, source: TextIO | None) -> None:
    if answer == "reject":
        library.review(name, "reject")
    elif answer == "accept":
        library.review(name, "accept")
    elif (text := _new_text(library.get(name).text, source)) is not None:
        library.review(name, "edit", text=text)


def _new_text(known: str, source: TextIO | None) -> str | None:
    """The new document, or None when the editor was left without a change."""
    try:
        if source is not None:
            return source.read()
    except UnicodeDecodeError:
        raise UsageError("The text is not UTF-8.", hint="Save it as UTF-8 first.") from None
    output.require_editor(instead="--text")
    try:
        return click.edit(known, extension=".md")
    except click.ClickException as error:
        raise UsageError(
            f"The editor did not work: {error.message}.", hint="Set EDITOR, or give --text."
        ) from None


def _list(project: str | None, *, as_json: bool) -> None:
    with options.opened(project) as wk:
        views = wk.skills.library.views()
    if as_json:
        output.print_json({"items": [_plain(view) for view in views]})
        return
    shown = [view for view in views if view.skill.review is not SkillReview.REJECTED]
    output.print_table(_HEADINGS, [_cells(view) for view in shown])
    away = len(views) - len(shown)
    output.note(f"{counted(len(shown), 'generated skill')}{f', {away} rejected' if away else ''}.")


def _cells(view: GeneratedSkillView) -> tuple[str, ...]:
    skill, seen = view.skill, view.record
    rate = f"{seen.success_rate:.0%} of {seen.judged}" if seen.judged else "-"
    state = "on" if skill.enabled else "off"
    return skill.name, skill.review.value, state, str(seen.uses), rate, skill.note or ""


def _show(view: GeneratedSkillView, *, history: bool) -> None:
    facts = dict(zip(_HEADINGS, _cells(view), strict=True))
    facts |= {
        "origin": f"{view.skill.origin.value}, by {view.skill.made_by}",
        "sessions": ", ".join(view.skill.session_ids),
        "earlier texts": str(len(view.editions)),
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
@click.argument("name")
@click.option("--rules-only", is_flag=True, help="Do not ask a model for better words.")
@click.option("--replace-edits", is_flag=True, help="Also when it was edited by hand.")
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
    """Make a generated skill anew from all good sessions that used or resemble it.

    Steps that at least half of them took stay, with how many did. The text of before is kept, and
    the new one waits for review.
    """
    with options.opened(project) as wk:
        done = wk.skills.generator.refine(
            name, dry_run=dry_run, with_model=not rules_only, replace_edits=replace_edits
        )
    if as_json:
        output.print_json(done)
        return
    if dry_run or not sys.stdout.isatty():
        click.echo(output.safe(done.skill.text))
    changed = "is as it was" if done.skill.text == done.before else "is refined"
    verb = "would be refined" if dry_run else changed
    output.note(f"{name} {verb}: {counted(len(done.sessions), 'session')}.")
