"""`wellkept skill new`, `edit`, `enable`, `disable`, `force`, `delete` and `export`."""

from __future__ import annotations

import sys

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import SESSION, SKILL
from wellkept.api.cli.skills.inspect import plain_skill, print_findings
from wellkept.core.errors import UsageError
from wellkept.core.skills import Skill
from wellkept.skills.authoring.edit_fields import FieldValue
from wellkept.skills.authoring.write import editable_file
from wellkept.skills.library.api import CLIENT_FOLDERS, NEW_FOLDERS

_LISTS = frozenset(("tags", "aliases", "allowed_tools", "inject_into"))
_BODY = """# {title}

Describe here what to do, step by step.
"""


@click.command()
@click.argument("name")
@click.option("--description", required=True, help="What it does and when to use it.")
@click.option("--tag", "tags", multiple=True, help="Tag. Repeatable.")
@click.option("--body", help="Instructions; - reads standard input.")
@click.option(
    "--in",
    "folder",
    type=click.Choice(NEW_FOLDERS),
    default=NEW_FOLDERS[0],
    show_default=True,
    help="Target folder; user applies to all projects.",
)
@options.project_option
@options.json_option
def new(
    *,
    name: str,
    description: str,
    tags: tuple[str, ...],
    body: str | None,
    folder: str,
    project: str | None,
    as_json: bool,
) -> None:
    """Create a skill: a folder NAME with SKILL.md."""
    title = name.replace("-", " ").capitalize()
    text = _BODY.format(title=title) if body is None else output.read_input([body], what="body")
    with options.open_wellkept(project) as wk:
        skill = wk.skills.create(name, description=description, tags=tags, body=text, folder=folder)
    _print_skill(skill, "Created", as_json=as_json)


@click.command()
@click.argument("name", type=SKILL)
@click.option(
    "--set", "settings", multiple=True, metavar="FIELD=VALUE", help="Set a field. Repeatable."
)
@click.option("--unset", "removed", multiple=True, metavar="FIELD", help="Remove a field.")
@click.option("--body", help="New instructions; - reads standard input.")
@options.project_option
@options.json_option
def edit(
    *,
    name: str,
    settings: tuple[str, ...],
    removed: tuple[str, ...],
    body: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Change fields of a skill; the rest of its file stays byte for byte.

    Separate list values (tags, aliases, allowed-tools, inject-into) with commas. Without options,
    the file opens in $EDITOR.
    """
    changes = _parse_changes(settings, removed)
    text = None if body is None else output.read_input([body], what="body")
    with options.open_wellkept(project) as wk:
        if changes or text is not None:
            changed = wk.skills.edit(name, changes, body=text)
        else:
            _open_editor(wk.skills.get(name))
            changed = wk.skills.get(name)
    _print_skill(changed, "Changed", as_json=as_json)


def _parse_changes(
    settings: tuple[str, ...], removed: tuple[str, ...]
) -> dict[str, FieldValue | None]:
    """Parse `--set` and `--unset`."""
    changes: dict[str, FieldValue | None] = {}
    for setting in settings:
        field, sign, value = setting.partition("=")
        if not sign or not field.strip():
            raise UsageError(f"{setting!r} is not FIELD=VALUE.", hint="For example: version=1.2.0")
        changes[field.strip()] = _value(field.strip(), value)
    return changes | dict.fromkeys(removed)


def _value(field: str, text: str) -> FieldValue:
    if field.replace("-", "_") in _LISTS:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text.lower() == "true" if text.lower() in ("true", "false") else text


def _open_editor(skill: Skill) -> None:
    path = editable_file(skill)
    output.require_editor(alternative="--set or --body")
    try:
        click.edit(filename=str(path))
    except click.ClickException as error:
        raise UsageError(
            f"The editor failed: {error.message}.", hint="Set EDITOR, or pass --set."
        ) from None


@click.command()
@click.argument("name", type=SKILL)
@options.project_option
@options.json_option
def enable(*, name: str, project: str | None, as_json: bool) -> None:
    """Enable a skill in this project."""
    with options.open_wellkept(project) as wk:
        skill = wk.skills.enable(name)
    _print_skill(skill, "Enabled", as_json=as_json)


@click.command()
@click.argument("name", type=SKILL)
@options.project_option
@options.json_option
def disable(*, name: str, project: str | None, as_json: bool) -> None:
    """Disable a skill in this project; its file stays unchanged."""
    with options.open_wellkept(project) as wk:
        skill = wk.skills.disable(name)
    _print_skill(skill, "Disabled", as_json=as_json)


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", type=SKILL)
@click.option("--session", type=SESSION, help="Session; usually the latest of this project.")
@click.option("--off", is_flag=True, help="Force none any more.")
@options.project_option
@options.json_option
def force(
    *, names: tuple[str, ...], session: str | None, off: bool, project: str | None, as_json: bool
) -> None:
    """Give skills to the agent of one session, whatever it is asked.

    Also those that are switched off. The names replace those that were forced before; without
    names, show what is forced.
    """
    if off and names:
        raise UsageError("--off forces none, so no NAME fits.", hint="Leave one of them out.")
    with options.open_wellkept(project) as wk:
        chosen = session or wk.skills.latest_session()
        if names or off:
            wk.skills.force(*names, session=chosen)
        forced = [choice.skill.name for choice in wk.skills.forced(chosen)]
    if as_json:
        output.print_json({"session": chosen, "forced": forced})
        return
    for name in forced:
        click.echo(output.one_line(name))
    output.note(f"{len(forced)} skills are forced in session {chosen}.")


@click.command()
@click.argument("name", type=SKILL)
@options.dry_run_option
@options.yes_option
@options.project_option
@options.json_option
def delete(*, name: str, dry_run: bool, yes: bool, project: str | None, as_json: bool) -> None:
    """Delete a skill and its folder permanently."""
    with options.open_wellkept(project) as wk:
        files = wk.skills.delete(name, dry_run=True)
        if not as_json:
            for file in files:
                click.echo(output.one_line(str(file)))
        if not dry_run:
            output.confirm(f"Delete the skill {name!r} permanently?", yes=yes)
            wk.skills.delete(name)
    if as_json:
        output.print_json({"dry_run": dry_run, "name": name, "files": files})
    else:
        output.note(f"{'Would be deleted' if dry_run else 'Deleted'}: {name}")


@click.command()
@click.argument("names", nargs=-1, type=SKILL, metavar="[NAME]...")
@click.option(
    "--to",
    required=True,
    metavar="CLIENT|FOLDER",
    help=f"Client whose project folder to use ({', '.join(CLIENT_FOLDERS)}), or a folder.",
)
@click.option("--generated", is_flag=True, help="Also export enabled generated skills.")
@click.option("--detected", is_flag=True, help="Also export skills detected for this project.")
@click.option("--overwrite", is_flag=True, help="Overwrite existing skills.")
@options.project_option
@options.json_option
def export(
    *,
    names: tuple[str, ...],
    to: str,
    generated: bool,
    detected: bool,
    overwrite: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Copy skills with their files to a folder, each as NAME/SKILL.md.

    With the name of a client, copies to that client's skill folder in this project.
    """
    with options.open_wellkept(project) as wk:
        folder = wk.skills.export_folder(to)
        # Resolve all names before copying any.
        known = [wk.skills.get(name).name for name in names]
        known += wk.skills.names_to_export(folder, generated=generated, detected=detected)
        if not known:
            raise UsageError("Nothing to export.", hint="Pass the name of a skill.")
        distinct = [*dict.fromkeys(known)]
        targets = [wk.skills.export(name, folder, overwrite=overwrite) for name in distinct]
    if as_json:
        output.print_json({"items": targets})
        return
    for target in targets:
        click.echo(output.one_line(str(target)))


def _print_skill(skill: Skill, verb: str, *, as_json: bool) -> None:
    if as_json:
        output.print_json({"skill": plain_skill(skill)})
        return
    click.echo(output.one_line(f"{verb} {skill.name} ({skill.path or skill.source.name})"))
    print_findings(skill.findings, on_stderr=sys.stdout.isatty())
