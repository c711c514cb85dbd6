"""Grep: lines, files or counts that a regular expression finds."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from enum import StrEnum
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, cast

from pydantic import Field

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.languages import extensions_by_short_name
from wellkept.core.records import record
from wellkept.core.session.events import ToolKind
from wellkept.graph.index.source_files import ListedFile, stat_file
from wellkept_agent.settings import ToolSettings
from wellkept_agent.tools.base import Arguments, ToolContext, ToolOutput, TypedTool, failure
from wellkept_agent.tools.search.glob import files_below, path_filter

# -- Searching files for a regular expression: with ripgrep when it is there, else in Python ------


_SCRIPT: Final = Path(__file__).with_name("grep_script.py")
_FILES_PER_CALL: Final = 500
_LINE_BYTES: Final = 64 << 20
_SNIFFED_BYTES: Final = 8_192


@record(kw_only=True)
class Search:
    """What to look for. `most` bounds the matches of each file; 0 is no bound."""

    pattern: str
    folder: Path
    files: tuple[str, ...]
    ignore_case: bool = False
    multiline: bool = False
    before: int = 0
    after: int = 0
    most: int = 0


@record
class _FoundLine:
    """A line of a file; `is_match` is False for lines shown around a match."""

    path: str
    number: int
    text: str
    is_match: bool


class _RefusedError(Exception):
    """ripgrep does not take the pattern."""


def find_ripgrep() -> str | None:
    """The program, when it is installed."""
    return shutil.which("rg")


async def found_lines(search: Search, ripgrep: str | None) -> AsyncGenerator[_FoundLine]:
    """Lines in the order of the files."""
    if ripgrep is not None and not search.multiline:
        try:
            async with aclosing(_by_ripgrep(search, ripgrep)) as lines:
                async for line in lines:
                    yield line
        except _RefusedError:
            pass
        else:
            return
    async with aclosing(_by_python(search)) as lines:
        async for line in lines:
            yield line


async def _by_ripgrep(search: Search, program: str) -> AsyncGenerator[_FoundLine]:
    options = ["--no-config", "--json", "--no-messages", "--threads=1", "--crlf", "--no-ignore"]
    options += ["--text"]
    options += [f"-B{search.before}", f"-A{search.after}"]
    options += ["-i"] if search.ignore_case else ["-s"]
    options += ["-m", str(search.most)] if search.most else []
    for start in range(0, len(search.files), _FILES_PER_CALL):
        names = search.files[start : start + _FILES_PER_CALL]
        waiting: list[_FoundLine] = []
        command = [program, *options, "-e", search.pattern, "--", *names]
        async with aclosing(_output(command, search.folder, refuses=start == 0)) as output:
            async for raw in output:
                event = cast("dict[str, Any]", json.loads(raw))
                kind, data = event["type"], event["data"]
                if kind in ("match", "context"):
                    waiting += _lines(data, is_match=kind == "match")
                elif kind == "end" and waiting:
                    if not _is_binary(search.folder / waiting[0].path):
                        for line in waiting:
                            yield line
                    waiting = []


def _is_binary(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(_SNIFFED_BYTES)
    except OSError:
        return True
    return not head.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" in head


def _lines(data: dict[str, Any], *, is_match: bool) -> list[_FoundLine]:
    path, text = _text(data["path"]), _text(data["lines"])
    first: int = data["line_number"]
    text = text.removesuffix("\n").removesuffix("\r")
    return [
        _FoundLine(path, first + n, line.removesuffix("\r"), is_match)
        for n, line in enumerate(text.split("\n"))
    ]


def _text(value: dict[str, str]) -> str:
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode("utf-8", "replace")


async def _by_python(search: Search) -> AsyncGenerator[_FoundLine]:
    job = {
        "pattern": search.pattern,
        "folder": str(search.folder),
        "files": search.files,
        "ignore_case": search.ignore_case,
        "multiline": search.multiline,
        "before": search.before,
        "after": search.after,
        "most": search.most,
    }
    command = [sys.executable, "-I", "-S", str(_SCRIPT)]
    output = _output(command, search.folder, stdin=json.dumps(job).encode())
    async with aclosing(output) as lines:
        async for raw in lines:
            found: object = json.loads(raw)
            if isinstance(found, dict):
                problem = cast("dict[str, str]", found)["problem"]
                raise UsageError(
                    f"'{search.pattern}' is no valid regular expression: {problem}.",
                    hint="Put a backslash before characters such as ( [ { * + ? . to mean them.",
                )
            number, line, text, is_match = cast("tuple[int, int, str, bool]", found)
            yield _FoundLine(search.files[number], line, text, is_match)


async def _output(
    command: Sequence[str], folder: Path, *, stdin: bytes = b"", refuses: bool = False
) -> AsyncGenerator[bytes]:
    """The lines of a program's output. Ends the program when nobody wants more."""
    process = await asyncio.create_subprocess_exec(
        *map(os.fsencode, command),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=_LINE_BYTES,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    feeding = asyncio.ensure_future(_fed(process.stdin, stdin))
    try:
        async for line in process.stdout:
            yield line
        code = await process.wait()
        if refuses and code == 2:
            raise _RefusedError
    finally:
        feeding.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _fed(stream: asyncio.StreamWriter, data: bytes) -> None:
    try:
        stream.write(data)
        await stream.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        stream.close()


_MAX_FILE_BYTES: Final = 10_000_000
_MAX_LINE_CHARS: Final = 500
_ALSO: Final = {"cpp": (".h",)}
_TEXTS: Final = {
    "json": "*.json", "md": "*.{md,markdown,mdx}", "toml": "*.toml", "txt": "*.txt",
    "xml": "*.xml", "yaml": "*.{yaml,yml}",
}  # fmt: skip


@cache
def _types() -> dict[str, str]:
    """The kinds of files that a search can be kept to, each with its pattern."""
    endings = extensions_by_short_name().items()
    found = {
        name: "*.{" + ",".join(one[1:] for one in (*several, *_ALSO.get(name, ()))) + "}"
        for name, several in endings
    }
    return dict(sorted((found | _TEXTS).items()))


class _OutputMode(StrEnum):
    CONTENT = "content"
    FILES = "files_with_matches"
    COUNT = "count"


class _GrepArguments(Arguments):
    pattern: Annotated[str, Field(description="A regular expression.")]
    path: Annotated[str | None, Field(description="A file or folder to search in.")] = None
    glob: Annotated[str | None, Field(description="Only files such as *.py or src/**.")] = None
    type: Annotated[str | None, Field(description="Only files of a kind: py, js, rust, …")] = None
    output_mode: Annotated[_OutputMode, Field()] = _OutputMode.FILES
    ignore_case: Annotated[bool, Field(alias="-i")] = False
    numbers: Annotated[bool, Field(alias="-n")] = True
    after: Annotated[int, Field(alias="-A", ge=0, le=100)] = 0
    before: Annotated[int, Field(alias="-B", ge=0, le=100)] = 0
    around: Annotated[int, Field(alias="-C", ge=0, le=100)] = 0
    multiline: Annotated[bool, Field(description="Let a match span lines.")] = False
    head_limit: Annotated[int | None, Field(ge=1, description="At most so many lines.")] = None
    offset: Annotated[int, Field(ge=0, description="Leave out so many lines first.")] = 0


class Grep(TypedTool[_GrepArguments]):
    """Searches file contents."""

    name = "Grep"
    description = (
        "Search file contents with a regular expression: matching files (default), lines with"
        " output_mode=content, or counts. -i, -n, -A, -B and -C are those of grep. Ignored and"
        " binary files are left out."
    )
    kind = ToolKind.SEARCH
    read_only = True

    def __init__(
        self, settings: ToolSettings | None = None, *, ripgrep: str | None = "auto"
    ) -> None:
        self._settings = settings or ToolSettings()
        self._ripgrep = find_ripgrep() if ripgrep == "auto" else ripgrep

    async def run(self, context: ToolContext, arguments: _GrepArguments) -> ToolOutput:
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

    async def _searched(self, context: ToolContext, arguments: _GrepArguments) -> str:
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
            before=max(arguments.before, arguments.around) if mode is _OutputMode.CONTENT else 0,
            after=max(arguments.after, arguments.around) if mode is _OutputMode.CONTENT else 0,
            most={_OutputMode.FILES: 1, _OutputMode.COUNT: 0}.get(
                mode, most + arguments.offset + 1
            ),
        )
        async with aclosing(found_lines(search, self._ripgrep)) as found:
            if mode is _OutputMode.CONTENT:
                lines = await _content(context, folder, found, arguments, most)
            else:
                counts = Counter[str]()
                async for line in found:
                    counts[line.path] += line.is_match
                if mode is _OutputMode.COUNT:
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


def _files(context: ToolContext, arguments: _GrepArguments) -> tuple[Path, list[ListedFile]]:
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
        kinds = _types().get(arguments.type.lower().lstrip("."))
        if kinds is None:
            raise UsageError(
                f"Unknown type {arguments.type!r}.", hint=f"There are: {', '.join(_types())}."
            )
        fits = path_filter(kinds)
        files = [one for one in files if fits(one.path)]
    return folder, files


async def _content(
    context: ToolContext,
    folder: Path,
    found: AsyncIterator[_FoundLine],
    arguments: _GrepArguments,
    most: int,
) -> list[str]:
    """Lines as ripgrep prints them, with the way to go on when there are more."""
    shown: list[str] = []
    previous: _FoundLine | None = None
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


def _line(context: ToolContext, folder: Path, line: _FoundLine, *, numbers: bool) -> str:
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


def _nothing(arguments: _GrepArguments, count: int) -> str:
    where = f" in {arguments.path}" if arguments.path else ""
    only = f" (only {arguments.glob or arguments.type})" if arguments.glob or arguments.type else ""
    return f"No match for '{arguments.pattern}' in {count:,} files{where}{only}."
