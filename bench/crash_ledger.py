"""What was sent and acknowledged, and whether the memory holds exactly that in the end.

Invariant that is checked: what was acknowledged is there once; what was not is there once or not
at all; nothing else is there. Knows nothing of who was killed and when.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from random import Random

import wellkept
from bench.crash_scene import Scene, wait_until
from wellkept.api.learning import spool_status
from wellkept.api.processes import running_processes
from wellkept.core.codec import Json
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter, Validity
from wellkept.core.session.activity import ActivityKind
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.settings.model import Settings
from wellkept.core.types import MemoryType
from wellkept.store import spool

SESSIONS_PER_CLIENT = 3
_NEWS_AT_ONCE = 500
_MARK = re.compile(r"\b[ps]\d{7}\b")
_EVENTS = {
    "claude-code": ("UserPromptSubmit", "Stop", "PostToolUse"),
    "codex": ("UserPromptSubmit", "Stop", ""),
    "opencode": ("UserPromptSubmit", "Stop", ""),
    "gemini": ("BeforeAgent", "AfterAgent", ""),
}
CLIENTS = tuple(_EVENTS)
# What may lie in the home when nobody runs: one of each, however often somebody was killed.
_EXPECTED = frozenset(
    {
        "answer.lock",
        "answer.sock",
        "drain.command",
        "memory.db",
        "memory.db-shm",
        "memory.db-wal",
        "server.token",
        "spool/damaged",
        "spool/drain.lock",
        "spool/drain.slot-0",
        "spool/drain.slot-1",
    }
)


class Kind(StrEnum):
    """What can be sent."""

    PROMPT = "prompt"
    TURN = "turn"
    CALL = "call"
    STATEMENT = "statement"


@dataclass(frozen=True, slots=True)
class Sent:
    """One thing that was sent: what it is called in the memory, or whose count it adds to."""

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class HookEvent:
    """A hook to be started, and what it would bring."""

    client: str
    event: str
    payload: bytes
    sent: Sent


@dataclass(slots=True)
class Ledger:
    """Counts of what was acknowledged and of what was sent without an answer."""

    sure: Counter[Sent] = field(default_factory=Counter[Sent])
    unsure: Counter[Sent] = field(default_factory=Counter[Sent])
    complaints: list[str] = field(default_factory=list[str])
    _number: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, sent: Sent, *, sure: bool) -> None:
        """Note what became of something that was sent."""
        with self._lock:
            (self.sure if sure else self.unsure)[sent] += 1

    def complain(self, what: str) -> None:
        """Note something that nobody should ever see."""
        with self._lock:
            self.complaints.append(what[-500:])

    def statement(self) -> Sent:
        """Something new to be kept, unlike anything before."""
        return Sent(Kind.STATEMENT, f"s{self._next():07}")

    def hook_event(
        self, scene: Scene, chance: Random, *, client: str = "", kind: Kind | None = None
    ) -> HookEvent:
        """An event of a client, mostly prompts."""
        who = client or chance.choice(CLIENTS)
        prompt, turn, call = _EVENTS[who]
        session = f"{who}-{chance.randrange(SESSIONS_PER_CLIENT)}"
        kinds = [Kind.PROMPT, Kind.PROMPT, Kind.PROMPT, Kind.TURN, *([Kind.CALL] if call else [])]
        chosen = kind or chance.choice(kinds)
        number = self._next()
        body: dict[str, Json] = {"session_id": session, "cwd": str(scene.work)}
        if chosen is Kind.PROMPT:
            sent, event = Sent(chosen, f"p{number:07}"), prompt
            body["prompt"] = f"Please look at p{number:07} in the shop"
        elif chosen is Kind.TURN:
            sent, event = Sent(chosen, session), turn
            body["prompt_response"] = body["last_assistant_message"] = "Done."
        else:
            sent, event = Sent(chosen, session), call
            body |= {
                "tool_name": "Bash",
                "tool_use_id": f"call-{number}",
                "tool_input": {"command": f"make thing-{number}"},
                "tool_response": {"stdout": "made\n" * 20, "exit_code": 0},
            }
        return HookEvent(who, event, json.dumps(body).encode(), sent)

    def _next(self) -> int:
        with self._lock:
            self._number += 1
            return self._number


def words_of(statement: Sent) -> str:
    """A statement in words."""
    return f"The service {statement.name} of the shop listens at its own port."


def by_kind(counts: Mapping[Sent, int]) -> dict[str, Json]:
    """How much of each kind."""
    total: Counter[str] = Counter()
    for sent, count in counts.items():
        total[sent.kind.value] += count
    return dict(total)


# -- The end --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong; nothing at all when every list is empty and every count is zero."""

    lost: tuple[str, ...]
    twice: tuple[str, ...]
    unknown: tuple[str, ...]
    miscounted: tuple[str, ...]
    told_twice: tuple[str, ...]
    findings: tuple[str, ...]
    leftovers: tuple[str, ...]
    complaints: tuple[str, ...]
    waiting_bytes: int
    set_aside: int
    dropped: int
    unsure_kept: int

    @property
    def is_clean(self) -> bool:
        """Whether the promise holds. What was kept although nobody lived to say so is no fault."""
        faults = (
            *(self.lost, self.twice, self.unknown, self.miscounted, self.told_twice),
            *(self.findings, self.leftovers, self.complaints),
        )
        return not any(faults) and not (self.waiting_bytes or self.set_aside or self.dropped)

    def as_json(self) -> dict[str, Json]:
        """Counts, with a few names of each list."""
        told: dict[str, Json] = {"clean": self.is_clean}
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            told[name] = value if isinstance(value, int) else len(value)
            if not isinstance(value, int) and value:
                told[f"{name}_first"] = list(value[:5])
        return told


def settle(scene: Scene) -> None:
    """Take in what still waits, as if every session and every unfinished backup had been left
    alone since long ago."""
    _age(scene.backups)
    if (copied := scene.cli("backup", str(scene.backups / "last.db"))).code:
        raise RuntimeError(f"the last backup failed: {copied.errors[-800:]}")

    def is_done() -> bool:
        _age(scene.home / spool.FOLDER_NAME)
        done = scene.cli("spool", "drain", "--json")
        if done.code:
            raise RuntimeError(f"the last drain failed: {done.errors[-800:]}")
        return not json.loads(done.out)["busy"]

    wait_until(is_done, "the last drain")


def _age(folder: Path) -> None:
    """Make every file of a folder look as if it was last written to long ago."""
    for path in folder.glob("*"):
        os.utime(path, (1.0, 1.0))


def verdict(scene: Scene, ledger: Ledger) -> Verdict:
    """Hold what is in the memory against what was sent."""
    with wellkept.open(
        scene.home / "memory.db",
        cwd=scene.work,
        embedder="none",
        settings=Settings(),
        environment=scene.environment,
    ) as wk:
        store = wk.engine.store
        everything = Filter(project=None, validity=Validity.ANY, archived=None)
        names = _names(m.content for m in store.iterate(everything) if _is_sent(m.type))
        sessions = {one.id: one for one in store.sessions(project=None, limit=999)}
        findings = [str(finding) for finding in store.check(deep=True)]
        waits = spool_status(wk.engine.store, environment=scene.environment)
        told_twice = _told_twice(store)
    named = {sent.name for sent in ledger.sure if _is_named(sent)}
    maybe = {sent.name for sent in ledger.unsure if _is_named(sent)}
    doctor = scene.cli("doctor", "--deep", "--json")
    return Verdict(
        lost=tuple(sorted(named - names.keys())),
        twice=tuple(sorted(name for name, count in names.items() if count > 1)),
        unknown=tuple(sorted(names.keys() - named - maybe)),
        miscounted=tuple(_miscounted(ledger, sessions)),
        told_twice=told_twice,
        findings=(*findings, *([doctor.errors or "doctor is not content"] if doctor.code else [])),
        leftovers=tuple(_leftovers(scene)),
        complaints=tuple(ledger.complaints),
        waiting_bytes=waits.waiting_bytes,
        set_aside=waits.aside_entries,
        dropped=waits.dropped_events,
        unsure_kept=len(maybe & names.keys()),
    )


def _names(contents: Iterable[str]) -> Counter[str]:
    return Counter(name for content in contents for name in _MARK.findall(content)[:1])


def _is_sent(type: MemoryType) -> bool:
    """Summaries and observations repeat what prompts say."""
    return type in {MemoryType.PROMPT, MemoryType.FACT}


def _is_named(sent: Sent) -> bool:
    return sent.kind in {Kind.PROMPT, Kind.STATEMENT}


def _miscounted(ledger: Ledger, sessions: Mapping[str, SessionRecord]) -> list[str]:
    told: list[str] = []
    for sent in {one for one in (*ledger.sure, *ledger.unsure) if not _is_named(one)}:
        session = sessions.get(sent.name)
        low = ledger.sure[sent]
        high = low + ledger.unsure[sent]
        kept = 0
        if session is not None:
            kept = session.turn_count if sent.kind is Kind.TURN else session.tool_count
        if not low <= kept <= high:
            told.append(f"{sent.kind} of {sent.name}: {kept}, not {low} to {high}")
    return told


def _told_twice(store: Store) -> tuple[str, ...]:
    """Beginnings that those who follow the news were told more than once."""
    once = {
        ActivityKind.SESSION_STARTED,
        ActivityKind.OBSERVATION_STORED,
        ActivityKind.MEMORY_STORED,
    }
    told: Counter[str] = Counter()
    after = 0
    while page := store.activity(after=after, project=None, limit=_NEWS_AT_ONCE):
        after = page[-1].number
        told.update(f"{n.kind} {n.memory_id or n.session_id}" for n in page if n.kind in once)
    return tuple(name for name, count in told.items() if count > 1)


def _leftovers(scene: Scene) -> list[str]:
    """Files that would pile up: anything that is not one of a kind, or of a session that goes on.

    Asking who runs clears what the dead left behind, as `wellkept status` does.
    """
    running_processes(scene.home)
    found = [path for path in scene.home.rglob("*") if not path.is_dir()]
    names = {path.relative_to(scene.home).as_posix() for path in found}
    copies = {path.name for path in scene.backups.iterdir() if path.suffix != ".db"}
    # One lock file for each store that is kept up; it is used again.
    names = {name for name in names if not re.fullmatch(r"locks/[0-9a-f]{32}\.lock", name)}
    return sorted((names - _EXPECTED) | copies)
