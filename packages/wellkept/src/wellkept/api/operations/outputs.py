"""Outputs of operations: structured data, and the same as compact text.

Invariant: memory content is quoted, so that it cannot close the frame around injected text. Empty
fields are omitted from both forms.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import Any

from pydantic import Field

from wellkept.api.operations.inputs import Model
from wellkept.context.packing import quoted
from wellkept.core.codec import Json, record_to_json
from wellkept.core.memory import Memory
from wellkept.core.payloads import Observation, Prompt, SessionSummary
from wellkept.core.session.injected_text import FRAME
from wellkept.core.text import estimate_tokens
from wellkept.memory.recall.progressive import IndexRow
from wellkept.memory.recall.requests import NOTHING_KNOWN

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


class SearchOutput(Output):
    """Index rows, best or newest first, and how to get more."""

    rows: list[IndexRowOutput] = Field(default_factory=list[IndexRowOutput])
    next_cursor: str = ""
    notes: list[str] = Field(default_factory=list)

    def text(self) -> str:
        lines = [row.line() for row in self.rows] or ["Nothing found."]
        more = [f"More: cursor={self.next_cursor}"] if self.next_cursor else []
        return "\n".join([*lines, *self.notes, *more])


class TimelineOutput(Output):
    """Index rows in order of time around an anchor."""

    anchor: str
    rows: list[IndexRowOutput] = Field(default_factory=list[IndexRowOutput])

    def text(self) -> str:
        return "\n".join(
            f"{'> ' if row.id == self.anchor else ''}{row.line()}" for row in self.rows
        )


class MemoryOutput(Model):
    """A memory in full."""

    id: str
    type: str
    at: str
    content: str
    confidence: float
    key: str = ""
    tags: list[str] = Field(default_factory=list)
    files: list[str] = Field(default_factory=list)
    source: str = ""
    told_by: str = Field(default="", description="Whose words it holds.")
    session: str = ""
    evidence: list[str] = Field(default_factory=list)
    details: dict[str, Any] = Field(default_factory=dict)
    stale: bool = False
    closed: str = ""
    superseded_by: str = ""

    @classmethod
    def of(cls, memory: Memory) -> MemoryOutput:
        """The record for a memory."""
        return cls(
            id=memory.short,
            type=memory.type.value,
            at=f"{memory.valid_from:%Y-%m-%dT%H:%MZ}",
            content=quoted_lines(memory.content),
            key=memory.key or "",
            tags=list(memory.tags),
            files=list(memory.files),
            confidence=round(memory.confidence, 2),
            source=memory.source.value,
            told_by=memory.told_by,
            session=memory.session_id or "",
            evidence=[f"{e.kind.value} {e.ref}" for e in memory.evidence],
            details=_details(memory),
            stale=memory.stale_at is not None,
            closed=f"{memory.valid_to:%Y-%m-%d}" if memory.valid_to else "",
            superseded_by=memory.superseded_by or "",
        )

    def text(self) -> str:
        """The record as a head and its content."""
        facts = (
            ("key", self.key),
            ("files", ", ".join(self.files)),
            ("tags", ", ".join(self.tags)),
            ("evidence", "; ".join(one for one in self.evidence if not _is_internal(one))),
            ("no longer believed since", self.closed),
            ("superseded by", self.superseded_by),
        )
        told = [f"{name}: {quoted(value)}" for name, value in facts if value]
        mark = ["stale: its files are gone"] if self.stale else []
        known = [
            *(self.type, self.at[:10], self.told_by, f"confidence {self.confidence:g}"),
            *(*mark, *told),
        ]
        extra = [json.dumps(self.details, ensure_ascii=False)] if self.details else []
        return "\n".join([f"[m:{self.id}] {' | '.join(known)}", self.content, *extra])


def _is_internal(evidence: str) -> bool:
    """Whether evidence is an id that means nothing outside the store."""
    return evidence.split(" ", 1)[0] in {"observation", "session", "merged"}


class MemoriesOutput(Output):
    """Memories in full, in the requested order."""

    records: list[MemoryOutput] = Field(default_factory=list[MemoryOutput])
    missing: list[str] = Field(default_factory=list, description="Names that fit no memory.")

    def text(self) -> str:
        missing = [f"Not found: {', '.join(self.missing)}"] if self.missing else []
        return "\n\n".join([*(record.text() for record in self.records), *missing])


class RecallHitOutput(Model):
    """A memory that answers."""

    id: str
    type: str
    date: str
    content: str
    score: float
    stale: bool = False
    closed: str = Field(default="", description="The day since which it is no longer believed.")


class RecallOutput(Output):
    """Memories that answer a question, best first."""

    hits: list[RecallHitOutput] = Field(default_factory=list[RecallHitOutput])
    next_offset: int | None = None
    notes: list[str] = Field(default_factory=list)

    def text(self) -> str:
        lines = [
            f"- {hit.content} [m:{hit.id}, {hit.type}, {hit.date}"
            f"{f' until {hit.closed}' if hit.closed else ''}{', stale' if hit.stale else ''}]"
            for hit in self.hits
        ]
        more = [f"More: offset={self.next_offset}"] if self.next_offset else []
        return "\n".join([*(lines or [NOTHING_KNOWN]), *self.notes, *more])


class RememberOutput(Output):
    """What became of a statement."""

    id: str
    outcome: str = Field(description="inserted, merged, superseded, unchanged, noted or captured")
    reason: str
    previous: str = ""
    told_by: str = Field(default="", description="Whose words it counts as.")
    note: str = ""

    def text(self) -> str:
        if self.outcome in {"noted", "captured"}:
            return f"{self.outcome}: {self.reason}"
        instead = f" in place of m:{self.previous}" if self.previous else ""
        said = f", {self.told_by}" if self.told_by else ""
        note = f" {self.note}" if self.note else ""
        return f"{self.outcome}: m:{self.id}{instead} ({self.reason}{said}).{note}"


class ForgetOutput(Output):
    """What was deleted, or would be."""

    done: bool = False
    kept: bool = Field(default=False, description="Closed, not deleted: no longer believed.")
    rows: list[IndexRowOutput] = Field(default_factory=list[IndexRowOutput])

    def text(self) -> str:
        head = "Forgotten:" if self.done else "Nothing is deleted yet. This would be:"
        ask = [] if self.done else ["If the person wants that, call again with confirm=true."]
        if self.done and self.kept:
            ask = ["Still in the history; ids and confirm=true delete it for good."]
        return "\n".join([head, *(row.line() for row in self.rows), *ask])


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


def quoted_lines(text: str) -> str:
    """Memory text that keeps its lines and cannot close the frame it may end up in."""
    # Only a line that names the frame is touched: code keeps its spacing.
    return "\n".join(
        quoted(line) if FRAME in line.casefold() else line for line in text.splitlines()
    )


def _details(memory: Memory) -> dict[str, Json]:
    if memory.payload is None or isinstance(memory.payload, _SHOWN_BY_CONTENT):
        return {}
    return {name: value for name, value in record_to_json(memory.payload).items() if value}
