"""`wellkept completion`."""

from __future__ import annotations

import click

from wellkept.api.cli.completion.scripts import SCRIPTS


@click.command()
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
def completion(*, shell: str) -> None:
    """Print the completion script for a shell.

    It completes commands, options and choices, ids of memories and sessions, and names of projects,
    skills and clients.

    \b
    bash: eval "$(wellkept completion bash)"   in ~/.bashrc
    zsh:  eval "$(wellkept completion zsh)"    in ~/.zshrc
    fish: wellkept completion fish > ~/.config/fish/completions/wellkept.fish
    """
    click.echo(SCRIPTS[shell], nl=False)
