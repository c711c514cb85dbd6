"""`wellkept edit ID` without options: the content opens in the editor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from wellkept.api.cli import output
from wellkept.core.errors import UsageError

if TYPE_CHECKING:
    import wellkept


def edit(wk: wellkept.Wellkept, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the text of the editor; ends the command when it was left as it is."""
    if len(given) > 1 or len(given.get("ids", ())) != 1:
        return given
    old = wk.get(given["ids"][0]).content
    output.require_editor(alternative="--content")
    try:
        new = click.edit(old + "\n", extension=".md")
    except click.ClickException as error:
        raise UsageError(
            f"The editor failed: {error.message}.", hint="Set EDITOR, or pass --content."
        ) from None
    if new is None or new.strip() == old.strip():
        output.note("Unchanged.")
        raise click.exceptions.Exit(0)
    return {**given, "content": new.strip()}
