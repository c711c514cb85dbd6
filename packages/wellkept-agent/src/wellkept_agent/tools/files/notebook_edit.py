"""NotebookEdit: change, add or remove a cell of a notebook that was read."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

from pydantic import Field

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.records import record
from wellkept.core.session.events import Edit as EditRecord
from wellkept.core.session.events import ToolKind
from wellkept_agent.tools.base import Arguments, ToolOutput, TypedTool, checked
from wellkept_agent.tools.context import ToolContext
from wellkept_agent.tools.files.file_text import (
    FileText,
    diff,
    existing_file,
    save,
    text_to_change,
)
from wellkept_agent.tools.files.notebooks import cell_id, cells_of, joined, load_notebook
from wellkept_agent.tools.files.permission import edit_request
from wellkept_agent.user import PermissionRequest

_INDENT = re.compile(r"\{\r?\n( +|\t+)")


class CellType(StrEnum):
    """What a cell holds."""

    CODE = "code"
    MARKDOWN = "markdown"


class EditMode(StrEnum):
    """What to do with a cell."""

    REPLACE = "replace"
    INSERT = "insert"
    DELETE = "delete"


class NotebookEditArguments(Arguments):
    """Arguments of NotebookEdit."""

    notebook_path: Annotated[str, Field(description="The .ipynb file.")]
    new_source: Annotated[str, Field(description="The cell's text.")] = ""
    cell_id: Annotated[
        str | None,
        Field(description="The cell, as Read names it. With insert, the one to insert after."),
    ] = None
    cell_type: Annotated[CellType | None, Field(description="code or markdown.")] = None
    edit_mode: Annotated[EditMode, Field(description="replace, insert or delete.")] = (
        EditMode.REPLACE
    )


class NotebookEdit(TypedTool[NotebookEditArguments]):
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
        change = _planned(context, checked(NotebookEditArguments, arguments, tool=self.name))
        shown = context.label(change.path)
        preview = diff(change.old, change.new, shown=f"{shown}#{change.cell}")
        return edit_request(context, self.name, change.path, f"edit {shown}", preview)

    async def run(self, context: ToolContext, arguments: NotebookEditArguments) -> ToolOutput:
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


def _edited(context: ToolContext, arguments: NotebookEditArguments) -> ToolOutput:
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


def _planned(context: ToolContext, arguments: NotebookEditArguments) -> _Change:
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
    notebook: dict[str, Any], arguments: NotebookEditArguments, shown: str
) -> tuple[str, str, str]:
    """Change the notebook; returns the cell's id, its old and its new text."""
    cells: list[Any] = notebook["cells"]
    if arguments.edit_mode is EditMode.INSERT:
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
    if arguments.edit_mode is EditMode.DELETE:
        del cells[at]
        return arguments.cell_id, old, ""
    kind = arguments.cell_type or CellType(cell.get("cell_type", "code"))
    cell["cell_type"] = kind.value
    cell["source"] = _lines(arguments.new_source)
    if kind is CellType.CODE:
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


def _new_cell(notebook: dict[str, Any], kind: CellType, source: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind.value, "metadata": {}, "source": _lines(source)}
    if kind is CellType.CODE:
        cell |= {"execution_count": None, "outputs": []}
    version = (notebook.get("nbformat", 4), notebook.get("nbformat_minor", 5))
    if version >= (4, 5):  # older versions know no ids
        cell["id"] = uuid4().hex[:8]
    return cell


def _lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)
