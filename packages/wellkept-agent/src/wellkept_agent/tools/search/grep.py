"""Grep: lines, files or counts that a regular expression finds."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.session.events import ToolKind
from wellkept.graph.index.source_files import ListedFile, stat_file
from wellkept_agent.tools.base import Arguments, ToolOutput, TypedTool, failure
from wellkept_agent.tools.context import ToolContext
from wellkept_agent.tools.search.files import files_below, path_filter
from wellkept_agent.tools.search.grep_engines import FoundLine, Search, find_ripgrep, found_lines
from wellkept_agent.tools.settings import ToolSettings

_MAX_FILE_BYTES: Final = 10_000_000
_MAX_LINE_CHARS: Final = 500
_TYPES: Final = {
    "c": "*.{c,h}", "cpp": "*.{cc,cpp,cxx,hpp,hh,hxx,h}", "cs": "*.cs", "css": "*.{css,scss,less}",
    "go": "*.go", "html": "*.{html,htm}", "java": "*.java", "js": "*.{js,mjs,cjs,jsx}",
    "json": "*.json", "kotlin": "*.{kt,kts}", "lua": "*.lua", "md": "*.{md,markdown,mdx}",
    "php": "*.php", "py": "*.{py,pyi}", "ruby": "*.{rb,rake}", "rust": "*.rs",
    "sh": "*.{sh,bash,zsh}", "sql": "*.sql", "swift": "*.swift", "toml": "*.toml",
    "ts": "*.{ts,tsx,mts,cts}", "txt": "*.txt", "xml": "*.xml", "yaml": "*.{yaml,yml}",
}  # fmt: skip


class OutputMode(StrEnum):
    """What Grep gives."""

    CONTENT = "content"
    FILES = "files_with_matches"
    COUNT = "count"


class GrepArguments(Arguments):
    """Arguments of Grep; the dashed names are those of ripgrep."""

    pattern: Annotated[str, Field(description="A regular expression.")]
    path: Annotated[str | None, Field(description="A file or folder to search in.")] = None
    glob: Annotated[str | None, Field(description="Only files such as *.py or src/**.")] = None
    type: Annotated[str | None, Field(description="Only files of a kind: py, js, rust, …")] = None
    output_mode: Annotated[
        OutputMode, Field(description="content, files_with_matches or count.")
    ] = OutputMode.FILES
    ignore_case: Annotated[bool, Field(alias="-i", description="Ignore case.")] = False
    numbers: Annotated[bool, Field(alias="-n", description="Line numbers, with content.")] = True
    after: Annotated[int, Field(alias="-A", ge=0, le=100, description="Lines after.")] = 0
    before: Annotated[int, Field(alias="-B", ge=0, le=100, description="Lines before.")] = 0
    around: Annotated[int, Field(alias="-C", ge=0, le=100, description="Lines around.")] = 0
    multiline: Annotated[
        bool, Field(description="Let a match span lines, and . match line ends.")
    ] = False
    head_limit: Annotated[int | None, Field(ge=1, description="At most so many lines.")] = None
    offset: Annotated[int, Field(ge=0, description="Leave out so many lines first.")] = 0


class Grep(TypedTool[GrepArguments]):
    """Searches file contents."""

    name = "Grep"
    description = (
        "Search file contents with a regular expression: matching files (default), lines with"
        " output_mode=content, or counts. Narrow with path, glob or type. Ignored and binary files"
        " are left out."
    )
    kind = ToolKind.SEARCH
    read_only = True

    def __init__(
        self, settings: ToolSettings | None = None, *, ripgrep: str | None = "auto"
    ) -> None:
        self._settings = settings or ToolSettings()
        self._ripgrep = find_ripgrep() if ripgrep == "auto" else ripgrep

    async def run(self, context: ToolContext, arguments: GrepArguments) -> ToolOutput:
        """Search, within the time limit."""
        if not arguments.pattern:
            raise UsageError("The pattern is empty.")
        if "\0" in arguments.pattern:
            raise UsageError("The pattern contains a NUL character.")
        limit_s = self._settings.search_timeout_s
        try:
            content = await asyncio.wait_for(self._searched(context, arguments), limit_s)
        except TimeoutError:
            return failure(
                f"The search took longer than {limit_s:g} s. Narrow it with path or glob, or use a"
                " simpler pattern."
            )
        return ToolOutput(content=content, query=arguments.pattern)

    async def _searched(self, context: ToolContext, arguments: GrepArguments) -> str:
        folder, files = await asyncio.to_thread(_files, context, arguments)
        searched = [one.path for one in files if one.size_bytes <= _MAX_FILE_BYTES]
        most = arguments.head_limit or self._settings.grep_results
        mode = arguments.output_mode
        search = Search(
            pattern=arguments.pattern,
            folder=folder,
            files=tuple(searched),
            ignore_case=arguments.ignore_case,
            multiline=arguments.multiline,
            before=max(arguments.before, arguments.around) if mode is OutputMode.CONTENT else 0,
            after=max(arguments.after, arguments.around) if mode is OutputMode.CONTENT else 0,
            most={OutputMode.FILES: 1, OutputMode.COUNT: 0}.get(mode, most + arguments.offset + 1),
        )
        async with aclosing(found_lines(search, self._ripgrep)) as found:
            if mode is OutputMode.CONTENT:
                lines = await _content(context, folder, found, arguments, most)
            else:
                counts = Counter[str]()
                async for line in found:
                    counts[line.path] += line.is_match
                if mode is OutputMode.COUNT:
                    lines = [f"{_label(context, folder, p)}:{n}" for p, n in counts.items()]
                    total = f"[{sum(counts.values()):,} lines in {len(counts):,} files.]"
                    lines = _page(lines, arguments.offset, most) + ([total] if counts else [])
                else:
                    newest = sorted(files, key=lambda one: (-one.mtime_ns, one.path))
                    names = (one.path for one in newest if counts[one.path])
                    lines = [_label(context, folder, name) for name in names]
                    lines = _page(lines, arguments.offset, most)
        skipped = len(files) - len(searched)
        if skipped:
            lines.append(f"[{skipped} files over {_MAX_FILE_BYTES // 1_000_000} MB were skipped.]")
        return "\n".join(lines) or _nothing(arguments, len(searched))


def _files(context: ToolContext, arguments: GrepArguments) -> tuple[Path, list[ListedFile]]:
    """The folder to search and the files in it, by path."""
    given = arguments.path
    start = context.path(given) if given else context.working_directory.resolve()
    if not start.exists():
        raise NotFoundError(f"{given} does not exist.", hint="Use Glob to find it.")
    if start.is_dir():
        folder, files = start, files_below(start, arguments.glob)
    else:
        folder = start.parent
        one = stat_file(folder, start.name)
        files = [one] if one is not None else []
    if arguments.type is not None:
        kinds = _TYPES.get(arguments.type.lower().lstrip("."))
        if kinds is None:
            raise UsageError(
                f"Unknown type {arguments.type!r}.", hint=f"There are: {', '.join(_TYPES)}."
            )
        fits = path_filter(kinds)
        files = [one for one in files if fits(one.path)]
    return folder, files


async def _content(
    context: ToolContext,
    folder: Path,
    found: AsyncIterator[FoundLine],
    arguments: GrepArguments,
    most: int,
) -> list[str]:
    """Lines as ripgrep prints them, with the way to go on when there are more."""
    shown: list[str] = []
    previous: FoundLine | None = None
    has_context = bool(arguments.before or arguments.after or arguments.around)
    async for line in found:
        is_next = previous is not None and previous.path == line.path
        is_next = is_next and previous is not None and previous.number + 1 == line.number
        if has_context and previous is not None and not is_next:
            shown.append("--")
        shown.append(_line(context, folder, line, numbers=arguments.numbers))
        previous = line
        if len(shown) > arguments.offset + most:
            break
    return _page(shown, arguments.offset, most, is_open=len(shown) > arguments.offset + most)


def _line(context: ToolContext, folder: Path, line: FoundLine, *, numbers: bool) -> str:
    mark = ":" if line.is_match else "-"
    text = line.text
    if len(text) > _MAX_LINE_CHARS:
        text = f"{text[:_MAX_LINE_CHARS]} [… {len(text) - _MAX_LINE_CHARS:,} more]"
    number = f"{line.number}{mark}" if numbers else ""
    return f"{_label(context, folder, line.path)}{mark}{number}{text}"


def _label(context: ToolContext, folder: Path, name: str) -> str:
    return context.label(folder / name)


def _page(lines: Iterable[str], offset: int, most: int, *, is_open: bool = False) -> list[str]:
    every = list(lines)
    page = list(islice(every, offset, offset + most))
    if is_open:
        page.append(f"[More lines follow: offset={offset + most}, or narrow the search.]")
    elif len(every) > offset + most:
        page.append(f"[{most} of {len(every):,}. Go on with offset={offset + most}.]")
    return page


def _nothing(arguments: GrepArguments, count: int) -> str:
    where = f" in {arguments.path}" if arguments.path else ""
    only = f" (only {arguments.glob or arguments.type})" if arguments.glob or arguments.type else ""
    return f"No match for '{arguments.pattern}' in {count:,} files{where}{only}."
