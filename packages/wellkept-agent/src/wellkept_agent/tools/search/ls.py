"""LS and Cwd: what is in a folder, and where the session works."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from wellkept.core.errors import UsageError
from wellkept.core.session.events import ToolKind
from wellkept.core.text import counted
from wellkept_agent.tools.base import Arguments, ToolOutput, TypedTool
from wellkept_agent.tools.context import ToolContext
from wellkept_agent.tools.files.file_text import file_problem
from wellkept_agent.tools.search.files import path_filter
from wellkept_agent.tools.search.glob import folder_of

_MAX_ENTRIES: Final = 500


class LsArguments(Arguments):
    """Arguments of LS."""

    path: Annotated[str | None, Field(description="The folder; the working folder by default.")] = (
        None
    )
    ignore: Annotated[tuple[str, ...], Field(description="Patterns to leave out.")] = ()
    depth: Annotated[int, Field(ge=1, le=5, description="How many levels to show.")] = 1


class Ls(TypedTool[LsArguments]):
    """Lists a folder."""

    name = "LS"
    description = "List a folder: folders end with /, files show their size, links their target."
    kind = ToolKind.SEARCH
    read_only = True

    async def run(self, context: ToolContext, arguments: LsArguments) -> ToolOutput:
        """List the folder."""
        folder = folder_of(context, arguments.path)
        filters = [path_filter(pattern) for pattern in arguments.ignore]

        def listed() -> list[str]:
            return list(_entries(folder, folder, filters, arguments.depth))

        try:
            lines = await asyncio.to_thread(listed)
        except OSError as error:
            raise UsageError(file_problem(error, context.label(folder))) from error
        more = len(lines) - _MAX_ENTRIES
        shown = lines[:_MAX_ENTRIES]
        if more > 0:
            shown.append(f"[… {counted(more, 'more entry', 'more entries')}. Use Glob.]")
        head = f"{context.label(folder) if folder != context.project_root.resolve() else folder}/"
        return ToolOutput(
            content="\n".join([head, *shown] if shown else [f"{head} is empty."]),
            query=context.label(folder),
        )


def _entries(
    folder: Path, top: Path, filters: list[Callable[[str], bool]], depth: int, indent: str = "  "
) -> Iterator[str]:
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda one: (not one.is_dir(follow_symlinks=False), one.name))
    for entry in entries:
        path = Path(entry.path)
        if any(fits(path.relative_to(top).as_posix()) for fits in filters):
            continue
        if entry.is_symlink():
            yield f"{indent}{entry.name} -> {path.readlink()}"
        elif entry.is_dir(follow_symlinks=False):
            yield f"{indent}{entry.name}/"
            if depth > 1 and entry.name != ".git":
                try:
                    yield from _entries(path, top, filters, depth - 1, indent + "  ")
                except OSError:
                    yield f"{indent}  [not readable]"
        else:
            yield f"{indent}{entry.name} ({_size(entry)})"


def _size(entry: os.DirEntry[str]) -> str:
    try:
        size = float(entry.stat(follow_symlinks=False).st_size)
    except OSError:
        return "?"
    for unit in ("B", "KB", "MB"):
        if size < 1_000:
            return f"{size:.0f} {unit}"
        size /= 1_000
    return f"{size:.1f} GB"


class CwdArguments(Arguments):
    """Arguments of Cwd."""

    path: Annotated[str | None, Field(description="A folder of the project to work in.")] = None


class Cwd(TypedTool[CwdArguments]):
    """Says where the session works, or moves it."""

    name = "Cwd"
    description = (
        "The working folder and the project's folder. With `path`, work there from now on."
    )

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> None:
        """Moving changes no file."""

    async def run(self, context: ToolContext, arguments: CwdArguments) -> ToolOutput:
        """Move, if asked to, and say where."""
        if arguments.path is not None:
            context.session.working_directory = folder_of(context, arguments.path)
        return ToolOutput(
            content=f"{context.working_directory}\n(The project is {context.project_root}.)"
        )
