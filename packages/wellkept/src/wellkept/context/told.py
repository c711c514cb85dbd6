"""`Shown` and `Why`: memories and lines with where they come from and whether they were of use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from wellkept.context.injected_line import LineReason
from wellkept.context.injection_log import (
    MemoryUse,
    session_text,
    use_text,
)
from wellkept.core.memory import Memory
from wellkept.core.ports.injections import (
    HOW_SAVED_IS_COUNTED,
    Injection,
    InjectionTotals,
    SilentLine,
)
from wellkept.core.query import Stats
from wellkept.core.records import record
from wellkept.core.session.injected_text import quoted, quoted_lines
from wellkept.core.session.scratchpad import Explanation
from wellkept.core.verbs import Arg, Table
from wellkept.memory.as_text import whole_text
from wellkept.memory.history import MemoryHistory


@record(kw_only=True)
class ShownMemory:
    """A memory, where it comes from and whether it was ever of use; its history where asked."""

    memory: Memory
    use: MemoryUse
    history: MemoryHistory | None = None

    def as_text(self, *, full: bool) -> str:
        """The memory, and what is known of its use."""
        if self.history is not None:
            return "\n".join(
                f"{one.at:%Y-%m-%d %H:%M} {one.kind.value}: {quoted(one.text)}"
                for one in self.history.entries
            )
        known = self.use
        lines = [whole_text(self.memory)]
        if full:
            lines += [f"{name}: {value}" for name, value in _fields(self.memory)]
        lines += [f"came from: {quoted(session_text(one))}" for one in known.sessions]
        lines.append(f"given: {use_text(known.use)}")
        if known.silent is not None:
            lines.append(f"silent: {quoted(known.silent.reason)}")
        return "\n".join(lines)


@record(kw_only=True)
class Shown:
    """Memories in full, in the order asked for; `missing` are names that fit none."""

    items: tuple[ShownMemory, ...]
    missing: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Memory]:
        return (one.memory for one in self.items)

    @property
    def ids(self) -> list[str]:
        """Full ids, in order."""
        return [one.memory.id for one in self.items]

    @property
    def notes(self) -> tuple[str, ...]:
        """Which names fit no memory."""
        return (f"Not found: {', '.join(self.missing)}",) if self.missing else ()

    def as_text(self, *, full: Annotated[bool, Arg("Every field.", hidden=True)] = False) -> str:
        """The memories, one after the other."""
        return "\n\n".join(one.as_text(full=full) for one in self.items)


def _fields(memory: Memory) -> Iterator[tuple[str, Any]]:
    """Every field that the text does not show yet and that has a value."""
    shown = {"content", "type", "key", "files", "tags", "evidence", "payload", "superseded_by"}
    from wellkept.core.records import fields

    for field in fields(memory):
        value: Any = getattr(memory, field.name)
        if field.name not in shown and value not in (None, (), False):
            yield field.name.replace("_", " "), getattr(value, "value", value)


@record(kw_only=True)
class Why:
    """Where a memory or a line comes from and whether it was of use; or what agents were told.

    `memory` and its `explanation` and `use` are of the memory asked about, `line` of a line that
    no memory holds. Without a question, `items` are the latest injections, or `silent` the lines
    that are no longer given. `never_told` counts what is stored and was not given yet, by type.
    """

    memory: Memory | None = None
    explanation: Explanation | None = None
    use: MemoryUse | None = None
    line: LineReason | None = None
    items: tuple[Injection, ...] = ()
    silent: tuple[SilentLine, ...] = ()
    never_told: tuple[tuple[str, int], ...] = ()
    total: int = 0
    next_cursor: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.memory or self.line or self.items or self.silent or self.never_told)

    @property
    def more(self) -> dict[str, str]:
        """The arguments of the next page."""
        return {} if self.next_cursor is None else {"cursor": self.next_cursor}

    def as_text(self) -> str:
        """The reasons, one to a line; or the log, newest first."""
        if self.memory is not None:
            return "\n".join(self._about_memory(self.memory))
        if self.line is not None:
            return "\n".join(_about_line(self.line))
        if self.silent:
            return "\n".join(
                f"{one.line_id} since {one.at:%Y-%m-%d}: {quoted(one.reason)}"
                for one in self.silent
            )
        counts = ", ".join(f"{name} {count}" for name, count in self.never_told)
        last = [f"Stored and never told: {counts}"] if counts else []
        return "\n".join([*(line for one in self.items for line in _told(one)), *last])

    def _about_memory(self, memory: Memory) -> Iterator[str]:
        yield f"m:{memory.short} {memory.type.value}"
        yield from (f"  {line}" for line in quoted_lines(memory.content).splitlines())
        yield f"  whose words: {memory.told_by}; source: {memory.source.value}"
        why = self.explanation
        if why is not None:
            yield f"  rule: {why.rule}, validated by {why.validated_by}{_score(why)}"
            if why.sessions:
                yield f"  sessions: {', '.join(why.sessions)}"
            yield from (f"  signal: {quoted(one)}" for one in why.signals)
        listed = set(why.sessions) if why is not None else set[str]()
        for one in memory.evidence:
            if one.ref not in listed:
                note = f": {one.note}" if one.note else ""
                yield f"  evidence: {quoted(f'{one.kind.value} {one.ref}{note}')}"
        if self.use is not None:
            yield from (f"  {line}" for line in _use_lines(self.use))
        if why is None and not memory.evidence:
            yield "  No further provenance is recorded."


def _use_lines(known: MemoryUse) -> Iterator[str]:
    """Where a memory was learned, and whether it was ever of use."""
    yield from (f"from: {quoted(session_text(one))}" for one in known.sessions)
    yield f"given: {use_text(known.use)}"
    if known.use is not None:
        yield f"tokens saved: {known.use.saved_tokens:,}. {HOW_SAVED_IS_COUNTED}"
    yield from (f"given: {quoted(one)}" for one in known.latest_texts)
    if known.suspect is not None:
        yield f"cut or left out: it reads as an instruction: {known.suspect}"
    if known.silent is not None:
        yield f"silent: since {known.silent.at:%Y-%m-%d}: {quoted(known.silent.reason)}"


def _about_line(found: LineReason) -> Iterator[str]:
    line = found.line
    yield f"{line.line_id} {line.kind}"
    yield f"  {quoted(line.text) or '(text deleted)'}"
    if line.reason:
        yield f"  reason: {quoted(line.reason)}"
    yield f"  given: {use_text(found.use)}"
    for one in found.latest:
        trigger = f", because of {quoted(one.trigger)}" if one.trigger else ""
        yield (
            f"  given: {one.at:%Y-%m-%d %H:%M} at {one.moment}, session {one.session_id[:12]}"
            f" of {one.client}{trigger}"
        )
    if found.silent is not None:
        yield f"  silent: since {found.silent.at:%Y-%m-%d}: {quoted(found.silent.reason)}"


def _told(one: Injection) -> Iterator[str]:
    """What an agent was told at one moment, why, and what came of each line."""
    trigger = f"  {quoted(one.trigger)[:80]}" if one.trigger else ""
    yield (
        f"{one.at:%Y-%m-%d %H:%M}  {one.moment}  session {one.session_id[:12]}"
        f"  {one.client}  {one.tokens} tokens{trigger}"
    )
    for line in one.lines:
        by = f" ({quoted(line.outcome_by)})" if line.outcome_by else ""
        yield f"  {line.outcome.value}{by}  {quoted(line.text) or '(text deleted)'}"
        if line.reason:
            yield f"      why: {quoted(line.reason)}"


def _score(why: Explanation) -> str:
    if not why.score:
        return ""
    if not why.is_weighed:
        return f"; score {why.score:.2f}"
    return (
        f"; score {why.score:.2f} (threshold {why.threshold:.2f})"
        f" = 0.4 x frequency {why.frequency:.2f} + 0.3 x recency {why.recency:.2f}"
        f" + 0.3 x novelty {why.novelty:.2f}"
    )


@record
class MemoryStats(Stats):
    """Counts of the memories that match a filter, and what agents were given. `closed` counts all
    closed memories, the other figures only those that match."""

    project: str
    injected: InjectionTotals

    def as_text(self) -> str:
        """The counts by type, and what waits."""
        kinds = ", ".join(f"{name} {count}" for name, count in self.by_type.items())
        lines = [f"Memories in {self.project}: {self.total}", kinds]
        if self.oldest and self.newest:
            lines.append(f"{self.oldest:%Y-%m-%d} to {self.newest:%Y-%m-%d}")
        if self.stale or self.needs_review:
            lines.append(f"stale {self.stale}, waiting for review {self.needs_review}")
        return "\n".join(filter(None, lines))

    def as_table(self) -> Table:
        """Every count."""
        groups = {"type": self.by_type, "scope": self.by_scope, "source": self.by_source}
        rows = [
            (kind, name, str(count))
            for kind, counts in groups.items()
            for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        ]
        states = ("closed", "stale", "archived", "needs_review", "pinned")
        rows += [("state", name, str(n)) for name in states if (n := getattr(self, name))]
        rows.append(("total", "", str(self.total)))
        return Table(("", "", "memories"), rows, foot="\n".join(self._given()))

    def _given(self) -> Iterator[str]:
        """From when the memories are, and what agents were given, by kind of line."""
        if self.oldest and self.newest:
            yield f"From {self.oldest:%Y-%m-%d} to {self.newest:%Y-%m-%d}."
        given = self.injected
        for one in given.kinds:
            could = one.used + one.ignored + one.harm
            used = f"used {one.used} of {could}" if could else "use not seen"
            yield (
                f"given {one.kind}: {one.lines} lines, {one.tokens:,} tokens, {used},"
                f" unclear {one.unclear}, harm {one.harm}"
            )
        if given.lines:
            yield (
                f"{given.lines} lines in {given.sessions} sessions, {given.tokens:,} tokens;"
                f" {given.silent} silent. Tokens saved: {given.saved_tokens:,}."
                f" {given.how_saved_is_counted}"
            )
