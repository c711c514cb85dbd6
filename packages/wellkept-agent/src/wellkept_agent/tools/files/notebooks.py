"""Notebooks as text: cells with their ids, sources and text outputs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, cast

_MAX_OUTPUT_CHARS: Final = 5_000
_TEXT_KINDS: Final = ("text/plain", "text/markdown", "application/json")


def notebook_text(source: str) -> str | None:
    """The cells of a notebook as text; None when it is no notebook, to be read as plain text."""
    notebook = load_notebook(source)
    if notebook is None:
        return None
    metadata = notebook.get("metadata")
    info = cast("dict[str, Any]", metadata).get("language_info") if metadata else None
    language = str(cast("dict[str, Any]", info).get("name", "")) if isinstance(info, dict) else ""
    lines: list[str] = []
    for number, cell in enumerate(cells_of(notebook)):
        kind = str(cell.get("cell_type", "code"))
        about = f" {language}" if kind == "code" and language else ""
        lines.append(f"<cell id={cell_id(cell, number)!r} {kind}{about}>")
        lines.append(joined(cell.get("source")))
        outputs = "\n".join(_outputs(cell))
        if outputs:
            cut = len(outputs) - _MAX_OUTPUT_CHARS
            shown = outputs if cut <= 0 else f"{outputs[:_MAX_OUTPUT_CHARS]}\n[… {cut:,} more]"
            lines += ["<output>", shown, "</output>"]
        lines.append("</cell>")
    return "\n".join(lines) + "\n"


def load_notebook(source: str) -> dict[str, Any] | None:
    """A notebook's JSON; None when it is something else."""
    try:
        found: object = json.loads(source)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    notebook = cast("dict[str, Any]", found)
    return notebook if isinstance(notebook.get("cells"), list) else None


def cells_of(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells that have a usable form."""
    return [cast("dict[str, Any]", cell) for cell in notebook["cells"] if isinstance(cell, dict)]


def cell_id(cell: dict[str, Any], number: int) -> str:
    """A cell's own id, or its position where the format has none."""
    own = cell.get("id")
    return own if isinstance(own, str) and own else f"cell-{number}"


def joined(value: object) -> str:
    """A text that may be written as a list of lines."""
    if isinstance(value, list):
        return "".join(str(part) for part in cast("list[object]", value))
    return value if isinstance(value, str) else ""


def _outputs(cell: dict[str, Any]) -> Iterator[str]:
    found = cell.get("outputs")
    for output in cast("list[object]", found) if isinstance(found, list) else []:
        if not isinstance(output, dict):
            continue
        one = cast("dict[str, Any]", output)
        if "text" in one:
            yield joined(one["text"]).rstrip("\n")
        elif one.get("output_type") == "error":
            yield f"{one.get('ename', 'Error')}: {one.get('evalue', '')}"
        data = one.get("data")
        if isinstance(data, dict):
            yield from _data(cast("dict[str, Any]", data))


def _data(data: dict[str, Any]) -> Iterator[str]:
    text = next((joined(data[kind]) for kind in _TEXT_KINDS if kind in data), "")
    if text:
        yield text.rstrip("\n")
    pictures = [kind for kind in data if kind.startswith("image/")]
    if pictures:
        yield f"[{pictures[0]}]"
