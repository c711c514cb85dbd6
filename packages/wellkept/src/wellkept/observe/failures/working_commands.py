"""Commands that work here: test, build, lint, run and deploy commands in the form that last worked.

Each run of a command with a form is counted in one small value of the project. A form is told from
the second session that it worked in, until it fails. Only what a newcomer would not guess is worth
telling: an environment, a folder, a wrapper, a workspace, or a form that replaced a failing one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from wellkept.core.codec import Json, record_from_json, record_to_json
from wellkept.core.errors import UsageError
from wellkept.core.ports.key_values import KeyValueStore
from wellkept.core.records import record, replace
from wellkept.core.text import shorten
from wellkept.memory.engine import Engine
from wellkept.observe.failures.command_forms import CommandForm, command_form, shown, slots
from wellkept.observe.failures.intent import Change
from wellkept.observe.failures.lessons import KnownWayOut, stored_way_outs
from wellkept.observe.failures.way_out import is_setup_step
from wellkept.text.events.failure_cause import is_setup_cause
from wellkept.text.events.tool_steps import ToolStep
from wellkept.text.shell.environment import ToolContext
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import main_command, parse_command

MIN_SESSIONS = 2
MAX_TOLD = 5
_NAMESPACE = "commands"
_MAX_FORMS = 200
_MAX_SESSIONS = 12
_MAX_VALUES = 4
_CAUSE_CHARS = 80
_IMPORTANCE = {"test": 5, "deploy": 4, "run": 4, "build": 3, "lint": 3, "migrate": 3, "tool": 1}
_NO_LESSON = (Change.SETUP, Change.REPEAT, Change.REMOVAL, Change.ARGUMENT, Change.VALUE)


@record(kw_only=True)
class CommandRun:
    """One run of a command with a form; `cause` when it failed."""

    form: CommandForm
    at: datetime
    ok: bool
    cause: str | None = None


@record(kw_only=True)
class CommandCount:
    """What is known of one form. `values` are those seen in each slot, the latest last;
    `sessions` the latest that it worked in."""

    form: CommandForm
    values: tuple[tuple[str, ...], ...] = ()
    runs: int = 0
    session_count: int = 0
    sessions: tuple[str, ...] = ()
    worked_at: datetime | None = None
    failed_at: datetime | None = None
    cause: str | None = None


@record
class CommandCounts:
    """All forms of a project, the least recently run first."""

    forms: tuple[CommandCount, ...] = ()


@record(kw_only=True)
class WorkingCommand:
    """A command that works here, with the form that fails if one is known.

    `memory_id` is the way out that names the failing form; `sessions` are evidence.
    """

    kind: str
    command: str
    worked_at: datetime
    session_count: int
    runs: int
    sessions: tuple[str, ...] = ()
    fails: str | None = None
    cause: str | None = None
    memory_id: str | None = None
    is_plain: bool = False
    score: float = 0.0

    @property
    def text(self) -> str:
        """The entry on one line, with date and count."""
        day = self.worked_at.date().isoformat()
        seen = f"{self.session_count} sessions, last {day}" if self.session_count > 1 else day
        told = f"`{self.command}` ({seen})"
        if self.fails is None:
            return told
        why = f": {shorten(self.cause, limit=_CAUSE_CHARS)}" if self.cause else ""
        return f"{told}. `{self.fails}` fails{why}"


def runs_of_step(step: ToolStep, *, context: ToolContext) -> list[CommandRun]:
    """The runs that a tool call shows: of a failed line only its main command. What ran after a
    set-up step of the same line is not known to work by itself."""
    if step.main is None or step.stopped:
        return []
    cause = next((entry.error for entry in step.log if entry.error), None)
    commands = [
        one
        for one in step.commands
        if one is step.main or (step.ok and one.exit_counts and one.purpose is not Purpose.LOOK)
    ]
    steps = [number for number, one in enumerate(commands) if is_setup_step(one)]
    if steps and step.ok:
        commands = commands[: steps[0] + 1]
    found = [command_form(one, folder=context.folder(one.folder)) for one in commands]
    return [
        CommandRun(form=form, at=step.call.origin.at, ok=step.ok, cause=cause)
        for form in found
        if form is not None
    ]


def working_commands(
    engine: Engine, *, project: str, limit: int = MAX_TOLD, with_plain: bool = False
) -> list[WorkingCommand]:
    """The commands that work here, most worth telling first. One for each purpose and part of the
    project; plain ones, which anybody would guess, only on request."""
    replaced = _replaced_forms(engine, project=project)
    families: dict[str, list[CommandCount]] = {}
    for count in read_counts(engine.store, project).forms:
        if _is_believed(count):
            families.setdefault(count.form.family, []).append(count)
    entries = [
        entry for counts in families.values() if (entry := _entry(counts, replaced)) is not None
    ]
    told = [entry for entry in entries if with_plain or not entry.is_plain]
    return sorted(told, key=lambda one: (one.score, one.worked_at), reverse=True)[:limit]


def count_runs(
    store: KeyValueStore, runs: Sequence[CommandRun], *, project: str, session_id: str
) -> None:
    """Count runs of one session. Counting a session again changes nothing but the number of
    runs."""
    if not runs:
        return
    forms = {count.form.key: count for count in read_counts(store, project).forms}
    for run in runs:
        known = forms.pop(run.form.key, None) or CommandCount(form=run.form)
        after = _after(known, run, session_id)
        if after is not None:
            forms[run.form.key] = after
    kept = _kept(list(forms.values()))
    value = cast("Json", record_to_json(CommandCounts(kept)))
    store.put_value(_NAMESPACE, project, value)


def read_counts(store: KeyValueStore, project: str) -> CommandCounts:
    """The counted forms of a project; none when another version wrote them."""
    value = store.get_value(_NAMESPACE, project)
    if not isinstance(value, dict):
        return CommandCounts()
    try:
        return record_from_json(CommandCounts, value)
    except UsageError:
        return CommandCounts()


def forget_counts(store: KeyValueStore, project: str) -> None:
    """Forget all counted forms of a project."""
    store.put_value(_NAMESPACE, project, None)


def _after(known: CommandCount, run: CommandRun, session_id: str) -> CommandCount | None:
    """The count after one more run; None when nothing is known of the form."""
    if not run.ok:
        if not known.runs or not _is_forms_fault(known, run):
            return known if known.runs else None
        is_newer = known.failed_at is None or run.at > known.failed_at
        return replace(known, failed_at=run.at, cause=run.cause) if is_newer else known
    is_new = session_id not in known.sessions
    others = tuple(one for one in known.sessions if one != session_id)
    pairs = zip(known.values or ((),) * len(run.form.values), run.form.values, strict=True)
    return replace(
        known,
        values=tuple(
            (*(one for one in seen if one != value), value)[-_MAX_VALUES:] for seen, value in pairs
        ),
        runs=known.runs + 1,
        session_count=known.session_count + is_new,
        sessions=(*others, session_id)[-_MAX_SESSIONS:],
        worked_at=max(run.at, known.worked_at or run.at),
    )


def _is_forms_fault(known: CommandCount, run: CommandRun) -> bool:
    """Whether a failure speaks against the form: the set-up failed, with values that worked."""
    if not run.cause or not is_setup_cause(run.cause):
        return False
    pairs = zip(known.values, run.form.values, strict=False)
    return all(value in seen for seen, value in pairs)


def _kept(counts: Sequence[CommandCount]) -> tuple[CommandCount, ...]:
    """The newest forms, those of several sessions first."""
    surplus = len(counts) - _MAX_FORMS
    if surplus <= 0:
        return tuple(counts)
    once = [one.form.key for one in counts if one.session_count < MIN_SESSIONS]
    dropped = set((once or [one.form.key for one in counts])[:surplus])
    return tuple(one for one in counts if one.form.key not in dropped)[-_MAX_FORMS:]


def _is_believed(count: CommandCount) -> bool:
    """Newest outcome wins."""
    if count.worked_at is None:
        return False
    return count.failed_at is None or count.failed_at <= count.worked_at


def _entry(
    counts: Sequence[CommandCount], replaced: Mapping[str, tuple[KnownWayOut, CommandForm]]
) -> WorkingCommand | None:
    """The entry of one family: its sessions together, in the form that worked most, then last."""
    sessions = dict.fromkeys(one for count in counts for one in count.sessions)
    session_count = max(len(sessions), *(count.session_count for count in counts))
    if session_count < MIN_SESSIONS:
        return None
    best = max(
        counts,
        key=lambda one: (one.form.key in replaced, one.session_count, one.worked_at, one.runs),
    )
    known, failing = replaced.get(best.form.key, (None, None))
    latest = max(count.worked_at for count in counts if count.worked_at is not None)
    return WorkingCommand(
        kind=best.form.kind,
        command=shown(best.form, _values(best, counts)),
        worked_at=latest,
        session_count=session_count,
        runs=sum(count.runs for count in counts),
        sessions=tuple(sessions)[-_MAX_SESSIONS:],
        fails=_failing_text(failing, _values(best, counts)) if failing else None,
        cause=known.way_out.cause if known else None,
        memory_id=known.memory.id if known else None,
        is_plain=not known and not best.form.unusual,
        score=_IMPORTANCE.get(best.form.kind, 2)
        + best.form.unusual
        + (4 if known else 0)
        + min(session_count, 6) / 2,
    )


def _values(best: CommandCount, counts: Sequence[CommandCount]) -> list[tuple[str, ...]]:
    """The values seen in each slot, by any form of the family that has such a slot."""
    seen: dict[str, dict[str, None]] = {}
    for count in counts:
        for slot, values in zip(slots(count.form), count.values, strict=False):
            seen.setdefault(slot, {}).update(dict.fromkeys(values))
    return [tuple(seen.get(slot, {})) for slot in slots(best.form)]


def _failing_text(failing: CommandForm, values: Sequence[Sequence[str]]) -> str:
    several = any(len(seen) > 1 for seen in values)
    return shown(failing, [() if several else (value,) for value in failing.values])


def _replaced_forms(engine: Engine, *, project: str) -> dict[str, tuple[KnownWayOut, CommandForm]]:
    """The failing form that each working form replaced, by the key of the working one."""
    found: dict[str, tuple[KnownWayOut, CommandForm]] = {}
    for memory, way_out in stored_way_outs(engine, project=project):
        if way_out.change in _NO_LESSON:
            continue
        failed, worked = form_of_line(way_out.failed), form_of_line(way_out.worked)
        if failed is not None and worked is not None and failed.key != worked.key:
            found.setdefault(worked.key, (KnownWayOut(memory, way_out, ""), failed))
    return found


def form_of_line(line: str) -> CommandForm | None:
    """The form of the main command of a line that starts in the project's root."""
    command = main_command(parse_command(line.removesuffix(" (from the project root)")))
    return command_form(command, folder=command.folder) if command else None
