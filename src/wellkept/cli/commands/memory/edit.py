"""`wellkept edit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.app.wiring.keyword_types import EditArgs
from wellkept.cli import options, output
from wellkept.cli.commands.memory.remember import read_payload
from wellkept.core.errors import UsageError
from wellkept.core.types import MemoryType, Scope

if TYPE_CHECKING:
    import wellkept


@click.command()
@click.argument("name", metavar="ID")
@click.option("--content", help="New text; - reads it from standard input. Opens a successor.")
@click.option(
    "--type", type=options.choice(MemoryType), metavar="TYPE", help="New type. Opens a successor."
)
@click.option("--key", help="New key.")
@click.option(
    "--tag", "tags", multiple=True, help="The tags it shall have; an empty one clears them."
)
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="PATH",
    help="The files it shall be tied to; an empty one clears them.",
)
@click.option(
    "--module",
    "modules",
    multiple=True,
    help="The modules it shall be tied to; an empty one clears them.",
)
@click.option("--importance", type=float, help="How much it matters, 0 to 1.")
@click.option("--confidence", type=float, help="How sure it is, 0 to 1.")
@click.option("--scope", type=options.choice(Scope), help="How far it reaches.")
@click.option("--pin/--unpin", "pinned", default=None, help="Pinned memories never fade.")
@click.option("--verify/--unverify", "user_verified", default=None, help="A person vouches for it.")
@click.option(
    "--review/--reviewed", "needs_review", default=None, help="Whether it waits for a look."
)
@click.option("--citation", help="How it is cited.")
@click.option("--half-life", "half_life_days", type=float, help="Days until half forgotten.")
@click.option("--payload", metavar="JSON", help="The typed part, anew.")
@options.project_option
@options.json_option
def edit(*, name: str, project: str | None, as_json: bool, **given: object) -> None:
    """Change a memory.

    New content or a new type closes the memory and opens its successor; anything else is changed
    in place. Without options the content opens in $EDITOR.
    """
    changes = {key: value for key, value in given.items() if value is not None and value != ()}
    if "payload" in changes:
        changes["payload"] = read_payload(str(changes["payload"]))
    if changes.get("content") == "-":
        changes["content"] = output.read_input(["-"], what="content")
    with options.opened(project) as wk:
        if not changes:
            changes = _typed(wk, name)
        changed = wk.edit(name, **EditArgs(**changes)) if changes else wk.get(name)  # type: ignore[typeddict-item]
    if as_json:
        output.print_json({"changed": bool(changes), "memory": changed})
    else:
        output.print_memory_line(changed, mark="changed " if changes else "unchanged ")


def _typed(wk: wellkept.Wellkept, name: str) -> dict[str, object]:
    """The content as the person leaves it in an editor; nothing when it stayed the same."""
    old = wk.get(name).content
    output.require_editor(instead="--content")
    try:
        new = click.edit(old + "\n", extension=".md")
    except click.ClickException as error:
        raise UsageError(
            f"The editor did not work: {error.message}.", hint="Set EDITOR, or give --content."
        ) from None
    same = new is None or new.strip() == old.strip()
    return {} if same else {"content": (new or "").strip()}
