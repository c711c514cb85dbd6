"""Notebooks as text: cells with their ids, sources and text outputs."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, cast
from uuid import uuid4

from pydantic import Field

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.records import record
from wellkept.core.session.events import Edit as EditRecord
from wellkept.core.session.events import ToolKind
from wellkept_agent.permissions import PermissionRequest
from wellkept_agent.tools.base import Arguments, ToolContext, ToolOutput, TypedTool, checked
from wellkept_agent.tools.files.edit import edit_request
from wellkept_agent.tools.files.file_text import (
    FileText,
    diff,
    existing_file,
    save,
    text_to_change,
)

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


# -- NotebookEdit: change, add or remove a cell of a notebook that was read -----------------------


_INDENT = re.compile(r"\{\r?\n( +|\t+)")


class _CellType(StrEnum):
    """What a cell holds."""

    CODE = "code"
    MARKDOWN = "markdown"


class _EditMode(StrEnum):
    """What to do with a cell."""

    REPLACE = "replace"
    INSERT = "insert"
    DELETE = "delete"


class _NotebookEditArguments(Arguments):
    notebook_path: Annotated[str, Field(description="The .ipynb file.")]
    new_source: Annotated[str, Field(description="The cell's text.")] = ""
    cell_id: Annotated[
        str | None,
        Field(description="The cell, as Read names it. With insert, the one to insert after."),
    ] = None
    cell_type: Annotated[_CellType | None, Field(description="code or markdown.")] = None
    edit_mode: Annotated[_EditMode, Field(description="replace, insert or delete.")] = (
        _EditMode.REPLACE
    )


class NotebookEdit(TypedTool[_NotebookEditArguments]):
    """Edits cells; the rest of the notebook keeps its form."""

    name = "NotebookEdit"
    description = (
        "Replace, insert or delete a cell of a Jupyter notebook that was read. Cells are named by"
        " the ids that Read shows; outputs of a changed cell are cleared."
    )
    kind = ToolKind.EDIT

    def subject(self, context: ToolContext, arguments: Mapping[str, object]) -> str:
        """The path as rules see it."""
        return context.label(context.path(str(arguments.get("notebook_path", ""))))

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> PermissionRequest:
        """The change of the cell, shown as a diff."""
        change = _planned(context, checked(_NotebookEditArguments, arguments, tool=self.name))
        shown = context.label(change.path)
        preview = diff(change.old, change.new, shown=f"{shown}#{change.cell}")
        return edit_request(context, self.name, change.path, f"edit {shown}", preview)

    async def run(self, context: ToolContext, arguments: _NotebookEditArguments) -> ToolOutput:
        """Make the change."""
        return await asyncio.to_thread(_edited, context, arguments)


@record
class _Change:
    path: Path
    before: FileText
    after: str
    cell: str
    old: str
    new: str


def _edited(context: ToolContext, arguments: _NotebookEditArguments) -> ToolOutput:
    change = _planned(context, arguments)
    expected = context.session.reads.stamp(change.path)
    save(context, change.path, change.before.encoded(change.after), expected=expected)
    shown = context.label(change.path)
    done = {"replace": "Replaced", "insert": "Inserted", "delete": "Deleted"}
    return ToolOutput(
        content=f"{done[arguments.edit_mode]} cell {change.cell!r} of {shown}.",
        display=diff(change.old, change.new, shown=f"{shown}#{change.cell}"),
        files=(str(change.path),),
        edits=(EditRecord(str(change.path), change.old, change.new),),
    )


def _planned(context: ToolContext, arguments: _NotebookEditArguments) -> _Change:
    path = existing_file(context, arguments.notebook_path)
    shown = context.label(path)
    if path.suffix != ".ipynb":
        raise UsageError(f"{shown} is no notebook.", hint="Use Edit.")
    before = text_to_change(context, path)
    notebook = load_notebook(before.text)
    if notebook is None:
        raise UsageError(f"{shown} is no valid notebook.", hint="Mend it with Edit.")
    name, old, new = _apply(notebook, arguments, shown)
    indent = _INDENT.match(before.text)
    after = json.dumps(
        notebook, indent=indent[1] if indent else None, ensure_ascii=before.text.isascii()
    )
    if before.text.endswith("\n"):
        after += "\n"
    return _Change(path, before, after.replace("\n", before.newline), name, old, new)


def _apply(
    notebook: dict[str, Any], arguments: _NotebookEditArguments, shown: str
) -> tuple[str, str, str]:
    """Change the notebook; returns the cell's id, its old and its new text."""
    cells: list[Any] = notebook["cells"]
    if arguments.edit_mode is _EditMode.INSERT:
        at = 0 if arguments.cell_id is None else _place(notebook, arguments.cell_id, shown) + 1
        if arguments.cell_type is None:
            raise UsageError("To insert a cell, say its cell_type: code or markdown.")
        cell = _new_cell(notebook, arguments.cell_type, arguments.new_source)
        cells.insert(at, cell)
        return cell_id(cell, at), "", arguments.new_source
    if arguments.cell_id is None:
        raise UsageError(f"To {arguments.edit_mode.value} a cell, give its cell_id.")
    at = _place(notebook, arguments.cell_id, shown)
    cell = cells[at]
    old = joined(cell.get("source"))
    if arguments.edit_mode is _EditMode.DELETE:
        del cells[at]
        return arguments.cell_id, old, ""
    kind = arguments.cell_type or _CellType(cell.get("cell_type", "code"))
    cell["cell_type"] = kind.value
    cell["source"] = _lines(arguments.new_source)
    if kind is _CellType.CODE:
        cell["outputs"], cell["execution_count"] = [], None
    else:
        cell.pop("outputs", None)
        cell.pop("execution_count", None)
    return arguments.cell_id, old, arguments.new_source


def _place(notebook: dict[str, Any], wanted: str, shown: str) -> int:
    found = cells_of(notebook)
    for number, cell in enumerate(found):
        if cell_id(cell, number) == wanted:
            return notebook["cells"].index(cell)
    known = ", ".join(cell_id(cell, number) for number, cell in enumerate(found[:20]))
    raise NotFoundError(f"{shown} has no cell {wanted!r}.", hint=f"It has: {known or 'none'}.")


def _new_cell(notebook: dict[str, Any], kind: _CellType, source: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind.value, "metadata": {}, "source": _lines(source)}
    if kind is _CellType.CODE:
        cell |= {"execution_count": None, "outputs": []}
    version = (notebook.get("nbformat", 4), notebook.get("nbformat_minor", 5))
    if version >= (4, 5):  # older versions know no ids
        cell["id"] = uuid4().hex[:8]
    return cell


def _lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)
