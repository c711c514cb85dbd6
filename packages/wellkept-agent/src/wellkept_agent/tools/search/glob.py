"""Glob: files by name pattern, the latest first."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from pydantic import Field

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.session.events import ToolKind
from wellkept_agent.tools.base import Arguments, ToolOutput, TypedTool
from wellkept_agent.tools.context import ToolContext
from wellkept_agent.tools.search.files import files_below
from wellkept_agent.tools.settings import ToolSettings


class GlobArguments(Arguments):
    """Arguments of Glob."""

    pattern: Annotated[str, Field(description="Such as **/*.py, src/**/*.{ts,tsx} or Makefile.")]
    path: Annotated[
        str | None, Field(description="The folder to look in; the working folder by default.")
    ] = None


class Glob(TypedTool[GlobArguments]):
    """Lists files that a pattern fits."""

    name = "Glob"
    description = (
        "Find files by name pattern, latest change first. Files that .gitignore excludes are left"
        " out unless `path` lies inside of what is excluded."
    )
    kind = ToolKind.SEARCH
    read_only = True

    def __init__(self, settings: ToolSettings | None = None) -> None:
        self._settings = settings or ToolSettings()

    async def run(self, context: ToolContext, arguments: GlobArguments) -> ToolOutput:
        """Find the files."""
        pattern, given = _relative(context, arguments)
        folder = folder_of(context, given)
        found = await asyncio.to_thread(files_below, folder, pattern)
        found.sort(key=lambda one: (-one.mtime_ns, one.path))
        most = self._settings.glob_results
        lines = [context.label(folder / one.path) for one in found[:most]]
        if not lines:
            lines = [
                f"No file fits '{arguments.pattern}' in {context.label(folder)}. (Ignored files are"
                " left out; name their folder in `path` to look there.)"
            ]
        elif len(found) > most:
            lines.append(f"[{most} of {len(found):,} files. Narrow the pattern to see others.]")
        return ToolOutput(content="\n".join(lines), query=arguments.pattern)


def folder_of(context: ToolContext, given: str | None) -> Path:
    """The folder to search; the working folder by default."""
    if given is None or not given.strip():
        return context.working_directory.resolve()
    folder = context.path(given)
    if not folder.exists():
        raise NotFoundError(f"{given} does not exist.", hint="Use LS to see what is there.")
    if not folder.is_dir():
        raise UsageError(f"{given} is a file, not a folder.", hint="Name its folder.")
    return folder


def _relative(context: ToolContext, arguments: GlobArguments) -> tuple[str, str | None]:
    """Pattern and folder; an absolute pattern is split at its first wildcard."""
    pattern = arguments.pattern
    if not pattern.startswith(("/", "~")) or arguments.path is not None:
        return pattern, arguments.path
    parts = Path(pattern).expanduser().parts
    fixed = next((n for n, part in enumerate(parts) if any(c in part for c in "*?[{")), -1)
    fixed = len(parts) - 1 if fixed < 0 else fixed
    folder = Path(*parts[:fixed])
    if not folder.is_dir() or folder == Path(folder.root):
        return pattern, None
    return "/" + "/".join(parts[fixed:]), str(context.path(str(folder)))
