"""Sequences of events written down shortly, and what comes of folding them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from wellkept.core.payloads import Observation
from wellkept.core.session.events import (
    Compacted,
    Edit,
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    SubagentEnded,
    SubagentStarted,
    ToolCalled,
    ToolKind,
    TurnEnded,
)
from wellkept.observe.session.reducer import SessionUpdate, apply_events
from wellkept.text.shell.environment import Environment, ProjectLocation

START = datetime(2026, 4, 1, 9, tzinfo=UTC)
ROOT = "/home/dev/shop"
CORPUS = Path(__file__).parent / "data"


class Teller:
    """Makes events of one session, a second apart."""

    def __init__(self, session_id: str = "session-one", *, cwd: str | None = ROOT) -> None:
        self.session_id = session_id
        self.cwd = cwd
        self._count = 0

    def origin(self, *, agent: str | None = None) -> Origin:
        self._count += 1
        return Origin(
            event_id=f"{self.session_id}-e{self._count}",
            client="test-client",
            session_id=self.session_id,
            at=START + timedelta(seconds=self._count),
            cwd=self.cwd,
            agent=agent,
        )

    def start(self, source: str = "startup") -> SessionStarted:
        return SessionStarted(origin=self.origin(), source=source, model="some-model")

    def prompt(self, text: str) -> PromptSubmitted:
        return PromptSubmitted(origin=self.origin(), text=text)

    def read(self, path: str, *, agent: str | None = None) -> ToolCalled:
        return self.call("Read", ToolKind.READ, files=(path,), output="x" * 400, agent=agent)

    def search(self, query: str) -> ToolCalled:
        return self.call("Grep", ToolKind.SEARCH, query=query, output="a.py:1: hit")

    def edit(self, path: str, before: str, after: str, *, agent: str | None = None) -> ToolCalled:
        edits = (Edit(path, before, after),)
        return self.call("Edit", ToolKind.EDIT, files=(path,), edits=edits, agent=agent)

    def run(
        self, command: str, output: str = "", *, error: str | None = None, agent: str | None = None
    ) -> ToolCalled:
        return self.call(
            "Bash", ToolKind.SHELL, command=command, output=output, error=error, agent=agent
        )

    def call(
        self, name: str, kind: ToolKind, *, agent: str | None = None, **rest: Any
    ) -> ToolCalled:
        origin = self.origin(agent=agent)
        rest.setdefault("call_id", f"call-{self.session_id}-{self._count}")
        return ToolCalled(origin=origin, name=name, kind=kind, **rest)

    def turn_end(self, message: str | None = None) -> TurnEnded:
        return TurnEnded(origin=self.origin(), last_message=message)

    def compacted(self, summary: str | None = None) -> Compacted:
        return Compacted(origin=self.origin(), trigger="auto", summary=summary)

    def agent_start(self, agent: str, kind: str) -> SubagentStarted:
        return SubagentStarted(origin=self.origin(agent=agent), agent_type=kind)

    def agent_end(self, agent: str, kind: str, message: str | None = None) -> SubagentEnded:
        return SubagentEnded(origin=self.origin(agent=agent), agent_type=kind, last_message=message)

    def end(self, reason: str = "exit") -> SessionEnded:
        return SessionEnded(origin=self.origin(), reason=reason)


def world(files: Mapping[str, str] | None = None) -> Environment:
    """A world with one project and the given files in it."""
    held = {f"{ROOT}/{name}": text for name, text in (files or {}).items()}
    return Environment(
        locate=lambda cwd: ProjectLocation("git:example.org/shop", (ROOT,)), read_file=held.get
    )


def folded(events: Sequence[Event], *, files: Mapping[str, str] | None = None) -> SessionUpdate:
    return apply_events(None, list(events), environment=world(files))


def observations(result: SessionUpdate) -> list[Observation]:
    return [d.payload for d in result.drafts if isinstance(d.payload, Observation)]


@dataclass(frozen=True, slots=True)
class Case:
    """A written sequence and the observations it should give."""

    name: str
    events: tuple[Event, ...]
    files: Mapping[str, str]
    expected: tuple[tuple[str, str], ...]
    expected_summary: Mapping[str, str]


def load_cases() -> list[Case]:
    written = (CORPUS / "coding.json", CORPUS / "shell_and_release.json")
    return [case for path in written for case in _read(path)]


def _read(path: Path) -> list[Case]:
    return [_case(raw) for raw in cast("list[dict[str, Any]]", json.loads(path.read_text()))]


def _case(raw: dict[str, Any]) -> Case:
    teller = Teller(raw["name"].replace(" ", "-"))
    return Case(
        name=raw["name"],
        events=tuple(_event(teller, step) for step in raw["events"]),
        files=raw.get("files", {}),
        expected=tuple((kind, title) for kind, title in raw["expected"]),
        expected_summary=raw.get("summary", {}),
    )


def _event(teller: Teller, step: dict[str, Any]) -> Event:
    match step:
        case {"prompt": str(text)}:
            return teller.prompt(text)
        case {"read": str(path)}:
            return teller.read(path)
        case {"search": str(query)}:
            return teller.search(query)
        case {"edit": str(path), "before": str(before), "after": str(after)}:
            return teller.edit(path, before, after)
        case {"run": str(command)}:
            return teller.run(command, step.get("output", ""), error=step.get("error"))
        case {"done": str(message)}:
            return teller.turn_end(message)
        case {"end": str(reason)}:
            return teller.end(reason)
        case _:
            raise ValueError(f"unknown step {step}")
