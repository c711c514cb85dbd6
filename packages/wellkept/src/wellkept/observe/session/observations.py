"""Turn steps into observations.

Reads and searches are context for the next observation. Edits wait until something says what they
were for: a test that passes again, a commit, or the end of the turn.
Invariant: a pure function of state and step, so applying the same events again gives the same
observations.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.records import replace
from wellkept.core.session.events import Edit, ToolKind
from wellkept.core.text import shorten
from wellkept.observe.session.edits import combined, file_kind, read_edit
from wellkept.observe.session.failure_causes import tells_cause
from wellkept.observe.session.failures import (
    add_failure,
    add_worked,
    close_failure,
    verification,
)
from wellkept.observe.session.observation_rules import (
    ObservationNote,
    PromptContext,
    change_notes,
    commit_note,
    install_note,
    migration_note,
    unsolved_note,
)
from wellkept.observe.session.state import FileChange, SessionState, joined
from wellkept.text.events.tool_steps import ToolStep
from wellkept.text.shell.environment import ToolContext
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import (
    ShellCommand,
    files_written,
    installed_packages,
    read_commit,
)

MAX_CHANGES = 30


class StepObserver:
    """Observes the steps of one agent. `state` and `notes` are the result."""

    def __init__(self, state: SessionState, agent: str | None, *, prompt: PromptContext) -> None:
        self.state = state
        self.notes: list[ObservationNote] = []
        self._work = state.work_of(agent)
        self._failures = state.failures
        self._prompt = prompt

    def step(self, step: ToolStep, *, context: ToolContext) -> None:
        """Observe one step."""
        call = step.call
        if step.edits:
            self._edits(step, context)
        else:
            self._work = replace(
                self._work,
                tokens=self._work.tokens + step.tokens,
                files_read=joined(self._work.files_read, step.files_read),
            )
        if call.kind in (ToolKind.SEARCH, ToolKind.WEB) and call.query:
            searches = joined(self._work.searches, (shorten(call.query, limit=80),))
            self._work = replace(self._work, searches=searches)
        elif step.failure is not None:
            self._failures = add_failure(
                self._failures, step.failure, agent=step.agent, step=step.number
            )
            self._work = replace(self._work, verified_by=None)
        elif step.main is not None and step.ok:
            self._worked(step, context)
        self._save()

    def finish(self) -> None:
        """Report what is still open: at the end of a turn or session, or at the next prompt."""
        self._report(self._work.changes)
        agent = self._work.agent
        for failure in self._failures:
            is_open = failure.agent == agent and not failure.reported
            if is_open and tells_cause(failure):
                self._work, note = unsolved_note(self._work, failure, prompt=self._prompt)
                self.notes.append(note)
        self._failures = tuple(
            replace(f, reported=True) if f.agent == agent else f for f in self._failures
        )
        self._work = replace(self._work, verified_by=None)
        self._save()

    def _save(self) -> None:
        self.state = replace(self.state, failures=self._failures).with_work(self._work)

    def _report(self, changes: Sequence[FileChange]) -> None:
        self._work, notes = change_notes(self._work, changes, prompt=self._prompt)
        self.notes += notes

    # -- Edits ------------------------------------------------------------------------------------

    def _edits(self, step: ToolStep, context: ToolContext) -> None:
        edited = max(1, len(step.call.edits or step.call.files))
        changes = [
            read_edit(
                edit,
                path=name,
                step=step.number,
                tokens=step.tokens // edited,
                read_file=context.read_file,
            )
            for name, edit in step.edits
        ]
        self._add_changes([self._not_new(change, context) for change in changes])

    def _not_new(self, change: FileChange, context: ToolContext) -> FileChange:
        """A file that was seen before is not created; clients do not always send its old text."""
        if not change.created:
            return change
        known = next((one for one in self._work.changes if one.path == change.path), None)
        if known.created if known else not context.is_known(change.path):
            return change
        return replace(change, created=False, added=(), changed=change.added)

    def _add_changes(self, changes: Sequence[FileChange]) -> None:
        by_path = {change.path: change for change in self._work.changes}
        for change in changes:
            before = by_path.pop(change.path, None)
            by_path[change.path] = combined(before, change) if before else change
        self._work = replace(self._work, changes=tuple(by_path.values()), verified_by=None)
        if len(by_path) > MAX_CHANGES:
            self._report(self._work.changes[: MAX_CHANGES // 2])

    # -- Commands ---------------------------------------------------------------------------------

    def _worked(self, step: ToolStep, context: ToolContext) -> None:
        written = [
            self._written(path, text, step.number, context)
            for path, text in files_written(step.commands)
        ]
        if changes := [change for change in written if change]:
            self._add_changes(changes)
        for command in step.commands:
            if command.purpose is not Purpose.LOOK:
                self._command_worked(step, command, context)

    def _command_worked(self, step: ToolStep, command: ShellCommand, context: ToolContext) -> None:
        self._failures, self._work, closed = close_failure(
            self._failures, self._work, command, step.tests, prompt=self._prompt
        )
        self.notes += closed
        self._failures = add_worked(self._failures, command, agent=self._work.agent)
        match command.purpose:
            case Purpose.TEST:
                self._work = replace(self._work, verified_by=verification(command, step.tests))
            case Purpose.COMMIT:
                self._commit(step, context)
            case Purpose.INSTALL if names := installed_packages(command):
                self._work, note = install_note(self._work, command, names, prompt=self._prompt)
                self.notes.append(note)
            case Purpose.MIGRATE:
                self._work, note = migration_note(self._work, command, prompt=self._prompt)
                self.notes.append(note)
            case _:
                pass

    def _commit(self, step: ToolStep, context: ToolContext) -> None:
        commit = read_commit(step.commands, step.call.output)
        if commit is None:
            return
        files = context.commit_files(commit.sha) if commit.sha else ()
        self._work, note = commit_note(self._work, commit, files=files, prompt=self._prompt)
        self.notes.append(note)

    def _written(
        self, path: str, text: str, number: int, context: ToolContext
    ) -> FileChange | None:
        """A file written by a heredoc; whether it existed before is unknown."""
        name = context.relative(path)
        if name is None or file_kind(name) == "other":
            return None
        return read_edit(
            Edit(path, "", text),
            path=name,
            step=number,
            tokens=len(text) // 4,
            read_file=context.read_file,
        )


def open_agents(state: SessionState) -> list[str | None]:
    """Agents with unreported work or failures."""
    named = [work.agent for work in state.agents] + [f.agent for f in state.failures]
    return list(dict.fromkeys(named))
