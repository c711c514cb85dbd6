"""Replay recorded sessions in time order and ask for context at every moment a hook would.

Events of all sessions form one stream ordered by time, as they reached the machine: parallel
sessions interleave, and nothing from the future is known. Before each question everything earlier
has been ingested; a session that ended has been learned from. The transcripts' project folder is
mapped to a temporary one, where files appear once a session touched them, so that paths are real.

Knows nothing of scores: `bench.sessions` counts, `bench.golden_moments` and `bench.harm` judge.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Self

import wellkept
from wellkept.api.hook_context import HookContextProvider
from wellkept.clients.answers.responder import context_request
from wellkept.clients.hook_spec import ClientFolders
from wellkept.clients.registry import SOURCES, transcripts
from wellkept.core.chat.transcripts import ReadStats, Transcript
from wellkept.core.records import field, record, replace
from wellkept.core.session.events import (
    Event,
    PromptSubmitted,
    SessionStarted,
    SubagentStarted,
    ToolCalled,
    ToolKind,
    ToolStarting,
)
from wellkept.core.session.hook_context import HookContextRequest
from wellkept.observe.ingest.ingest import EventIngester
from wellkept.testing.fakes import ManualClock
from wellkept.text.shell.environment import Environment, ProjectLocation

_CWD = re.compile(rb'"cwd"\s*:\s*"((?:[^"\\]|\\.)+)"')
_HEAD = re.compile(r"^(?!- |<|Recalled |\|)(?P<head>[A-Z].*)$")
_CLIENT_FILES = ("CLAUDE.md", "AGENTS.md", "GEMINI.md")
_CHANGING = frozenset({ToolKind.EDIT, ToolKind.WRITE})


@record(kw_only=True)
class RecordedSession:
    """A session and its events in time order."""

    id: str
    number: int
    events: tuple[Event, ...]

    @property
    def started_at(self) -> datetime:
        return self.events[0].origin.at


@record(kw_only=True)
class Line:
    """One injected line and the heading it stood under."""

    head: str
    text: str


@record(kw_only=True)
class Asked:
    """One moment: what a hook asked, when, and the text that was injected."""

    session: RecordedSession
    position: int
    """Index of the event that asked, in the session."""
    request: HookContextRequest
    at: datetime
    text: str
    tokens: int

    @property
    def moment(self) -> str:
        return self.request.moment

    @property
    def later(self) -> tuple[Event, ...]:
        """Events of the session after the moment. Before a tool call its own result is later."""
        after = self.position + (self.moment not in ("command", "file"))
        return self.session.events[after:]

    @property
    def lines(self) -> tuple[Line, ...]:
        """The injected lines, each with its heading."""
        found: list[Line] = []
        head = ""
        for text in self.text.splitlines():
            if text.startswith("- "):
                found.append(Line(head=head, text=text.removeprefix("- ")))
            elif match := _HEAD.match(text):
                head = match["head"].rstrip(":")
        return tuple(found)


@record(frozen=False)
class _Shown:
    ids: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def of(self, request: HookContextRequest) -> frozenset[str]:
        if request.fresh:
            self.ids.pop(request.session, None)
        return self.ids.get(request.session, frozenset())

    def add(self, request: HookContextRequest, ids: Sequence[str]) -> None:
        self.ids[request.session] = self.ids.get(request.session, frozenset()).union(ids)


class Replay:
    """Sessions of one project, replayed into a store of their own."""

    def __init__(
        self, transcripts_folder: Path, home: Path, *, repository: Path | None = None
    ) -> None:
        self.root = home / "project"
        self.root.mkdir(parents=True)
        copies = home / "transcripts"
        _copy_with_root(transcripts_folder, copies, self.root)
        self.sessions = read_sessions(copies)
        if not self.sessions:
            raise SystemExit(f"No transcript of a known client below {transcripts_folder}.")
        self._repository = repository
        self._home = home
        self._stack = ExitStack()
        self._clock = ManualClock(self.sessions[0].started_at)
        self._shown = _Shown()
        self._pending: list[Event] = []

    def __enter__(self) -> Self:
        self.wk = self._stack.enter_context(
            wellkept.open(
                self._home / "memory.db",
                cwd=self.root,
                project="bench",
                embedder="none",
                environment={"HOME": str(self._home)},
                clock=self._clock,
            )
        )
        location = ProjectLocation(self.wk.project, (str(self.root),))
        self._ingester = EventIngester(self.wk.engine, Environment(locate=lambda _: location))
        self._provider = HookContextProvider(lambda _: self.wk)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, *, ask_if: Callable[[RecordedSession], bool]) -> Iterator[Asked]:
        """Replay everything; ask at the moments of the sessions that `ask_if` chooses."""
        for session, position in self._stream():
            event = session.events[position]
            self._clock.now = max(self._clock.now, event.origin.at)
            if position == 0:
                self._put_client_files(event.origin.at)
            if ask_if(session):
                yield from self._ask_before(session, position)
            self._pending.append(event)
            self._make_files(event)
            if ask_if(session):
                yield from self._ask_after(session, position)
            if position == len(session.events) - 1:
                self._flush()
                self.wk.observer.learn([session.id])
        self._flush()

    def ask(self, session: RecordedSession, position: int, event: Event) -> Asked | None:
        """Ask as the hook would for an event; None when its hook asks nothing."""
        request = context_request(event)
        if request is None:
            return None
        self._flush()
        context = self._provider(request, self._shown.of(request))
        self._shown.add(request, context.ids if context.text else ())
        return Asked(
            session=session,
            position=position,
            request=request,
            at=event.origin.at,
            text=context.text,
            tokens=self.wk.engine.count_tokens(context.text) if context.text else 0,
        )

    def warns_of(self, asked: Asked) -> bool:
        """Whether a command would be warned of in a session in which nothing was shown before."""
        return bool(self._provider(asked.request, frozenset()).text)

    def _ask_before(self, session: RecordedSession, position: int) -> Iterator[Asked]:
        """Events that the hook answers before they are known to the store."""
        event = session.events[position]
        asking: Event | None = None
        match event:
            case SessionStarted():
                asking = replace(event, source="startup")
            case PromptSubmitted() | SubagentStarted():
                asking = event
            case ToolCalled() if event.kind is ToolKind.SHELL or event.kind in _CHANGING:
                asking = ToolStarting(
                    origin=event.origin,
                    name=event.name,
                    kind=event.kind,
                    files=event.files,
                    command=event.command,
                )
            case _:
                pass
        if asking is not None and (asked := self.ask(session, position, asking)) is not None:
            yield asked

    def _ask_after(self, session: RecordedSession, position: int) -> Iterator[Asked]:
        """After a tool call; its own event is not ingested yet, as in a hook."""
        event = session.events[position]
        if isinstance(event, ToolCalled):
            pending = self._pending.pop()
            asked = self.ask(session, position, event)
            self._pending.append(pending)
            if asked is not None:
                yield asked

    def _flush(self) -> None:
        if self._pending:
            pending, self._pending = self._pending, []
            self._ingester.commit(pending, [])

    def _stream(self) -> Iterator[tuple[RecordedSession, int]]:
        """Events of all sessions by time; inside a session their order never changes."""
        order: list[tuple[datetime, int, int]] = []
        for session in self.sessions:
            latest = session.started_at
            for position, event in enumerate(session.events):
                latest = max(latest, event.origin.at)
                order.append((latest, session.number, position))
        for _, number, position in sorted(order):
            yield self.sessions[number], position

    def _make_files(self, event: Event) -> None:
        """Files appear in the project folder once a session touched them."""
        if not isinstance(event, ToolCalled) or event.error:
            return
        for name in event.files:
            path = Path(name)
            if path.is_relative_to(self.root) and path != self.root and not path.exists():
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.touch()
                except OSError:
                    continue  # a folder of that name, or a name that this system does not take

    def _put_client_files(self, at: datetime) -> None:
        """The instruction files that the client loads, as the repository had them then."""
        if self._repository is None:
            return
        commit = _git(self._repository, "rev-list", "-1", f"--before={at.isoformat()}", "HEAD")
        for name in _CLIENT_FILES if commit else ():
            text = _git(self._repository, "show", f"{commit.strip()}:{name}")
            if text:
                (self.root / name).write_text(text, encoding="utf-8")


def read_sessions(folder: Path) -> tuple[RecordedSession, ...]:
    """The sessions in a folder of transcripts of any client, by their start."""
    folders = ClientFolders(home=folder, project=folder, environment={})
    paths = sorted(path for path in folder.rglob("*.json*") if path.is_file())
    found: dict[str, tuple[Event, ...]] = {}
    for client in SOURCES:
        for one in transcripts(client, folders=folders, paths=paths):
            if isinstance(one, Transcript) and one.session_id not in found:
                events = [step.event for part in one.parts for step in part.read(ReadStats())]
                if events:
                    found[one.session_id] = tuple(events)
    ordered = sorted(found.items(), key=lambda pair: pair[1][0].origin.at)
    return tuple(
        RecordedSession(id=name, number=number, events=events)
        for number, (name, events) in enumerate(ordered)
    )


def _copy_with_root(source: Path, target: Path, root: Path) -> None:
    """Copy transcripts; the recorded project folder becomes `root`."""
    files = sorted(path for path in source.rglob("*.json*") if path.is_file())
    texts = {path: path.read_bytes() for path in files}
    roots = Counter(
        match[1] for text in texts.values() for match in [_CWD.search(text)] if match is not None
    )
    recorded = roots.most_common(1)[0][0] if roots else None
    for path, text in texts.items():
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(text.replace(recorded, str(root).encode()) if recorded else text)


def _git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(repository), *arguments], capture_output=True, check=False
    )
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""
