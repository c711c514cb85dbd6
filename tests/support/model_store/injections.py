"""The part of the model store that keeps what was injected."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import datetime

from tests.support.model_store.data import ModelData
from wellkept.core.changes import InjectionChange, PutInjection, PutVerdicts
from wellkept.core.clock import to_ms
from wellkept.core.errors import UsageError
from wellkept.core.ports.injections import (
    InjectedLine,
    Injection,
    InjectionFilter,
    InjectionTotals,
    KindUse,
    LineOutcome,
    LineUse,
    SilentLine,
)
from wellkept.core.query import Page
from wellkept.core.records import record, replace


@record
class _Given:
    """One line in one session: all times it was given there."""

    lines: tuple[InjectedLine, ...]
    times: tuple[datetime, ...]

    @property
    def outcome(self) -> LineOutcome:
        return max((line.outcome for line in self.lines), key=list(LineOutcome).index)

    @property
    def work_tokens(self) -> int | None:
        return max((n for line in self.lines if (n := line.work_tokens) is not None), default=None)


class ModelInjections(ABC):
    """The `InjectionLog` port over plain dictionaries."""

    @property
    @abstractmethod
    def _data(self) -> ModelData: ...

    def injections(
        self, where: InjectionFilter, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Injection]:
        if limit < 0:
            raise UsageError(f"limit must be at least 0, not {limit}.")
        found = [cut for one in self._newest() if (cut := _cut(one, where)) is not None]
        rest = found
        if cursor is not None:
            at_ms, _, last = cursor.partition(":")
            if not at_ms.lstrip("-").isdecimal() or not last:
                raise UsageError(f"The cursor {cursor!r} does not belong to this listing.")
            rest = [one for one in found if (to_ms(one.at), one.id) < (int(at_ms), last)]
        items = tuple(rest[:limit])
        more = len(rest) > limit and bool(items)
        return Page(items, len(found), f"{to_ms(items[-1].at)}:{items[-1].id}" if more else None)

    def line_uses(self, *, project: str, line_ids: Sequence[str] | None = None) -> list[LineUse]:
        per_session = self._per_session(project)
        names = dict.fromkeys(line_id for line_id, _ in per_session)
        uses = [
            _use(name, [given for (line_id, _), given in per_session.items() if line_id == name])
            for name in names
            if line_ids is None or name in line_ids
        ]
        return sorted(sorted(uses, key=lambda u: u.line_id), key=lambda u: u.last_at, reverse=True)

    def line_outcomes(
        self, *, project: str, line_id: str, since: datetime | None = None
    ) -> list[LineOutcome]:
        mine = [
            (max(given.times), session, given.outcome)
            for (name, session), given in self._per_session(project, after=since).items()
            if name == line_id
        ]
        return [outcome for *_, outcome in sorted(mine, key=lambda one: one[:2], reverse=True)]

    def injection_totals(
        self, *, project: str | None, since: datetime | None = None
    ) -> InjectionTotals:
        mine = [
            one
            for one in self._data.injections.values()
            if project in (None, one.project) and (since is None or one.at >= since)
        ]
        per_session = list(_grouped(mine).values())
        kinds = {given.lines[0].kind for given in per_session}
        uses = [_kind(k, [g for g in per_session if g.lines[0].kind == k]) for k in kinds]
        return InjectionTotals(
            injections=len(mine),
            sessions=len({one.session_id for one in mine}),
            lines=sum(len(one.lines) for one in mine),
            tokens=sum(one.tokens for one in mine),
            kinds=tuple(sorted(uses, key=lambda use: (-use.lines, use.kind))),
            silent=sum(project in (None, where) for where, _ in self._data.silent),
            since=min((one.at for one in mine), default=None),
        )

    def silent_lines(self, *, project: str) -> list[SilentLine]:
        silent = [line for (where, _), line in self._data.silent.items() if where == project]
        memories = self._data.memories
        return sorted(
            (
                line
                for line in silent
                if line.line_id not in memories or memories[line.line_id].updated_at <= line.at
            ),
            key=lambda line: line.line_id,
        )

    def prune_injections(self, *, before: datetime, keep_lines: int) -> int:
        if keep_lines < 0:
            raise UsageError(f"keep_lines must be at least 0, not {keep_lines}.")
        kept: dict[str, Injection] = {}
        lines = 0
        for one in self._newest():
            lines += len(one.lines)
            if one.at >= before and lines <= keep_lines:
                kept[one.id] = one
        dropped = len(self._data.injections) - len(kept)
        self._data.injections = kept
        return dropped

    def _newest(self) -> list[Injection]:
        everything = self._data.injections.values()
        return sorted(everything, key=lambda one: (one.at, one.id), reverse=True)

    def _per_session(
        self, project: str, *, after: datetime | None = None
    ) -> dict[tuple[str, str], _Given]:
        return _grouped(
            one
            for one in self._data.injections.values()
            if one.project == project and (after is None or one.at > after)
        )


def put_injection_change(data: ModelData, change: InjectionChange) -> None:
    """Log an injection, set outcomes, or silence a line."""
    if isinstance(change, PutInjection):
        one = change.injection
        if not one.id or not one.project:
            raise UsageError("An injection needs an id and a project.")
        lines = tuple(
            replace(line, text="", reason="")
            if line.memory_id is not None and line.memory_id not in data.memories
            else line
            for line in one.lines
        )
        data.injections.setdefault(one.id, replace(one, lines=lines))
    elif isinstance(change, PutVerdicts):
        for verdict in change.verdicts:
            one = data.injections.get(verdict.injection_id)
            if one is not None and 0 <= verdict.number < len(one.lines):
                lines = list(one.lines)
                lines[verdict.number] = replace(
                    lines[verdict.number],
                    outcome=verdict.outcome,
                    outcome_by=verdict.by,
                    outcome_at=verdict.at,
                )
                data.injections[one.id] = replace(one, lines=tuple(lines))
    elif change.line is None:
        data.silent.pop((change.project, change.line_id), None)
    else:
        data.silent[change.project, change.line_id] = change.line


def forget_lines(data: ModelData, memory_id: str) -> None:
    """Delete the text of a deleted memory."""
    for one in list(data.injections.values()):
        if any(line.memory_id == memory_id for line in one.lines):
            lines = tuple(
                replace(line, text="", reason="", outcome_by="")
                if line.memory_id == memory_id
                else line
                for line in one.lines
            )
            data.injections[one.id] = replace(one, lines=lines)
    for key in [key for key in data.silent if key[1] == memory_id]:
        del data.silent[key]


def move_injections(data: ModelData, alias: str, target: str) -> None:
    """Move what a merged project was given."""
    for one in list(data.injections.values()):
        if one.project == alias:
            data.injections[one.id] = replace(one, project=target)
    for (project, line_id), line in list(data.silent.items()):
        if project == alias:
            del data.silent[project, line_id]
            data.silent.setdefault((target, line_id), line)


def _cut(one: Injection, where: InjectionFilter) -> Injection | None:
    """The injection with the lines that match; None when it does not."""
    same = (
        where.project in (None, one.project)
        and where.session_id in (None, one.session_id)
        and where.moment in (None, one.moment)
    )
    lines = tuple(
        line
        for line in one.lines
        if where.line_id in (None, line.line_id) and where.outcome in (None, line.outcome)
    )
    return replace(one, lines=lines) if same and lines else None


def _grouped(some: Iterator[Injection] | Sequence[Injection]) -> dict[tuple[str, str], _Given]:
    found: dict[tuple[str, str], _Given] = {}
    for one in some:
        for line in one.lines:
            key = line.line_id, one.session_id
            known = found.get(key, _Given((), ()))
            found[key] = _Given((*known.lines, line), (*known.times, one.at))
    return found


def _count(some: Sequence[_Given], outcome: LineOutcome) -> int:
    return sum(given.outcome is outcome for given in some)


def _reused(some: Sequence[_Given]) -> int:
    return sum(given.work_tokens or 0 for given in some if given.outcome is LineOutcome.USED)


def _tokens(some: Sequence[_Given]) -> int:
    return sum(line.tokens for given in some for line in given.lines)


def _use(line_id: str, some: Sequence[_Given]) -> LineUse:
    times = [at for given in some for at in given.times]
    used_at = [
        line.outcome_at
        for given in some
        for line in given.lines
        if line.outcome is LineOutcome.USED and line.outcome_at
    ]
    return LineUse(
        line_id=line_id,
        kind=max(line.kind for given in some for line in given.lines),
        given=len(times),
        sessions=len(some),
        used=_count(some, LineOutcome.USED),
        ignored=_count(some, LineOutcome.IGNORED),
        unclear=_count(some, LineOutcome.UNCLEAR),
        harm=_count(some, LineOutcome.HARM),
        tokens=_tokens(some),
        reused_tokens=_reused(some),
        first_at=min(times),
        last_at=max(times),
        last_used_at=max(used_at, default=None),
    )


def _kind(kind: str, some: Sequence[_Given]) -> KindUse:
    return KindUse(
        kind=kind,
        lines=sum(len(given.lines) for given in some),
        tokens=_tokens(some),
        decided=sum(given.outcome is not LineOutcome.OPEN for given in some),
        used=_count(some, LineOutcome.USED),
        ignored=_count(some, LineOutcome.IGNORED),
        unclear=_count(some, LineOutcome.UNCLEAR),
        harm=_count(some, LineOutcome.HARM),
        measured=sum(
            given.outcome is LineOutcome.USED and given.work_tokens is not None for given in some
        ),
        reused_tokens=_reused(some),
    )
