"""Glob: files by name pattern, the latest first."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.session.events import ToolKind
from wellkept.core.text import counted
from wellkept.graph.index.source_files import ListedFile, list_files
from wellkept.skills.globs import MAX_GLOB_CHARS, path_matcher
from wellkept_agent.settings import ToolSettings
from wellkept_agent.tools.base import Arguments, ToolContext, ToolOutput, TypedTool
from wellkept_agent.tools.files.file_text import file_problem

# -- The files that Glob and Grep look at: those of the project that no ignore file excludes ------


def files_below(folder: Path, glob: str | None = None) -> list[ListedFile]:
    """Files below a folder, by path; only those that a pattern fits, if one is given."""
    fits = None if glob is None else path_filter(glob)
    return [one for one in list_files(folder) if fits is None or fits(one.path)]


def path_filter(glob: str) -> Callable[[str], bool]:
    """Whether a pattern fits a path: `*.py` at any depth, `src/**/*.{ts,tsx}` from the top."""
    if not glob.strip("/ ") or len(glob) > MAX_GLOB_CHARS:
        raise UsageError(f"{glob[:50]!r} is no usable file pattern.", hint="Such as src/**/*.py.")
    return path_matcher(glob)


class _GlobArguments(Arguments):
    pattern: Annotated[str, Field(description="Such as **/*.py, src/**/*.{ts,tsx} or Makefile.")]
    path: Annotated[
        str | None, Field(description="The folder to look in; the working folder by default.")
    ] = None


class Glob(TypedTool[_GlobArguments]):
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

    async def run(self, context: ToolContext, arguments: _GlobArguments) -> ToolOutput:
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


def _relative(context: ToolContext, arguments: _GlobArguments) -> tuple[str, str | None]:
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


# -- LS and Cwd: what is in a folder, and where the session works ---------------------------------


_MAX_ENTRIES: Final = 500


class _LsArguments(Arguments):
    path: Annotated[str | None, Field(description="The folder; the working folder by default.")] = (
        None
    )
    ignore: Annotated[tuple[str, ...], Field(description="Patterns to leave out.")] = ()
    depth: Annotated[int, Field(ge=1, le=5, description="How many levels to show.")] = 1


class Ls(TypedTool[_LsArguments]):
    """Lists a folder."""

    name = "LS"
    description = "List a folder: folders end with /, files show their size, links their target."
    kind = ToolKind.SEARCH
    read_only = True

    async def run(self, context: ToolContext, arguments: _LsArguments) -> ToolOutput:
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


class _CwdArguments(Arguments):
    path: Annotated[str | None, Field(description="A folder of the project to work in.")] = None


class Cwd(TypedTool[_CwdArguments]):
    """Says where the session works, or moves it."""

    name = "Cwd"
    description = (
        "The working folder and the project's folder. With `path`, work there from now on."
    )

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> None:
        """Moving changes no file."""

    async def run(self, context: ToolContext, arguments: _CwdArguments) -> ToolOutput:
        """Move, if asked to, and say where."""
        if arguments.path is not None:
            context.session.working_directory = folder_of(context, arguments.path)
        return ToolOutput(
            content=f"{context.working_directory}\n(The project is {context.project_root}.)"
        )
