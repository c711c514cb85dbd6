"""Records as rows: one line for each table says which columns hold which fields, for every engine.

The annotations of a record say how each value is kept: a moment as milliseconds in a column with
the suffix `_ms`, a choice by its value, a flag as 0 or 1, anything made of parts as JSON. A row
that does not hold what its record needs is damaged: `_RowShape.read` says which one.
Invariant: `shape.read(shape.values(one)) == one`. Knows no SQL dialect; memories, which are read
most, have a module of their own (`memory_rows`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar, get_args, get_origin

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.codec import record_from_json, to_json
from wellkept.core.errors import ConflictError, NotFoundError, StoreCorruptError, UsageError
from wellkept.core.records import field_types, fields, is_record
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.core.changes import PutSignals
    from wellkept.core.codec import Json
    from wellkept.core.graph import SourceFile
    from wellkept.core.ports.injections import InjectedLine, Injection, KindUse, LineUse
    from wellkept.core.ports.reports import MemoryGroup
    from wellkept.core.ports.store import UndoStep
    from wellkept.core.query import FileLink
    from wellkept.core.session.activity import Activity
    from wellkept.core.session.scratchpad import Explanation, Scratchpad, SessionSignal
    from wellkept.core.session.sessions import SessionRecord
    from wellkept.core.skills import GeneratedSkill, SkillRun, SkillVersion
    from wellkept.core.team.records import SharedRecord

_Record = TypeVar("_Record")
SqlValue: TypeAlias = str | int | float | bytes | None
Row: TypeAlias = Sequence[Any]
"""Column values in the order of the SELECT."""

# What damaged text, numbers and names raise when they are read.
DAMAGE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, UsageError)
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_PLAIN: Final = (str, int, float)


def damaged(what: str, name: object) -> StoreCorruptError:
    """The error for a record that cannot be read."""
    return StoreCorruptError(
        f"The {what} {name} is damaged.",
        hint="Run `wellkept admin doctor --deep`; `wellkept admin restore` puts a backup back.",
    )


def dump(value: object) -> str:
    """Compact JSON with unescaped Unicode; UsageError for NaN."""
    if value in ((), []):
        return "[]"
    try:
        return _JSON.encode(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"A value cannot be stored as JSON: {error}.") from error


def loaded(namespace: str, text: str) -> Json:
    """The JSON of a value; an error names its namespace."""
    try:
        return json.loads(text)
    except DAMAGE as error:
        raise damaged("value in", namespace) from error


class _RowShape(Generic[_Record]):
    """Which columns of a table hold which fields of a record, in order.

    `columns` lists fields, `field=column` where the names differ; the other fields are JSON in the
    column `rest`. The record is imported when the first row is read or written.
    """

    def __init__(self, what: str, kind: str, columns: str, *, rest: str | None = None) -> None:
        self._what, self._kind, self._rest = what, kind, rest
        parts = [part.partition("=") for part in columns.split()]
        self._fields = tuple(name for name, _, _ in parts)
        names = tuple(column or _column(name) for name, _, column in parts)
        self.columns = names if rest is None else (*names, rest)

    def listed(self, alias: str = "") -> str:
        """The columns for a SELECT or an INSERT."""
        return ", ".join(f"{alias}.{name}" if alias else name for name in self.columns)

    def values(self, one: _Record) -> tuple[SqlValue, ...]:
        """The values of the columns."""
        kind, _, writers = self._ways
        found = [write(getattr(one, n)) for n, write in zip(self._fields, writers, strict=True)]
        if self._rest is not None:
            others = [each.name for each in fields(kind) if each.name not in self._fields]
            found.append(dump({name: to_json(getattr(one, name)) for name in others}))
        return tuple(found)

    def named(self, one: _Record) -> dict[str, SqlValue]:
        """The values by the names of their columns."""
        return dict(zip(self.columns, self.values(one), strict=True))

    def read(self, row: Row, **more: object) -> _Record:
        """The record of a row that begins with the columns; `more` are fields kept elsewhere."""
        kind, readers, _ = self._ways
        try:
            found = {n: r(v) for n, r, v in zip(self._fields, readers, row, strict=False)}
            if self._rest is None:
                return kind(**found, **more)
            known = {name: to_json(value) for name, value in found.items()}
            stored = _still_known(kind, json.loads(row[len(known)]))
            return record_from_json(kind, {**stored, **known})
        except DAMAGE as error:
            raise damaged(self._what, row[0]) from error

    @cached_property
    def _ways(self) -> tuple[type[_Record], list[_Way], list[_Way]]:
        """The record's class, and how each field is read and written."""
        module, _, name = self._kind.partition(":")
        kind: type[_Record] = getattr(import_module(f"wellkept.core.{module}"), name)
        types = field_types(kind)
        ways = [_ways_of(types[name]) for name in self._fields]
        return kind, [read for read, _ in ways], [write for _, write in ways]


@cache
def _nested(kind: type[object]) -> dict[str, type[object] | None]:
    """The fields of a record, with the record that a list of records holds."""
    types = {name: get_args(one) for name, one in field_types(kind).items()}
    return {name: next(filter(is_record, parts), None) for name, parts in types.items()}


def _still_known(kind: type[object], stored: dict[str, Any]) -> dict[str, Any]:
    """What a record still has of what was stored: earlier versions stored more."""
    return {
        name: stored[name] if one is None else [_still_known(one, each) for each in stored[name]]
        for name, one in _nested(kind).items()
        if name in stored
    }


_Way: TypeAlias = Callable[[Any], Any]


def _column(name: str) -> str:
    is_moment = name in ("at", "until") or name.endswith("_at")
    return f"{name.removesuffix('_at')}_ms" if is_moment else name


def _ways_of(annotation: Any) -> tuple[_Way, _Way]:
    """How a value of a type is read and written; None stays None where the type allows it."""
    options: tuple[Any, ...] = get_args(annotation)
    if type(None) in options and len(options) == 2:
        (inner,) = (one for one in options if one is not type(None))
        read, write = _ways_of(inner)
        return (
            lambda value: None if value is None else read(value),
            lambda value: None if value is None else write(value),
        )
    if annotation is datetime:
        return from_ms, to_ms
    if annotation is bool:
        return bool, int
    kind: Any = annotation
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return annotation, str
    if kind in _PLAIN or isinstance(next(iter(options), None), str):
        return _required(kind if kind in _PLAIN else str), lambda value: value
    if is_record(kind):
        names = [one.name for one in fields(kind)]
        return (
            lambda text: kind(*json.loads(text)),
            lambda value: dump([getattr(value, name) for name in names]),
        )
    if get_origin(kind) is tuple:
        return lambda text: tuple(json.loads(text)), dump
    return json.loads, dump


def _required(kind: type[object]) -> _Way:
    allowed = (float, int) if kind is float else kind

    def read(value: object) -> object:
        if not isinstance(value, allowed):
            raise TypeError(f"{value!r} is no {kind.__name__}")
        return value

    return read


SESSIONS: _RowShape[SessionRecord] = _RowShape(
    "session",
    "session.sessions:SessionRecord",
    "id client project started_at last_event_at cwd ended_at end_reason title model branch"
    " commit_sha prompt_count turn_count tool_count error_count agent_count observation_count"
    " discovery_tokens summarised_at summarised_turn revision work input_tokens cached_tokens"
    " output_tokens",
)
SKILLS: _RowShape[GeneratedSkill] = _RowShape(
    "skill",
    "skills:GeneratedSkill",
    "id project name text created_at updated_at origin made_by review reviewed_at enabled note"
    " session_ids observation_ids commit_sha revision",
)
SKILL_VERSIONS: _RowShape[SkillVersion] = _RowShape(
    "former version of a skill, revision", "skills:SkillVersion", "revision text made_by until"
)
SKILL_RUNS: _RowShape[SkillRun] = _RowShape(
    "run of skill", "skills:SkillRun", "skill_id=skill session_id used_by at succeeded"
)
SIGNALS: _RowShape[SessionSignal] = _RowShape(
    "signal in project",
    "session.scratchpad:SessionSignal",
    "project kind subject session_id at count module detail",
)
SCRATCHPADS: _RowShape[Scratchpad] = _RowShape(
    "scratchpad of session",
    "session.scratchpad:Scratchpad",
    "session_id project state updated_at revision",
    rest="body",
)
EXPLANATIONS: _RowShape[Explanation] = _RowShape(
    "explanation of memory", "session.scratchpad:Explanation", "memory_id project at", rest="body"
)
ACTIVITY: _RowShape[Activity] = _RowShape(
    "news item",
    "session.activity:Activity",
    "number kind at project everywhere memory_id session_id subject",
)
INJECTIONS: _RowShape[Injection] = _RowShape(
    "injection",
    "ports.injections:Injection",
    "id at project client session_id moment agent trigger=trigger_text tokens",
)
LINES: _RowShape[InjectedLine] = _RowShape(
    "injected line",
    "ports.injections:InjectedLine",
    "line_id kind text memory_id reason tokens work_tokens outcome outcome_by outcome_at score",
)
LINE_USES: _RowShape[LineUse] = _RowShape(
    "injected line",
    "ports.injections:LineUse",
    "line_id kind given sessions used ignored unclear harm tokens reused_tokens first_at last_at"
    " last_used_at",
)
KIND_USES: _RowShape[KindUse] = _RowShape(
    "injected lines of kind",
    "ports.injections:KindUse",
    "kind lines decided used ignored unclear harm tokens reused_tokens measured",
)
MEMORY_GROUPS: _RowShape[MemoryGroup] = _RowShape(
    "memories of type",
    "ports.reports:MemoryGroup",
    "type source band methodology needs_review user_verified closed stale archived count",
)
SHARED_RECORDS: _RowShape[SharedRecord] = _RowShape(
    "shared record",
    "team.records:SharedRecord",
    "id project state owner statement waiting body seq",
)
UNDO_STEPS: _RowShape[UndoStep] = _RowShape(
    "undo step", "ports.store:UndoStep", "id project action at count undone_at"
)

FILES: _RowShape[SourceFile] = _RowShape(
    "source file",
    "graph:SourceFile",
    "path language content_hash size_bytes mtime_ns line_count state reason module is_test stale_at"
    " analysed_at",
)

OUTCOME_NAMES: Final = ("open", "ignored", "unclear", "used", "harm")
OUTCOME_RANK: Final = (
    "max(CASE l.outcome "
    + " ".join(f"WHEN '{name}' THEN {rank}" for rank, name in enumerate(OUTCOME_NAMES))
    + " END)"
)
"""The strongest outcome of a line in a session, as a place in `OUTCOME_NAMES`."""


def require_unit(name: str, value: float) -> None:
    """UsageError unless the value is between 0 and 1; NaN is not."""
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{name} must be between 0 and 1, not {value}.")


def session_changed(session: SessionRecord) -> ConflictError:
    """The error for a session whose stored revision differs."""
    return ConflictError(
        f"The session {session.id} was changed by another process.", hint="Read it again and retry."
    )


def belongs(signal: SessionSignal, change: PutSignals) -> bool:
    """Whether a signal is valid and of the session that the change is about."""
    same = (signal.project, signal.session_id) == (change.project, change.session_id)
    return same and signal.kind in change.kinds and signal.count > 0 and bool(signal.subject)


def pad_changed(pad: Scratchpad) -> ConflictError:
    """The error for a scratchpad whose stored revision differs."""
    return ConflictError(
        f"The scratchpad of session {pad.session_id} was changed by another process.",
        hint="Read it again and retry.",
    )


def require_seen(record: SharedRecord, stored: int) -> None:
    """ConflictError when a record was changed since the caller read it."""
    if stored != record.seq:
        raise ConflictError(
            f"The shared record {record.id} was changed meanwhile.", hint="Read it again."
        )


def new_statements(records: Sequence[SharedRecord]) -> list[SharedRecord]:
    """Those that say something new and hold."""
    from wellkept.core.team.records import OPEN_STATES

    return [one for one in records if not one.seq and one.statement and one.state in OPEN_STATES]


def require_unsaid(record: SharedRecord, said: set[str], written: Sequence[SharedRecord]) -> None:
    """ConflictError when somebody said the same since the caller looked."""
    if said - {one.id for one in written}:
        raise ConflictError(
            f"Another record says what {record.id} says.", hint="Read it, and confirm that one."
        )


def link_row(project: str, link: FileLink) -> dict[str, object]:
    """The row of a pair; UsageError for one that cannot be stored."""
    if link.file_a == link.file_b:
        raise UsageError(f"The file {link.file_a!r} cannot be linked to itself.")
    require_unit("weight", link.weight)
    first, second = sorted((link.file_a, link.file_b))
    pair = {"project": project, "file_a": first, "file_b": second}
    return {**pair, "weight": link.weight, "count": link.count}


def archived_subject(step_id: str, count: int) -> str:
    """The line in the log of what a step archived."""
    return f"{counted(count, 'memory', 'memories')}; undo {step_id} takes it back"


def restored_subject(step_id: str, count: int) -> str:
    """The line in the log of an archiving that was taken back."""
    return f"{counted(count, 'memory', 'memories')} back by undo {step_id}"


def unknown_step(step_id: str) -> NotFoundError:
    """The error for a step that is not kept."""
    return NotFoundError(
        f"There is no step {step_id!r} to undo.", hint="Steps are kept for a limited time."
    )


def mark_column(what: str) -> str:
    """The column of a mark; UsageError for an unknown one."""
    columns = {"stale": "stale_ms", "archived": "archived_ms"}
    if what not in columns:
        raise UsageError(f"A memory cannot be marked {what!r}.", hint="Use stale or archived.")
    return columns[what]
