"""Collect signals: the steps of a session become entries on its scratchpad.

Takes cleaned prompts and parsed steps only, each once, in order. Writes nothing: the scratchpad is
stored in the same transaction as the events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from wellkept.core.clock import to_ms
from wellkept.core.records import replace
from wellkept.core.session.events import Edit, ToolCalled, ToolKind
from wellkept.core.session.scratchpad import (
    Backtrack,
    BacktrackCause,
    CoAccess,
    ErrorRetry,
    Scratchpad,
    ScratchpadStatus,
    SequenceStep,
    SessionCommit,
    TaskScratchpad,
)
from wellkept.core.session.steps import SessionStep
from wellkept.core.text import content_words, shorten
from wellkept.observe import thresholds
from wellkept.observe.signals.dead_ends import (
    abandoned,
    abandoned_in_text,
    approach_of,
    can_explain_undo,
    stash_action,
    undone_paths,
)
from wellkept.observe.signals.error_endings import ending, is_same_task
from wellkept.observe.signals.scratchpad import ScratchpadBuilder
from wellkept.observe.signals.state import (
    MAX_PAGES,
    MAX_TOUCHES,
    EditMark,
    FileTouch,
    SignalState,
    edit_mark,
    removed_lines,
    text_hash,
    with_edit,
)
from wellkept.observe.signals.todo_plan import read_plan
from wellkept.observe.signals.validation_events import scope_of, validation_of
from wellkept.text.events.failure_cause import prints_others
from wellkept.text.events.tool_steps import CommandFailure, ToolStep, short_call
from wellkept.text.shell.environment import ToolContext
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import ShellCommand, read_commit
from wellkept.text.shell.results import error_signature
from wellkept.text.speech import decisions_in

_MAX_PATH_CHARS = 400
_MAX_CASCADE = 3
_SUBJECT_CHARS = 60
_MIN_REQUEST_WORDS = 4
_UNDOES_COMMIT = re.compile(r"\bgit\s+(?:revert\b|reset\s+(?:--\w+\s+)*(?:HEAD[~^]|@~))")


class SignalCollector:
    """Builds the scratchpad of one session. `state` is carried between events."""

    def __init__(self, pad: Scratchpad, state: SignalState, *, step: int) -> None:
        self.state = state
        self._pad = pad
        self._step = step
        self._tasks = {task.name: ScratchpadBuilder(task) for task in pad.tasks}
        self._planned, self._done = pad.planned, pad.done
        self._request = pad.request
        self._at = pad.updated_at
        self._has_changed = False
        self._read_range = ""

    def result(self) -> Scratchpad:
        """The scratchpad as it is now; the same object when nothing changed."""
        if not self._has_changed:
            return self._pad
        tasks = tuple(task.build() for task in self._tasks.values())
        reopened = any(task.changed for task in self._tasks.values())
        return replace(
            self._pad,
            updated_at=self._at,
            state=ScratchpadStatus.OPEN if reopened else self._pad.state,
            step=self._step,
            request=self._request,
            planned=self._planned,
            done=self._done,
            tasks=tasks,
        )

    # -- Events -----------------------------------------------------------------------------------

    def prompt(self, text: str, *, request: str | None, at: datetime) -> None:
        """A prompt of a person: decisions are noted."""
        self._arrive(at)
        self._request = self._request or request
        self._put(prompt=request, prompt_step=self._step)
        self._add_decisions(text)

    def message(self, text: str, *, at: datetime) -> None:
        """The agent's last message of a turn."""
        self._arrive(at)
        task = self._task
        for approach, reason in abandoned_in_text(text):
            files = tuple(dict.fromkeys(mark.path for mark in self._unsettled()))
            task.add_dead_end(
                abandoned(
                    approach, reason, files=files, first=self._step, last=self._step, said=True
                )
            )
            task.changed = True

        self._add_decisions(text)

    def _add_decisions(self, text: str) -> None:
        for sentence in decisions_in(text):
            self._task.decisions[shorten(sentence, limit=200)] = None

    def raw_call(self, call: ToolCalled) -> None:
        """A call before its input is removed: the range of a read, and the agent's to-do plan."""
        self._read_range = call.input[:_MAX_PATH_CHARS] if call.kind is ToolKind.READ else ""
        plan = read_plan(call, self.state.plan)
        if plan is None:
            return
        self._has_changed = True
        self._planned, self._done = plan.planned, plan.done
        self._put(task=plan.current, plan=plan)

    def compacted(self) -> None:
        """The agent lost what it had read; reading it again is no signal."""
        self._has_changed = True
        self._put(pages=())

    def step(self, step: ToolStep, *, log: Sequence[SessionStep], context: ToolContext) -> None:
        """A tool call; `log` is the step log before it."""
        self._arrive(step.call.origin.at)
        self._step = step.number
        task = self._task
        task.tokens += step.tokens
        task.last_step = self._step
        if step.edits:
            self._edit(step)
        elif step.commands:
            self._shell(step, log, context)
        elif step.call.kind is ToolKind.READ and step.ok:
            self._touch(step.files_read, step, edited=False)
            self._page(step)

    # -- Files ------------------------------------------------------------------------------------

    def _touch(self, paths: Sequence[str], step: ToolStep, *, edited: bool) -> None:
        names = dict.fromkeys(path for path in paths if len(path) <= _MAX_PATH_CHARS)
        at_ms = to_ms(step.call.origin.at)
        self._dwell(at_ms, step.agent)
        for name in names:
            touch = FileTouch(name, self._step, at_ms, edited, step.agent)
            self._task.touch(name, step=self._step, edited=edited)
            self._pair(touch)
            self._put(touches=(*self.state.touches, touch)[-MAX_TOUCHES:])

    def _page(self, step: ToolStep) -> None:
        """Reading a long file part by part is one reading; the same part again is another."""
        for name in step.files_read:
            page = text_hash(f"{step.agent}\n{name}\n{self._read_range}")
            if page in self.state.pages:
                self._task.reread(name)
            else:
                self._put(pages=(*self.state.pages, page)[-MAX_PAGES:])

    def _pair(self, touch: FileTouch) -> None:
        """Count the files that the same agent used within a few steps."""
        near: dict[str, FileTouch] = {}
        for other in self.state.touches:
            is_near = touch.step - other.step <= thresholds.CO_ACCESS_STEPS
            if is_near and other.agent == touch.agent and other.path != touch.path:
                was = near.get(other.path)
                near[other.path] = other if was is None or other.edited or not was.edited else was
        for other in near.values():
            file_a, file_b = sorted((touch.path, other.path))
            self._task.pair(
                CoAccess(
                    file_a,
                    file_b,
                    count=1,
                    a_first=int(other.path == file_a),
                    step_delta=touch.step - other.step,
                    time_delta_ms=max(0, touch.at_ms - other.at_ms),
                    edited=touch.edited or other.edited,
                    step=touch.step,
                    both_edited=touch.edited and other.edited,
                )
            )

    def _dwell(self, at_ms: int, agent: str | None) -> None:
        """Count the time since the last file use for that file, unless the pause was long."""
        last = self.state.touches[-1] if self.state.touches else None
        if last is None or last.agent != agent:
            return
        spent = at_ms - last.at_ms
        if 0 < spent <= thresholds.MAX_DWELL_MS:
            self._task.dwell(last.path, spent)

    def _edit(self, step: ToolStep) -> None:
        for name, edit in step.edits:
            self._backtrack(name, edit)
            mark = edit_mark(edit, path=name, step=self._step)
            self._put(edits=with_edit(self.state.edits, mark))
            if self._is_reverted(name):
                self._give_up([name])
            self._task.add_step(SequenceStep("edit", scope_of(name), name))
        self._task.changed = True
        self._touch([name for name, _ in step.edits], step, edited=True)

    def _backtrack(self, path: str, edit: Edit) -> None:
        """Lines that were written a few steps ago are rewritten after something else happened."""
        removed = removed_lines(edit)
        before = next(
            (
                mark
                for mark in reversed(self.state.edits)
                if mark.path == path
                and 0 < self._step - mark.step <= thresholds.RE_EDIT_STEPS
                and removed.intersection(mark.lines)
            ),
            None,
        )
        if before is None:
            return
        within = self._step - before.step
        for cause, files, hint in self._causes(path, before):
            self._task.backtrack(Backtrack(path, within, cause, 1, self._step, files, hint))

    def _causes(
        self, path: str, before: EditMark
    ) -> Iterator[tuple[BacktrackCause, tuple[str, ...], str | None]]:
        """Why an edit was redone: what was edited, what failed or what was read in between."""
        others = self._edited_since(before.step, but=path)
        if others:
            for other in others[:_MAX_CASCADE]:
                yield "cascading_change", (other,), None
        elif self.state.failed_step > before.step:
            if self.state.failure_message is not None:
                yield "wrong_assumption", (), self.state.failure_message
        else:
            read = [touch.path for touch in self.state.touches if touch.step > before.step]
            for other in [one for one in read if one != path][-1:]:
                yield "missing_context", (other,), None

    def _edited_since(self, step: int, *, but: str = "") -> tuple[str, ...]:
        later = (mark.path for mark in self.state.edits if mark.step > step)
        return tuple(dict.fromkeys(path for path in later if path != but))

    # -- Dead ends --------------------------------------------------------------------------------

    def _is_reverted(self, path: str) -> bool:
        """Whether every edit of a file since the last commit was reverted by another."""
        marks = [mark for mark in self._unsettled() if mark.path == path]
        return bool(marks) and all(mark.void for mark in marks)

    def _unsettled(self) -> list[EditMark]:
        return [mark for mark in self.state.edits if mark.step > self.state.settled_step]

    def _give_up(self, paths: Sequence[str] | None, *, until: int | None = None) -> None:
        """Edits since the last commit were undone. A dead end after real effort with a known
        reason."""
        undone = [
            mark
            for mark in self._unsettled()
            if (paths is None or mark.path in paths) and (until is None or mark.step <= until)
        ]
        if not undone:
            return
        self._put(edits=tuple(mark for mark in self.state.edits if mark not in undone))
        first, reason = undone[0].step, self._reason(undone[0].step)
        if self._step - first < thresholds.DEAD_END_STEPS or reason is None:
            return
        files = tuple(dict.fromkeys(mark.path for mark in undone))
        approach = approach_of(files, sample=undone[0].sample, request=self._task_request())
        self._task.add_dead_end(
            abandoned(approach, reason, files=files, first=first, last=self._step, said=False)
        )

    def _task_request(self) -> str | None:
        """The prompt that the work was for; a word or two say nothing about it."""
        prompt = self.state.prompt or self._request
        return prompt if prompt and len(content_words(prompt)) >= _MIN_REQUEST_WORDS else None

    def _reason(self, first: int) -> str | None:
        """Why work since a step was undone: a failure, or the last prompt. A failed check is a
        slip, not a reason."""
        state = self.state
        is_recent = self._step - state.prompt_step <= thresholds.DEAD_END_STEPS
        is_prompted = first <= state.prompt_step and is_recent and can_explain_undo(state.prompt)
        said = f"“{state.prompt}”" if is_prompted else None
        is_failed = state.failed_step > first and not state.failed_check
        failed = state.failure_message if is_failed else None
        return said or failed if state.prompt_step >= state.failed_step else failed or said

    # -- Commands ---------------------------------------------------------------------------------

    def _shell(self, step: ToolStep, log: Sequence[SessionStep], context: ToolContext) -> None:
        command = step.call.command or ""
        if step.call.error is None:
            self._touch(step.files_read, step, edited=False)
        self._validate(step)
        if step.call.error is None:
            self._undo(command, context)
        if step.main is None or step.stopped:
            return
        if step.failure is not None:
            self._fail(step.failure)
            return
        self._task.add_step(SequenceStep("run", step.main.subject, short_call(step.main)))
        self._resolve(step.main, log)
        if any(one.purpose is Purpose.COMMIT for one in step.commands):
            self._commit(step, context)

    def _validate(self, step: ToolStep) -> None:
        found = validation_of(step)
        if found is None:
            return
        task = self._task
        task.validate(
            replace(
                found,
                step=self._step,
                at_ms=to_ms(step.call.origin.at),
                edits_before=task.edit_count,
            )
        )
        task.changed = True

    def _undo(self, command: str, context: ToolContext) -> None:
        """Git commands that undo, stash or drop work."""
        stash, undone = stash_action(command), undone_paths(command)
        if stash == "drop" and self.state.stashed_step:
            self._give_up(None, until=self.state.stashed_step)
        if stash is not None:
            self._put(stashed_step=self._step if stash == "push" else 0)
        if undone is not None:
            named = [name for path in undone if (name := context.relative(path))]
            self._give_up(named if undone else None)
        if _UNDOES_COMMIT.search(command):
            for task in self._tasks.values():
                if task.commits:
                    task.commits[-1] = replace(task.commits[-1], undone=True)

    def _fail(self, failure: CommandFailure) -> None:
        command = failure.command
        self._put(
            failed_step=self._step,
            failure_message=failure.message,
            failed_check=command.purpose is Purpose.CHECK,
        )
        if failure.error is None or failure.message is None or prints_others(command):
            return
        subject = shorten(" ".join(command.subject.split()), limit=_SUBJECT_CHARS)
        of_test = f"{failure.test}: " if failure.test else ""
        error = ErrorRetry(
            error_signature(f"{subject}: {of_test}", failure.error), subject, failure.message, 1,
            self._step, self._step, short_call(command),
            in_progress=command.purpose in (Purpose.TEST, Purpose.CHECK),
        )  # fmt: skip
        # A test that fails while it is worked on is work in progress.
        self._task.fail(error, counts_again=command.purpose is not Purpose.TEST)

    def _resolve(self, command: ShellCommand, log: Sequence[SessionStep]) -> None:
        """Note what ended the errors of a command that works now."""
        for signature, error in list(self._task.errors.items()):
            if error.resolved_how is not None or not is_same_task(error, command):
                continue
            edited = self._edited_since(error.last_step)
            end = ending(error, command, between=_worked_since(log, error.last_step), edited=edited)
            if end is not None:
                how, by = end
                files = self._mending(error, edited, log) if by == "edit" else ()
                self._task.errors[signature] = replace(
                    error, resolved_how=how, resolved_by=by, files=files
                )

    def _mending(
        self, error: ErrorRetry, edited: Sequence[str], log: Sequence[SessionStep]
    ) -> tuple[str, ...]:
        """The edits that can be the remedy: of files that the error names, or the only change there
        was when nothing else was done in between."""
        named = tuple(path for path in edited if path.rpartition("/")[2] in error.message)
        is_only = len(edited) == 1 and not _worked_since(log, error.last_step)
        return named[:8] or (tuple(edited) if is_only else ())

    def _commit(self, step: ToolStep, context: ToolContext) -> None:
        made = read_commit(step.commands, step.call.output)
        if made is None:
            return
        files = context.commit_files(made.sha) if made.sha else ()
        edited = files or tuple(dict.fromkeys(mark.path for mark in self._unsettled()))
        self._task.commit(
            SessionCommit(
                made.sha,
                shorten(made.subject, limit=120),
                self._step,
                edited[:40],
                edits_before=self._task.edit_count,
            )
        )
        self._put(settled_step=self._step)
        self._task.changed = True

    # -- Parts ------------------------------------------------------------------------------------

    @property
    def _task(self) -> ScratchpadBuilder:
        """The part of the current sub-task; with too many sub-tasks, the last one is shared."""
        task = self.state.task
        if task not in self._tasks and len(self._tasks) >= thresholds.MAX_TASKS:
            task = next(reversed(self._tasks))
        if task not in self._tasks:
            self._tasks[task] = ScratchpadBuilder(TaskScratchpad(task, self._step, self._step))
        return self._tasks[task]

    def _arrive(self, at: datetime) -> None:
        self._has_changed = True
        self._at = max(self._at, at)

    def _put(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]


def _worked_since(log: Sequence[SessionStep], step: int) -> list[str]:
    """Commands that worked after a step, but for tests, commits and looking around."""
    return [
        entry.what
        for entry in log
        if entry.number > step
        and entry.kind == "run"
        and entry.ok
        and entry.purpose not in ("test", "commit", "look")
    ]
