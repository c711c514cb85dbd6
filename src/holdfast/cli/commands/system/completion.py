"""`holdfast completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from holdfast.core.errors import UsageError


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, *, shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash: eval "$(holdfast completion bash)"   in ~/.bashrc
    zsh:  eval "$(holdfast completion zsh)"    in ~/.zshrc
    fish: holdfast completion fish > ~/.config/fish/completions/holdfast.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"There is no completion for {shell}.")
    root = ctx.find_root().command
    click.echo(kind(root, {}, "holdfast", "_HOLDFAST_COMPLETE").source())
