"""`wellkept skill add`: agree to a skill from the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.cli import options, output
from wellkept.cli.commands.skills.inspect import plain_skill, print_findings

if TYPE_CHECKING:
    from wellkept.app.skills.remote import FetchedSkill


@click.command()
@click.argument("url")
@click.option("--sha256", "digest", metavar="HEX", help="Agree only to this very document.")
@click.option("--update", is_flag=True, help="Agree to a document that has changed.")
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
    """Fetch a SKILL.md by https, show it, and use exactly this one after a yes.

    The copy is kept with its hash. A document that changes later is not used before you agree to
    it again with --update. Nothing else ever fetches a skill.
    """
    with options.opened(project) as wk:
        offer = wk.skills.fetch_remote(url)
        if not as_json:
            _show(offer)
        if not dry_run:
            if not offer.is_known:
                output.confirm(f"Use this skill from {url}?", yes=yes)
            skill = wk.skills.add_remote(offer, sha256=digest, update=update)
        else:
            skill = offer.skill
    if as_json:
        output.print_json(
            {"dry_run": dry_run, "url": url, "sha256": offer.sha256, "skill": plain_skill(skill)}
        )
    else:
        output.note(f"{'Would be used' if dry_run else 'Used from now on'}: {skill.name}")


def _show(offer: FetchedSkill) -> None:
    skill = offer.skill
    click.echo(output.one_line(f"{skill.name}: {skill.description}"))
    click.echo(f"sha256 {offer.sha256}, {len(offer.data):,} bytes")
    print_findings(skill.findings)
    click.echo()
    click.echo(output.indented(skill.body))
