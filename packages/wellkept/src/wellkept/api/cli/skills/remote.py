"""`wellkept skill add`: add a skill from a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.skills.inspect import plain_skill, print_findings

if TYPE_CHECKING:
    from wellkept.skills.library.remote import FetchedSkill


@click.command()
@click.argument("url")
@click.option("--sha256", "digest", metavar="HEX", help="Accept only a document with this hash.")
@click.option("--update", is_flag=True, help="Accept a changed document.")
@options.dry_run_option
@options.yes_option
@options.project_option
@options.json_option
def add(
    *,
    url: str,
    digest: str | None,
    update: bool,
    dry_run: bool,
    yes: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Fetch a SKILL.md over https, show it, and add it after confirmation.

    The copy is stored with its hash. A changed document is used only after you confirm it with
    --update. No other command fetches skills.
    """
    with options.open_wellkept(project) as wk:
        fetched = wk.skills.fetch_remote(url)
        if not as_json:
            _show(fetched)
        if not dry_run:
            if not fetched.is_known:
                output.confirm(f"Use this skill from {url}?", yes=yes)
            skill = wk.skills.add_remote(fetched, sha256=digest, update=update)
        else:
            skill = fetched.skill
    if as_json:
        output.print_json(
            {"dry_run": dry_run, "url": url, "sha256": fetched.sha256, "skill": plain_skill(skill)}
        )
    else:
        output.note(f"{'Would be added' if dry_run else 'Added'}: {skill.name}")


def _show(fetched: FetchedSkill) -> None:
    skill = fetched.skill
    click.echo(output.one_line(f"{skill.name}: {skill.description}"))
    click.echo(f"sha256 {fetched.sha256}, {len(fetched.data):,} bytes")
    print_findings(skill.findings)
    click.echo()
    click.echo(output.indented(skill.body))
