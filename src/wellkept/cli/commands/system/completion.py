"""`wellkept completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from wellkept.core.errors import UsageError


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, *, shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash: eval "$(wellkept completion bash)"   in ~/.bashrc
    zsh:  eval "$(wellkept completion zsh)"    in ~/.zshrc
    fish: wellkept completion fish > ~/.config/fish/completions/wellkept.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"No completion available for {shell}.")
    root = ctx.find_root().command
    click.echo(kind(root, {}, "wellkept", "_WELLKEPT_COMPLETE").source())
