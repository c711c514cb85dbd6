"""A session told in events, read by a scripted model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.observe.spooling import Spooler, translate
from tests.observe.telling import Teller, world
from wellkept.core.errors import ProviderError
from wellkept.core.memory import Memory, MemoryDraft
from wellkept.core.query import Filter
from wellkept.core.records import replace
from wellkept.core.session.events import Event
from wellkept.memory.engine import Engine
from wellkept.memory.remember import remember
from wellkept.observe.ingest.drain import drain
from wellkept.observe.model.consolidation import ModelUsageReport, summarize_sessions

PROJECT = "git:example.org/shop"


@dataclass
class ScriptedModel:
    """Answers in order; an error is raised. `model_id` is what memories name as their author."""

    answers: list[str | ProviderError] = field(default_factory=list[str | ProviderError])
    asked: list[str] = field(default_factory=list[str])
    model_id: str = "test/small"

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        self.asked.append(prompt)
        answer = self.answers.pop(0) if self.answers else ProviderError("No more.", cause="busy")
        if isinstance(answer, ProviderError):
            raise answer
        return answer


@dataclass
class ModelSession:
    """A project whose sessions a model reads."""

    engine: Engine
    spooler: Spooler
    model: ScriptedModel = field(default_factory=ScriptedModel)
    say: Teller = field(default_factory=Teller)

    def __post_init__(self) -> None:
        self.engine = replace(self.engine, text_model=lambda: self.model)

    def drain(self, *events: Event) -> tuple[str, ...]:
        """Capture and drain events; the sessions that are due."""
        self.spooler.catch(*events)
        drained = drain(self.engine, self.spooler.spool, translate=translate, environment=world())
        return drained.due

    def read(self, due: Sequence[str] = (), *, tokens: int = 1_000_000) -> ModelUsageReport:
        """Let the model read what is due."""
        return summarize_sessions(self.engine, due, daily_tokens=tokens)

    def ends(self, *events: Event, answer: dict[str, Any]) -> ModelUsageReport:
        """A session of some events ends, and the model answers."""
        self.model.answers.append(json.dumps(answer))
        return self.read(self.drain(*events, self.say.end()))

    def knows(self, content: str, **more: Any) -> Memory:
        """A memory that is there before the session."""
        draft = MemoryDraft(content=content, **more)
        return remember(self.engine, draft, project=PROJECT, merge_similar=False).memory

    def by_model(self) -> list[Memory]:
        """What the model made, in order."""
        rows = self.engine.store.iterate(Filter(project=PROJECT))
        found = [row for row in rows if row.author == "model:test/small"]
        return sorted(found, key=lambda row: row.id)

    def contents(self) -> list[str]:
        """What the model made, as text."""
        return [row.content for row in self.by_model()]


def item(content: str, *quotes: str, type: str = "fact", **more: Any) -> dict[str, Any]:
    """One extracted memory with its evidence."""
    evidence = [{"event": "e1", "quote": quote} for quote in quotes]
    return {"type": type, "content": content, "evidence": evidence, **more}


def memories(*items: dict[str, Any]) -> dict[str, Any]:
    """An answer with some memories."""
    return {"memories": list(items)}
