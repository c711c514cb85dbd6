"""Write: a whole file, new or in place of one that was read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from wellkept.core.errors import UsageError
from wellkept.core.session.events import Edit as EditRecord
from wellkept.core.session.events import ToolKind
from wellkept.core.text import counted
from wellkept_agent.tools.base import Arguments, ToolOutput, TypedTool, checked
from wellkept_agent.tools.context import ToolContext
from wellkept_agent.tools.files.file_text import (
    FileText,
    diff,
    existing_file,
    file_problem,
    save,
    text_to_change,
)
from wellkept_agent.tools.files.permission import edit_request
from wellkept_agent.user import PermissionRequest


class WriteArguments(Arguments):
    """Arguments of Write."""

    file_path: Annotated[str, Field(description="The file, absolute or from the working folder.")]
    content: Annotated[str, Field(description="All of its text.")]


class Write(TypedTool[WriteArguments]):
    """Writes a file in one step; keeps permissions, encoding and line ends of the old one."""

    name = "Write"
    description = (
        "Write a whole file. A file that exists must have been read first and is replaced; prefer"
        " Edit to change a part of it. Missing folders are made."
    )
    kind = ToolKind.WRITE

    def subject(self, context: ToolContext, arguments: Mapping[str, object]) -> str:
        """The path as rules see it."""
        return context.label(context.path(str(arguments.get("file_path", ""))))

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> PermissionRequest:
        """The change, shown as a diff."""
        given = checked(WriteArguments, arguments, tool=self.name)
        path, before, data = _planned(context, given)
        after = data.decode(before.encoding if before else "utf-8", "replace").lstrip("\ufeff")
        shown = context.label(path)
        preview = diff(before.text if before else "", after, shown=shown)
        verb = "create" if before is None else "replace"
        return edit_request(context, self.name, path, f"{verb} {shown}", preview)

    async def run(self, context: ToolContext, arguments: WriteArguments) -> ToolOutput:
        """Write the file."""
        return await asyncio.to_thread(_written, context, arguments)


def _planned(
    context: ToolContext, arguments: WriteArguments
) -> tuple[Path, FileText | None, bytes]:
    """Where to write, what is there, and the bytes to write."""
    path = context.path(arguments.file_path)
    try:
        is_new = not path.exists() and not path.is_symlink()
    except OSError as error:
        raise UsageError(f"Not written. {file_problem(error, arguments.file_path)}") from error
    if is_new:
        if arguments.file_path.endswith("/"):
            raise UsageError(f"{arguments.file_path} names a folder.", hint="Give a file name.")
        return path, None, arguments.content.encode("utf-8", "replace")
    path = existing_file(context, arguments.file_path)
    before = text_to_change(context, path)
    content = arguments.content
    if before.newline == "\r\n" and "\r\n" not in content:
        content = content.replace("\n", "\r\n")
    return path, before, before.encoded(content)


def _written(context: ToolContext, arguments: WriteArguments) -> ToolOutput:
    path, before, data = _planned(context, arguments)
    expected = None if before is None else context.session.reads.stamp(path)
    save(context, path, data, expected=expected)
    shown = context.label(path)
    lines = counted(len(arguments.content.splitlines()), "line")
    old = before.text if before else ""
    same = before is not None and old == arguments.content
    verb = "Unchanged" if same else "Created" if before is None else "Replaced"
    return ToolOutput(
        content=f"{verb}: {shown} ({lines}).",
        display=diff(old, arguments.content, shown=shown),
        files=(str(path),),
        edits=(EditRecord(str(path), old, arguments.content),),
    )
