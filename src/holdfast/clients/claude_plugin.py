"""Claude Code's plugin folder: the same hooks as in its settings, and slash commands.

The folder holds this machine's paths, so it is written where it is used and not shared. It takes
the place of hooks in the settings: with both, every event would be caught twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from holdfast import __version__
from holdfast.clients import jsonc
from holdfast.clients.hook_entries import Handler
from holdfast.clients.install_files import read_snapshot, write_file
from holdfast.clients.install_targets import CLAUDE_CODE
from holdfast.clients.jsonc import BrokenJsonError, Json
from holdfast.core.errors import ConflictError

NAME: Final = "holdfast"
COMMANDS: Final = ("remember", "recall", "forget", "memory")
_MANIFEST: Final = ".claude-plugin/plugin.json"
_PROGRAM_MARK: Final = "__HOLDFAST__"


def write_plugin(
    folder: Path, *, command: Sequence[str], program: str, windows: bool = False
) -> list[Path]:
    """Write the plugin, or bring it up to date; returns its files.

    `command` starts the hook, `program` is how slash commands call Holdfast. ConflictError when
    the folder holds something else.
    """
    if folder.exists() and not _is_ours(folder):
        raise ConflictError(
            f"{folder} is there and is not Holdfast's plugin.", hint="Name another folder."
        )
    written: list[Path] = []
    for name, text in _contents(command, program, windows=windows):
        path = folder / name
        write_file(read_snapshot(path), text.encode("utf-8"))
        written.append(path)
    return written


def _is_ours(folder: Path) -> bool:
    if folder.is_dir() and not any(folder.iterdir()):
        return True
    try:
        manifest = jsonc.plain(jsonc.parse(read_snapshot(folder / _MANIFEST).text))
    except BrokenJsonError:
        return False
    return isinstance(manifest, dict) and manifest.get("name") == NAME


def _contents(command: Sequence[str], program: str, *, windows: bool) -> Iterator[tuple[str, str]]:
    """The plugin's files: path in the folder, and text. The manifest is last, as the seal."""
    template = files("holdfast.clients") / "data" / "claude_plugin"
    manifest: dict[str, Json] = json.loads((template / "plugin.json").read_text("utf-8"))
    yield "hooks/hooks.json", _as_text({"hooks": _hooks(command, windows=windows)})
    for name in (*(f"commands/{slash}.md" for slash in COMMANDS), "README.md"):
        text = template.joinpath(*name.split("/")).read_text("utf-8")
        yield name, text.replace(_PROGRAM_MARK, program)
    description = manifest["description"]
    listed: dict[str, Json] = {"name": NAME, "source": "./", "description": description}
    market: dict[str, Json] = {
        "name": NAME,
        "description": description,
        "owner": {"name": "Holdfast"},
        "plugins": [listed],
    }
    yield ".claude-plugin/marketplace.json", _as_text(market)
    yield _MANIFEST, _as_text(manifest | {"version": __version__})


def _hooks(command: Sequence[str], *, windows: bool) -> dict[str, Json]:
    by_event: dict[str, list[Handler]] = {}
    for event, entry in CLAUDE_CODE.entries(command, windows=windows):
        by_event.setdefault(event, []).append(entry)
    return {event: list[Json](entries) for event, entries in by_event.items()}


def _as_text(value: Json) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
