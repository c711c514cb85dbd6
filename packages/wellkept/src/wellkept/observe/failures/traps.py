"""Known traps: what several sessions ran into, dearest first.

Ways out that two sessions have shown, edits refused for their indentation, rules of commit hooks,
programs that are not there, and files that are made from others. Counted in one small value of the
project. Ranked by what they cost, in seconds lost and in a person having to step in, not by how
often they occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatch
from typing import cast

from wellkept.core.codec import Json, record_from_json, record_to_json
from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory
from wellkept.core.ports.key_values import KeyValueStore
from wellkept.core.records import record, replace
from wellkept.memory.engine import Engine
from wellkept.observe.failures.lessons import (
    KnownWayOut,
    describe,
    lesson_key,
    program_of,
    stored_way_outs,
)
from wellkept.observe.failures.trap_signs import TrapSign
from wellkept.observe.failures.way_out import WayOut
from wellkept.text.events.failure_cause import absent_tool

MIN_SESSIONS = 2
MAX_TOLD = 5
_NAMESPACE = "traps"
_MAX_COUNTS = 200
_MAX_SESSIONS = 12
_MAX_DETAILS = 8
_TOLD_RULES = 6
# What a failure of each kind costs until the next success, where it was not measured.
_ASKED_SECONDS = 300
_SECONDS = {"indentation": 15, "rule": 40, "absent": 30, "made": 60}


@record(kw_only=True)
class TrapCount:
    """How often a trap was met. `kind` is "lost" for the cost of a way out, by its key."""

    kind: str
    subject: str
    details: tuple[str, ...] = ()
    failures: int = 0
    session_count: int = 0
    sessions: tuple[str, ...] = ()
    first_at: datetime | None = None
    last_at: datetime | None = None
    seconds: int = 0
    asked: int = 0


@record
class TrapCounts:
    """All counted traps of a project, the least recently met first."""

    counts: tuple[TrapCount, ...] = ()


@record(kw_only=True)
class Trap:
    """A trap with what to do about it. `files` are patterns of names, or with a slash of whole
    paths; `commands` are programs that it is tied to; `memory_id` is the way out behind it, if
    there is one; `cost_s` what it has cost so far."""

    text: str
    cost_s: int
    session_count: int
    last_at: datetime
    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    memory_id: str | None = None
    sessions: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The trap on one line, with count and date."""
        day = self.last_at.date().isoformat()
        return f"{self.text} ({self.session_count} sessions, last {day})"


def known_traps(engine: Engine, *, project: str, limit: int = MAX_TOLD) -> list[Trap]:
    """The traps that several sessions met, dearest first."""
    counts = read_traps(engine.store, project).counts
    known = list(stored_way_outs(engine, project=project))
    instead = {tool: way_out.worked for _, way_out in known if (tool := absent_tool(way_out.cause))}
    found = [*_counted(counts, instead), *_way_outs(known, counts)]
    return sorted(found, key=lambda one: (one.cost_s, one.last_at), reverse=True)[:limit]


def traps_for_file(engine: Engine, *, project: str, file: str) -> list[Trap]:
    """The traps that are tied to files of this kind: said before one is written."""
    path = file.replace("\\", "/").removeprefix("./")
    name = path.rpartition("/")[2]
    traps = known_traps(engine, project=project, limit=_MAX_COUNTS)
    return [
        one
        for one in traps
        if any(fnmatch(f"./{path}" if "/" in glob else name, glob) for glob in one.files)
    ]


def count_signs(
    store: KeyValueStore,
    signs: Sequence[TrapSign],
    lost: Sequence[tuple[WayOut, datetime]],
    *,
    project: str,
    session_id: str,
) -> None:
    """Count the signs of one session."""
    counts = {(one.kind, one.subject): one for one in read_traps(store, project).counts}
    before = dict(counts)
    for sign in signs:
        if sign.kind == "present":
            counts.pop(("absent", sign.subject), None)
            continue
        known = counts.pop((sign.kind, sign.subject), None)
        counts[sign.kind, sign.subject] = _met(
            known or TrapCount(kind=sign.kind, subject=sign.subject),
            sign.at,
            session_id,
            detail=sign.detail,
        )
    for one, at in lost:
        key = ("lost", lesson_key(one))
        known = counts.pop(key, None) or TrapCount(kind="lost", subject=key[1])
        met = _met(known, at, session_id)
        counts[key] = replace(
            met, seconds=known.seconds + one.lost_s, asked=known.asked + one.asked
        )
    if counts != before:
        kept = tuple(counts.values())[-_MAX_COUNTS:]
        store.put_value(_NAMESPACE, project, cast("Json", record_to_json(TrapCounts(kept))))


def read_traps(store: KeyValueStore, project: str) -> TrapCounts:
    """The counted traps of a project; none when another version wrote them."""
    value = store.get_value(_NAMESPACE, project)
    if not isinstance(value, dict):
        return TrapCounts()
    try:
        return record_from_json(TrapCounts, value)
    except UsageError:
        return TrapCounts()


def forget_traps(store: KeyValueStore, project: str) -> None:
    """Forget all counted traps of a project."""
    store.put_value(_NAMESPACE, project, None)


def _met(known: TrapCount, at: datetime, session_id: str, *, detail: str = "") -> TrapCount:
    others = tuple(one for one in known.sessions if one != session_id)
    details = (*(one for one in known.details if one != detail), detail) if detail else ()
    return replace(
        known,
        details=details[-_MAX_DETAILS:] or known.details,
        failures=known.failures + 1,
        session_count=known.session_count + (session_id not in known.sessions),
        sessions=(*others, session_id)[-_MAX_SESSIONS:],
        first_at=min(at, known.first_at or at),
        last_at=max(at, known.last_at or at),
    )


def _counted(counts: Sequence[TrapCount], instead: Mapping[str, str]) -> Iterator[Trap]:
    yield from _indentation([one for one in counts if one.kind == "indentation"])
    for count in counts:
        if count.session_count < MIN_SESSIONS or count.last_at is None:
            continue
        if count.kind == "rule":
            yield _rules(count)
        elif count.kind == "made" and count.details:
            yield _trap(count, _made_text(count), files=(f"./{count.subject}",))
        elif count.kind == "absent":
            other = instead.get(count.subject)
            worked = f"; worked instead: `{other}`" if other else ""
            text = f"`{count.subject}` is not installed here{worked}"
            yield _trap(count, text, commands=(count.subject,))


def _indentation(counts: Sequence[TrapCount]) -> Iterator[Trap]:
    """One trap for each kind of indentation, whatever the kinds of files."""
    for kind in ("tabs", "spaces"):
        same = [one for one in counts if one.details[-1:] == (kind,)]
        sessions = dict.fromkeys(name for one in same for name in one.sessions)
        session_count = max([len(sessions), *(one.session_count for one in same)], default=0)
        if session_count < MIN_SESSIONS:
            continue
        failures = sum(one.failures for one in same)
        files = tuple(one.subject for one in sorted(same, key=lambda one: -one.failures))
        named = ", ".join(f"`{pattern}`" for pattern in files[:4])
        yield Trap(
            text=f"{named} are indented with {kind}; edits fail when old_string has other"
            f" indentation ({failures} failed edits)",
            cost_s=failures * _SECONDS["indentation"],
            session_count=session_count,
            last_at=max(one.last_at for one in same if one.last_at is not None),
            files=files,
            sessions=tuple(sessions)[-_MAX_SESSIONS:],
        )


def _made_text(count: TrapCount) -> str:
    return (
        f"`{count.subject}` is made from `{count.details[-1]}`: edit that one; changes of the made"
        " file were overwritten"
    )


def _rules(count: TrapCount) -> Trap:
    rules = ", ".join(count.details[-_TOLD_RULES:])
    if count.subject == "commit message":
        return _trap(count, f"A hook checks commit messages: {rules}", commands=("git commit",))
    return _trap(
        count,
        f"`{count.subject}` files are linted at commit: {rules} ({count.failures} failures)",
        files=(count.subject,),
    )


def _trap(
    count: TrapCount, text: str, *, files: tuple[str, ...] = (), commands: tuple[str, ...] = ()
) -> Trap:
    assert count.last_at is not None
    return Trap(
        text=text,
        cost_s=count.failures * _SECONDS.get(count.kind, 20),
        session_count=count.session_count,
        last_at=count.last_at,
        files=files,
        commands=commands,
        sessions=count.sessions,
    )


def _way_outs(
    stored: Sequence[tuple[Memory, WayOut]], counts: Sequence[TrapCount]
) -> Iterator[Trap]:
    lost = {one.subject: one for one in counts if one.kind == "lost"}
    for memory, way_out in stored:
        known = KnownWayOut(memory, way_out, "")
        if known.sessions < MIN_SESSIONS:
            continue
        cost = lost.get(lesson_key(way_out))
        seconds = (cost.seconds + _ASKED_SECONDS * cost.asked) if cost else 0
        yield Trap(
            text=describe(way_out).rstrip("."),
            cost_s=seconds,
            session_count=known.sessions,
            last_at=known.worked_at,
            commands=(program_of(way_out),),
            memory_id=memory.id,
            sessions=tuple(dict.fromkeys(memory.provenance_sessions)),
        )
