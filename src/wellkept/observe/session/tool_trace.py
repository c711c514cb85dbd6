"""What an agent does, call by call, and the observations that come of it.

Reads and searches alone are no observation; they are the context of the next one. Edits wait until
something tells what they were for: a test that passes again, a commit, or the end of the turn.
Invariant: everything here is a function of the thread and the call, so that taking the same events
again gives the same observations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from wellkept.core.events import Edit, ToolCalled, ToolKind
from wellkept.core.records import record, replace
from wellkept.core.session_steps import SessionStep
from wellkept.core.text import shorten
from wellkept.observe.reading.command_purpose import Purpose
from wellkept.observe.reading.command_results import TestResult, error_line, read_tests, was_stopped
from wellkept.observe.reading.sanitize import MAX_COMMAND_CHARS
from wellkept.observe.reading.shell import (
    ShellCommand,
    files_shown,
    files_written,
    installed_packages,
    main_command,
    parse_command,
    read_commit,
)
from wellkept.observe.session import failures as failing
from wellkept.observe.session.edits import ReadFile, combined, file_kind, read_edit
from wellkept.observe.session.observation_rules import (
    Note,
    PromptContext,
    commit_note,
    install_note,
    migration_note,
    unsolved_note,
    works_notes,
)
from wellkept.observe.session.state import AgentTrace, FileWork, joined
from wellkept.observe.session.step_log import edit_steps, run_step, tool_step

MAX_WORKS = 30
MOST_CALL_TOKENS = 25_000
"""What Claude Code lets an MCP tool answer; of a command's output it shows less still."""

Relative: TypeAlias = Callable[[str], "str | None"]
CommitFiles: TypeAlias = Callable[[str], "tuple[str, ...]"]


@record
class ToolContext:
    """Where the work happens: which files the session has seen, their names inside the project,
    what they hold now, and git's word."""

    is_known: Callable[[str], bool]
    relative: Relative
    read_file: ReadFile
    commit_files: CommitFiles


@record
class TraceUpdate:
    """The thread after a call, what the call made known, and the steps that it was."""

    thread: AgentTrace
    notes: tuple[Note, ...] = ()
    steps: tuple[SessionStep, ...] = ()


def take_call(
    thread: AgentTrace, call: ToolCalled, *, cost: int, scene: PromptContext, around: ToolContext
) -> TraceUpdate:
    """Take one cleaned tool call that cost so many tokens."""
    thread = replace(thread, step=thread.step + 1)
    if call.kind in (ToolKind.EDIT, ToolKind.WRITE):
        return _take_edits(thread, call, cost, scene=scene, around=around)
    thread = replace(thread, tokens=thread.tokens + cost)
    if call.kind is ToolKind.READ:
        return TraceUpdate(_having_read(thread, call.files, around))
    if call.kind in (ToolKind.SEARCH, ToolKind.WEB):
        asked = (shorten(call.query, limit=80),) if call.query else ()
        return TraceUpdate(replace(thread, searches=joined(thread.searches, asked)))
    if call.kind is ToolKind.SHELL and call.command:
        return _take_shell(thread, call, call.command, scene=scene, around=around)
    step = tool_step(call)
    return TraceUpdate(thread, steps=(step,) if step else ())


def finish(thread: AgentTrace, *, scene: PromptContext) -> TraceUpdate:
    """Tell what is still held: at the end of a turn or a session, or when the next prompt comes."""
    thread, notes = works_notes(thread, thread.works, scene=scene)
    for failure in thread.failures:
        if not failure.told and failing.is_worth_telling(failure):
            thread, note = unsolved_note(thread, failure, scene=scene)
            notes = (*notes, note)
    kept = tuple(replace(f, told=True) for f in thread.failures)
    return TraceUpdate(replace(thread, failures=kept, verified_by=None), notes)


def reads_output(call: ToolCalled) -> bool:
    """Whether what came back from a call is looked at: of tests, commits and failures it is."""
    if call.kind is not ToolKind.SHELL or not call.command:
        return False
    purposes = {run.purpose for run in parse_command(call.command[:MAX_COMMAND_CHARS])}
    return call.error is not None or bool(purposes & {Purpose.TEST, Purpose.COMMIT})


def call_tokens(call: ToolCalled) -> int:
    """About what a call cost: a quarter of the characters that went in and came out, and no more
    than clients let through."""
    edited = sum(len(edit.before) + len(edit.after) for edit in call.edits)
    chars = max(len(call.input), edited, len(call.command or "")) + len(call.output)
    return min((chars + 3) // 4, MOST_CALL_TOKENS)


def _having_read(thread: AgentTrace, paths: Sequence[str], around: ToolContext) -> AgentTrace:
    read = tuple(name for path in paths if (name := around.relative(path)))
    return replace(thread, files_read=joined(thread.files_read, read))


# -- Edits ----------------------------------------------------------------------------------------


def _take_edits(
    thread: AgentTrace, call: ToolCalled, cost: int, *, scene: PromptContext, around: ToolContext
) -> TraceUpdate:
    if call.error is not None:
        return TraceUpdate(replace(thread, tokens=thread.tokens + cost))
    edits = call.edits or tuple(Edit(path, "", "") for path in call.files)
    works = [
        read_edit(
            edit,
            path=name,
            step=thread.step,
            tokens=cost // len(edits),
            read_file=around.read_file,
        )
        for edit in edits
        if (name := around.relative(edit.path))
    ]
    if not works:
        return TraceUpdate(replace(thread, tokens=thread.tokens + cost))
    known = [_not_new(work, thread, around) for work in works]
    steps = edit_steps(edits, relative=around.relative)
    return replace(_holding(thread, known, scene=scene), steps=steps)


def _not_new(work: FileWork, thread: AgentTrace, around: ToolContext) -> FileWork:
    """A file that was seen before is not created; clients do not always say what it held."""
    if not work.created:
        return work
    held = next((w for w in thread.works if w.path == work.path), None)
    if held.created if held else not around.is_known(work.path):
        return work
    return replace(work, created=False, added=(), changed=work.added)


def _holding(thread: AgentTrace, works: Sequence[FileWork], *, scene: PromptContext) -> TraceUpdate:
    held = {work.path: work for work in thread.works}
    for work in works:
        before = held.pop(work.path, None)
        held[work.path] = combined(before, work) if before else work
    thread = replace(thread, works=tuple(held.values()), verified_by=None)
    if len(held) <= MAX_WORKS:
        return TraceUpdate(thread)
    return TraceUpdate(*works_notes(thread, thread.works[: MAX_WORKS // 2], scene=scene))


# -- Commands -------------------------------------------------------------------------------------


def _take_shell(
    thread: AgentTrace, call: ToolCalled, command: str, *, scene: PromptContext, around: ToolContext
) -> TraceUpdate:
    found = parse_command(command)
    thread = _having_read(thread, files_shown(found), around)
    main = main_command(found)
    if main is None:
        return _stepped(TraceUpdate(thread), call, found, ok=call.error is None)
    result = read_tests(call.output + "\n" + (call.error or "")) if _tests(found) else None
    if call.error is not None or (result is not None and result.is_failure):
        if was_stopped(call.error):
            return TraceUpdate(thread)
        return _stepped(TraceUpdate(_failed(thread, call, main, result)), call, found, ok=False)
    taken = _worked(thread, call, found, result, scene=scene, around=around)
    return _stepped(taken, call, found, ok=True)


def _stepped(
    taken: TraceUpdate, call: ToolCalled, found: Sequence[ShellCommand], *, ok: bool
) -> TraceUpdate:
    error = None if ok else error_line(call.output, call.error)
    step = run_step(call.command or "", found, ok=ok, error=error)
    return replace(taken, steps=(step,)) if step else taken


def _tests(found: Sequence[ShellCommand]) -> bool:
    return any(run.purpose is Purpose.TEST for run in found)


def _failed(
    thread: AgentTrace, call: ToolCalled, main: ShellCommand, result: TestResult | None
) -> AgentTrace:
    names = result.names if result else ()
    error = error_line(call.output, call.error)
    failures = failing.with_failure(
        thread.failures, main, names=names, error=error, step=thread.step
    )
    return replace(thread, failures=failures, verified_by=None)


def _worked(
    thread: AgentTrace,
    call: ToolCalled,
    found: Sequence[ShellCommand],
    result: TestResult | None,
    *,
    scene: PromptContext,
    around: ToolContext,
) -> TraceUpdate:
    notes: list[Note] = []
    written = [_written(path, text, thread, around) for path, text in files_written(found)]
    works = [work for work in written if work]
    if works:
        taken = _holding(thread, works, scene=scene)
        thread = taken.thread
        notes += taken.notes
    for run in (run for run in found if run.purpose is not Purpose.LOOK):
        thread, made = _run_worked(thread, call, run, result, scene=scene, around=around)
        notes += made
    return TraceUpdate(thread, tuple(notes))


def _run_worked(
    thread: AgentTrace,
    call: ToolCalled,
    run: ShellCommand,
    result: TestResult | None,
    *,
    scene: PromptContext,
    around: ToolContext,
) -> tuple[AgentTrace, list[Note]]:
    thread, solved = failing.solved_by(thread, run, result, scene=scene)
    notes = list(solved)
    thread = replace(thread, failures=failing.passed_by(thread.failures, run))
    if run.purpose is Purpose.TEST:
        thread = replace(thread, verified_by=failing.verification(run, result))
    elif run.purpose is Purpose.COMMIT and (
        made := read_commit(parse_command(call.command or ""), call.output)
    ):
        listed = around.commit_files(made.sha) if made.sha else ()
        thread, note = commit_note(thread, made, files=listed, scene=scene)
        notes.append(note)
    elif run.purpose is Purpose.INSTALL and (names := installed_packages(run)):
        thread, note = install_note(thread, run, names, scene=scene)
        notes.append(note)
    elif run.purpose is Purpose.MIGRATE:
        thread, note = migration_note(thread, run, scene=scene)
        notes.append(note)
    return thread, notes


def _written(path: str, text: str, thread: AgentTrace, around: ToolContext) -> FileWork | None:
    """A file written by the command line itself; whether it was there before is not known."""
    name = around.relative(path)
    if name is None or file_kind(name) == "other":
        return None
    edit = Edit(path, "", text)
    return read_edit(
        edit, path=name, step=thread.step, tokens=len(text) // 4, read_file=around.read_file
    )
