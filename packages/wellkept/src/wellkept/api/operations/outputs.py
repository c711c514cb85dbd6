"""Outputs of operations: structured data, and the same as compact text.

Invariant: memory content is quoted, so that it cannot close the frame around injected text. Empty
fields are omitted from both forms.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from pydantic import Field

from wellkept.api.operations.inputs import Model
from wellkept.core.memory import Memory
from wellkept.core.payloads import Observation, Prompt, SessionSummary
from wellkept.core.session.injected_text import quoted
from wellkept.core.text import estimate_tokens
from wellkept.memory.recall.asked import IndexRow

# The content of these types repeats their payload.
_SHOWN_BY_CONTENT = (Observation, Prompt, SessionSummary)
# A memory up to this length is shown whole where others are shown by title.
_WHOLE_CHARS = 200


class Output(Model):
    """An answer."""

    @abstractmethod
    def text(self) -> str:
        """The answer for a model to read."""

    def structured(self) -> dict[str, Any]:
        """The answer for a program, without what is not set."""
        return self.model_dump(mode="json", exclude_defaults=True) or {}


class IndexRowOutput(Model):
    """A memory as one line: enough to decide whether to read it."""

    id: str
    type: str
    kind: str = Field(default="", description="Of an observation: bugfix, feature, ...")
    date: str
    tokens: int = Field(
        default=0, description="What reading it in full costs; 0: the title is all of it."
    )
    title: str
    stale: bool = False

    @classmethod
    def of(cls, row: IndexRow, *, memory: Memory | None = None) -> IndexRowOutput:
        """The row for a row of the index; with its memory, a short one is shown whole."""
        text = row.title if memory is None else memory.content.strip()
        payload = None if memory is None else memory.payload
        whole = (
            estimate_tokens(text) >= row.read_tokens
            and len(text) <= _WHOLE_CHARS
            and "\n" not in text
        )
        return cls(
            id=row.short,
            type=row.type.value,
            kind=payload.kind if isinstance(payload, Observation) else "",
            date=f"{row.at:%Y-%m-%d}",
            tokens=0 if whole else row.read_tokens,
            title=quoted(text if whole else row.title),
            stale=row.stale,
        )

    def line(self) -> str:
        """The row as text."""
        mark = " (stale)" if self.stale else ""
        more = f" (+{self.tokens} tokens)" if self.tokens else ""
        return f"{self.id} {self.date} {self.kind or self.type}{mark}: {self.title}{more}"


class ContextOutput(Output):
    """Text to put before a model, its sections, and the ids of what it says."""

    context: str = ""
    sections: list[str] = Field(default_factory=list, description="Parts it has, in order.")
    ids: list[str] = Field(default_factory=list)
    skills: list[str] = Field(default_factory=list, description="Skills it names.")
    used_tokens: int = 0

    def text(self) -> str:
        return self.context or "Nothing worth saying is known."


class StatsOutput(Output):
    """How much is known."""

    project: str
    total: int
    by_type: dict[str, int] = Field(default_factory=dict)
    by_source: dict[str, int] = Field(default_factory=dict)
    stale: int = 0
    needs_review: int = 0
    oldest: str = ""
    newest: str = ""

    def text(self) -> str:
        kinds = ", ".join(f"{name} {count}" for name, count in self.by_type.items())
        lines = [f"Memories in {self.project}: {self.total}", kinds]
        if self.oldest:
            lines.append(f"{self.oldest} to {self.newest}")
        if self.stale or self.needs_review:
            lines.append(f"stale {self.stale}, waiting for review {self.needs_review}")
        return "\n".join(filter(None, lines))
