"""The code search operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field

from wellkept.api.operations.inputs import Input, Model
from wellkept.api.operations.outputs import Output

if TYPE_CHECKING:
    from wellkept.api import Wellkept


class SearchCodeInput(Input):
    """A question for files."""

    query: str = Field(
        min_length=1, max_length=20_000, description="A bug report, a task, a name, a question."
    )
    limit: int = Field(default=8, ge=1, le=50)


class FoundSymbolOutput(Model):
    """A function or class of the file that the question may be about."""

    name: str
    kind: str
    line: int
    end_line: int
    signature: str
    summary: str = Field(description="First line of its description, if it has one.")


class FoundFileOutput(Model):
    """A file that the question may be about."""

    path: str
    score: float
    why: list[str]
    symbols: list[FoundSymbolOutput] = Field(
        default_factory=list[FoundSymbolOutput],
        description="Its functions and classes that fit best.",
    )
    commits: list[str] = Field(default_factory=list, description="Past commits that speak for it.")


class SearchCodeOutput(Output):
    """Files, the likeliest first."""

    files: list[FoundFileOutput]

    def text(self) -> str:
        if not self.files:
            return "No file of this project speaks of that. Try other words."
        return "\n".join(line for file in self.files for line in _lines(file))


def _lines(file: FoundFileOutput) -> Iterator[str]:
    yield f"{file.path}  ({', '.join(file.why)})"
    for symbol in file.symbols:
        said = f"  {symbol.summary}" if symbol.summary else ""
        yield f"  {file.path}:{symbol.line} {symbol.name}{said}"


def search_code(wk: Wellkept, request: SearchCodeInput) -> SearchCodeOutput:
    """The files that a question is about, with their functions."""
    return SearchCodeOutput(
        files=[
            FoundFileOutput(
                path=hit.path,
                score=hit.score,
                why=list(hit.reasons),
                symbols=[
                    FoundSymbolOutput(
                        name=symbol.name,
                        kind=symbol.kind.value,
                        line=symbol.line,
                        end_line=symbol.end_line,
                        signature=symbol.signature,
                        summary=symbol.summary,
                    )
                    for symbol in hit.symbols
                ],
                commits=list(hit.commits),
            )
            for hit in wk.code.find(request.query, limit=request.limit)
        ]
    )
