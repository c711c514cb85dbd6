"""The code search operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from wellkept.server.operations.inputs import Input, Model
from wellkept.server.operations.outputs import Output

if TYPE_CHECKING:
    from wellkept.app import Wellkept


class SearchCodeInput(Input):
    """A question for files."""

    query: str = Field(
        min_length=1, max_length=20_000, description="A bug report, a task, a name, a question."
    )
    limit: int = Field(default=8, ge=1, le=50)


class FoundFileOutput(Model):
    """A file that the question may be about."""

    path: str
    score: float
    why: list[str]
    commits: list[str] = Field(default_factory=list, description="Past commits that speak for it.")


class SearchCodeOutput(Output):
    """Files, the likeliest first."""

    files: list[FoundFileOutput]

    def text(self) -> str:
        if not self.files:
            return "No file of this project speaks of that. Try other words."
        return "\n".join(f"{file.path}  ({', '.join(file.why)})" for file in self.files)


def search_code(wk: Wellkept, request: SearchCodeInput) -> SearchCodeOutput:
    """The files that a question is about."""
    return SearchCodeOutput(
        files=[
            FoundFileOutput(
                path=hit.path, score=hit.score, why=list(hit.reasons), commits=list(hit.commits)
            )
            for hit in wk.code.find(request.query, limit=request.limit)
        ]
    )
