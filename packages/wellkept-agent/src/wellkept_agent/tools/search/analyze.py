"""Analyze: what a file or folder is, from the code graph."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final, Protocol

from pydantic import Field

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.graph import Neighbours, Node, NodeKind, SourceFile
from wellkept.core.session.events import ToolKind
from wellkept.core.text import counted, shorten
from wellkept_agent.tools.base import Arguments, ToolContext, ToolOutput, TypedTool, failure

_MOST_SYMBOLS: Final = 80
_MOST_FILES: Final = 15


class CodeGraph(Protocol):
    """The code graph of a project. Calls block; the tool makes them in a thread."""

    def files(self) -> Sequence[SourceFile]: ...

    def symbols(self, file: str) -> Sequence[Node]: ...

    @property
    def dependencies(self) -> Callable[..., Neighbours]: ...

    @property
    def dependents(self) -> Callable[..., Neighbours]: ...


class _AnalyzeArguments(Arguments):
    path: Annotated[str, Field(description="A file or folder of the project.")]


class Analyze(TypedTool[_AnalyzeArguments]):
    """Summarises a file or folder without reading it all."""

    name = "Analyze"
    description = (
        "Summarise a file (its symbols with lines, what it uses, what uses it, its tests) or a"
        " folder (languages, largest files, what it depends on), from the code graph."
    )
    kind = ToolKind.SEARCH
    read_only = True

    def __init__(self, graph: CodeGraph) -> None:
        self._graph = graph

    async def run(self, context: ToolContext, arguments: _AnalyzeArguments) -> ToolOutput:
        """Summarise."""
        path = context.path(arguments.path)
        if not path.exists():
            raise NotFoundError(f"{arguments.path} does not exist.", hint="Use Glob to find it.")
        try:
            content = await asyncio.to_thread(self._summary, context, path)
        except NotFoundError as error:
            return failure(f"{error} Read it instead.")
        return ToolOutput(content=content, files=(str(path),) if path.is_file() else ())

    def _summary(self, context: ToolContext, path: Path) -> str:
        root = context.project_root.resolve()
        if not path.is_relative_to(root):
            raise UsageError(f"{path} is not in the project.", hint="Read it instead.")
        name = path.relative_to(root).as_posix()
        files = {one.path: one for one in self._graph.files()}
        if path.is_dir():
            return self._folder("" if name == "." else name, list(files.values()))
        if name not in files:
            raise NotFoundError(f"{name} is not in the code graph.")
        return self._file(files[name])

    def _file(self, file: SourceFile) -> str:
        head = f"{file.path}: {file.language or 'text'}, {counted(file.line_count, 'line')}"
        head += ", a test" if file.is_test else ""
        head += f" ({file.reason})" if file.reason else ""
        symbols = [n for n in self._graph.symbols(file.path) if n.kind is not NodeKind.FILE]
        lines = [head, *map(_symbol, symbols[:_MOST_SYMBOLS])]
        if len(symbols) > _MOST_SYMBOLS:
            lines.append(f"  [… {len(symbols) - _MOST_SYMBOLS} more symbols]")
        uses = self._graph.dependencies(file.path, depth=1)
        users = self._graph.dependents(file.path, depth=1)
        tests = [r.node.path or "" for r in users.direct if r.node.is_test]
        others = [one for one in users.files if one not in tests]
        lines += _names("Uses", uses.files)
        lines += _names("Used by", others)
        lines += _names("Tested by", list(dict.fromkeys(filter(None, tests))))
        return "\n".join(lines)

    def _folder(self, name: str, files: Sequence[SourceFile]) -> str:
        prefix = f"{name}/" if name else ""
        inside = [one for one in files if one.path.startswith(prefix)]
        if not inside:
            raise NotFoundError(f"{name or 'The project'} has no files in the code graph.")
        languages = Counter[str]()
        for one in inside:
            languages[one.language or "other"] += one.line_count
        shares = ", ".join(f"{kind} {lines:,}" for kind, lines in languages.most_common(6))
        total = sum(one.line_count for one in inside)
        tests = sum(one.is_test for one in inside)
        lines = [
            f"{prefix or './'}: {counted(len(inside), 'file')} ({tests} of tests),"
            f" {counted(total, 'line')} ({shares})"
        ]
        parts = Counter(one.path.removeprefix(prefix).split("/")[0] for one in inside)
        folders = [f"{part}/ ({n})" for part, n in parts.most_common() if f"{prefix}{part}" not in
                   {one.path for one in inside}]  # fmt: skip
        lines += _names("Folders", folders)
        largest = sorted(inside, key=lambda one: -one.line_count)
        lines += _names("Largest", [f"{one.path} ({one.line_count:,})" for one in largest])
        if name:
            lines += self._around(name)
        return "\n".join(lines)

    def _around(self, name: str) -> list[str]:
        try:
            uses = self._graph.dependencies(f"{name}/", depth=1)
            users = self._graph.dependents(f"{name}/", depth=1)
        except NotFoundError:
            return []
        outside = [one for one in uses.files if not one.startswith(f"{name}/")]
        using = [one for one in users.files if not one.startswith(f"{name}/")]
        return _names("Uses", outside) + _names("Used by", using)


def _symbol(node: Node) -> str:
    indent = "  " * (1 + node.qualname.count("."))
    what = node.signature or node.name
    return f"{indent}{node.line}: {node.detail or node.kind.value} {shorten(what, limit=150)}"


def _names(title: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    more = len(names) - _MOST_FILES
    shown = ", ".join(names[:_MOST_FILES])
    return [f"{title}: {shown}{f', … {more} more' if more > 0 else ''}"]


# -- CodebaseSearch: the files that a request or a bug report is about ----------------------------


class _SymbolHit(Protocol):
    """A function or class that a request may mean."""

    @property
    def name(self) -> str: ...

    @property
    def line(self) -> int: ...


class _FileHit(Protocol):
    """A file with the reasons why it was found, and the places in it that may be meant."""

    @property
    def path(self) -> str: ...

    @property
    def reasons(self) -> tuple[str, ...]: ...

    @property
    def symbols(self) -> Sequence[_SymbolHit]: ...


class FileFinder(Protocol):
    """Finds files by what they are about. Calls block; the tool makes them in a thread."""

    def find(self, request: str, *, limit: int = 10) -> Sequence[_FileHit]: ...


class _CodebaseSearchArguments(Arguments):
    query: Annotated[str, Field(min_length=1, description="A request, bug report or name.")]
    limit: Annotated[int, Field(ge=1, le=50, description="At most so many files.")] = 10


class CodebaseSearch(TypedTool[_CodebaseSearchArguments]):
    """Searches the project by meaning, names and history."""

    name = "CodebaseSearch"
    description = (
        "Find the files that a request is about, by words, names, meaning and past commits, with"
        " reasons. Use it first when you do not know where something is; Grep for exact text."
    )
    kind = ToolKind.SEARCH
    read_only = True

    def __init__(self, finder: FileFinder) -> None:
        self._finder = finder

    async def run(self, context: ToolContext, arguments: _CodebaseSearchArguments) -> ToolOutput:
        """Search."""
        found = await asyncio.to_thread(self._finder.find, arguments.query, limit=arguments.limit)
        lines = [f"{number}. {_shown(hit)}" for number, hit in enumerate(found, 1)]
        content = "\n".join(lines) or f"No file seems to be about '{arguments.query}'. Try Grep."
        return ToolOutput(content=content, query=arguments.query)


def _shown(hit: _FileHit) -> str:
    reasons = f" ({'; '.join(hit.reasons[:3])})" if hit.reasons else ""
    places = ", ".join(f"{one.name} at line {one.line}" for one in hit.symbols[:3])
    return f"{hit.path}{reasons}" + (f"\n   {places}" if places else "")
