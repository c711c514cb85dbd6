"""`wellkept edit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.memory.remember import read_payload
from wellkept.api.cli.names import MEMORY
from wellkept.core.errors import UsageError
from wellkept.core.types import MemoryType, Scope
from wellkept.memory.arguments import EditArgs

if TYPE_CHECKING:
    import wellkept


@click.command()
@click.argument("name", metavar="ID", type=MEMORY)
@click.option("--content", help="New text; - reads standard input. Creates a successor.")
@click.option(
    "--type", type=options.choice(MemoryType), metavar="TYPE", help="New type. Creates a successor."
)
@click.option("--key", help="New key.")
@click.option("--tag", "tags", multiple=True, help="New tags; an empty value removes all.")
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="PATH",
    help="New linked files; an empty value removes all.",
)
@click.option(
    "--module",
    "modules",
    multiple=True,
    help="New linked modules; an empty value removes all.",
)
@click.option("--importance", type=float, help="Importance, 0 to 1.")
@click.option("--confidence", type=float, help="Confidence, 0 to 1.")
@click.option("--scope", type=options.choice(Scope), help="New scope.")
@click.option("--pin/--unpin", "pinned", default=None, help="Pinned memories do not decay.")
@click.option(
    "--verify/--unverify", "user_verified", default=None, help="Mark as verified by a person."
)
@click.option("--review/--reviewed", "needs_review", default=None, help="Mark as needing review.")
@click.option("--citation", help="Citation label.")
@click.option(
    "--half-life", "half_life_days", type=float, help="Half-life of the importance in days."
)
@click.option("--payload", metavar="JSON", help="New payload.")
@options.project_option
@options.json_option
def edit(*, name: str, project: str | None, as_json: bool, **fields: object) -> None:
    """Change a memory.

    New content or a new type closes the memory and creates a successor. Other fields change in
    place. Without options, the content opens in $EDITOR.
    """
    changes = {key: value for key, value in fields.items() if value is not None and value != ()}
    if "payload" in changes:
        changes["payload"] = read_payload(str(changes["payload"]))
    if changes.get("content") == "-":
        changes["content"] = output.read_input(["-"], what="content")
    with options.open_wellkept(project) as wk:
        if not changes:
            changes = _edited_content(wk, name)
        changed = wk.edit(name, **EditArgs(**changes)) if changes else wk.get(name)  # type: ignore[typeddict-item]
    if as_json:
        output.print_json({"changed": bool(changes), "memory": changed})
    else:
        output.print_memory_line(changed, mark="changed " if changes else "unchanged ")


def _edited_content(wk: wellkept.Wellkept, name: str) -> dict[str, object]:
    """The content from the editor; empty when unchanged."""
    old = wk.get(name).content
    output.require_editor(alternative="--content")
    try:
        new = click.edit(old + "\n", extension=".md")
    except click.ClickException as error:
        raise UsageError(
            f"The editor failed: {error.message}.", hint="Set EDITOR, or pass --content."
        ) from None
    same = new is None or new.strip() == old.strip()
    return {} if same else {"content": (new or "").strip()}
