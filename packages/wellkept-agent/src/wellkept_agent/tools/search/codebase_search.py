"""CodebaseSearch: the files that a request or a bug report is about."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Protocol

from pydantic import Field

from wellkept.core.session.events import ToolKind
from wellkept_agent.tools.base import Arguments, ToolOutput, TypedTool
from wellkept_agent.tools.context import ToolContext


class SymbolHit(Protocol):
    """A function or class that a request may mean."""

    @property
    def name(self) -> str: ...

    @property
    def line(self) -> int: ...


class FileHit(Protocol):
    """A file with the reasons why it was found, and the places in it that may be meant."""

    @property
    def path(self) -> str: ...

    @property
    def reasons(self) -> tuple[str, ...]: ...

    @property
    def symbols(self) -> Sequence[SymbolHit]: ...


class FileFinder(Protocol):
    """Finds files by what they are about. Calls block; the tool makes them in a thread."""

    def find(self, request: str, *, limit: int = 10) -> Sequence[FileHit]: ...


class CodebaseSearchArguments(Arguments):
    """Arguments of CodebaseSearch."""

    query: Annotated[str, Field(min_length=1, description="A request, bug report or name.")]
    limit: Annotated[int, Field(ge=1, le=50, description="At most so many files.")] = 10


class CodebaseSearch(TypedTool[CodebaseSearchArguments]):
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

    async def run(self, context: ToolContext, arguments: CodebaseSearchArguments) -> ToolOutput:
        """Search."""
        found = await asyncio.to_thread(self._finder.find, arguments.query, limit=arguments.limit)
        lines = [f"{number}. {_shown(hit)}" for number, hit in enumerate(found, 1)]
        content = "\n".join(lines) or f"No file seems to be about '{arguments.query}'. Try Grep."
        return ToolOutput(content=content, query=arguments.query)


def _shown(hit: FileHit) -> str:
    reasons = f" ({'; '.join(hit.reasons[:3])})" if hit.reasons else ""
    places = ", ".join(f"{one.name} at line {one.line}" for one in hit.symbols[:3])
    return f"{hit.path}{reasons}" + (f"\n   {places}" if places else "")
