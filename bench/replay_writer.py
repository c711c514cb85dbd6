"""Writes down the events of one made-up session: what is said, read, edited and run.

Seeded by the `Random` it is given. Knows neither what is planted nor how memory learns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

from wellkept.core.session.events import (
    Compacted,
    Edit,
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolCalled,
    ToolKind,
    TurnEnded,
)


@dataclass(slots=True)
class Session:
    """The events of one session, what it reads and uses, and the file that it begins with."""

    id: str
    events: list[Event] = field(default_factory=list[Event])
    reads: list[str] = field(default_factory=list[str])
    uses: set[str] = field(default_factory=set[str])
    first_file: str = ""


class Writer:
    """One session under way."""

    def __init__(self, session_id: str, random: Random, *, at: datetime, cwd: str) -> None:
        self.random = random
        self.made = Session(session_id)
        self._at = at
        self._cwd = cwd
        self._count = 0

    def start(self) -> None:
        self._add(lambda o: SessionStarted(origin=o, source="startup", model="m"))

    def say(self, text: str) -> None:
        self._add(lambda o: PromptSubmitted(origin=o, text=text))

    def answer(self, text: str) -> None:
        self._add(lambda o: TurnEnded(origin=o, last_message=text))

    def compact(self) -> None:
        self._add(lambda o: Compacted(origin=o, trigger="auto"))

    def end(self) -> None:
        self._add(lambda o: SessionEnded(origin=o, reason="exit"))

    def read(self, name: str, *, part: int | None = None) -> None:
        """A file, or a part of it."""
        self.made.reads.append(name)
        self.made.uses.add(name)
        given = "" if part is None else f'{{"offset": {part}, "limit": 120}}'
        self._call("Read", ToolKind.READ, files=(name,), given=given, output="x = 1\n" * 80)

    def edit(self, name: str, *, before: str = "", after: str = "") -> None:
        self.made.uses.add(name)
        edit = Edit(name, before or f"old_{self._count} = 0", after or f"new_{self._count} = 1")
        self._call("Edit", ToolKind.EDIT, files=(name,), edits=(edit,))

    def run(self, command: str, output: str = "", *, error: str | None = None) -> None:
        self._call("Bash", ToolKind.SHELL, command=command, output=output, error=error)

    def _call(
        self,
        name: str,
        kind: ToolKind,
        *,
        files: tuple[str, ...] = (),
        edits: tuple[Edit, ...] = (),
        command: str | None = None,
        given: str = "",
        output: str = "",
        error: str | None = None,
    ) -> None:
        self._add(
            lambda o: ToolCalled(
                origin=o,
                call_id=f"{o.event_id}-call",
                name=name,
                kind=kind,
                files=files,
                edits=edits,
                command=command,
                input=given,
                output=output,
                error=error,
            )
        )

    def _add(self, made: Callable[[Origin], Event]) -> None:
        self._count += 1
        self._at += timedelta(seconds=self.random.randrange(2, 30))
        origin = Origin(
            event_id=f"{self.made.id}-{self._count}",
            client="replay",
            session_id=self.made.id,
            at=self._at,
            cwd=self._cwd,
        )
        self.made.events.append(made(origin))
