"""Noticing: the events of a session become signals on its scratchpad.

Takes cleaned events only, each once, in the order in which they come. Nothing is written here and
no model is asked; what was noticed goes into the store in the same transaction as the events.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from holdfast.core.clock import to_ms
from holdfast.core.events import Edit, ToolCalled, ToolKind
from holdfast.core.observer import (
    Backtrack,
    Cause,
    CoAccess,
    CommitMade,
    ErrorRetry,
    PadNote,
    PadState,
    Scratchpad,
    SequenceStep,
    Sheet,
    Validation,
)
from holdfast.core.records import replace
from holdfast.core.text import content_words, shorten
from holdfast.observe.learning import thresholds as t
from holdfast.observe.learning.giving_up import given_up, said_given_up, undoing
from holdfast.observe.learning.lookout import (
    MOST_EDITS,
    MOST_RUNS,
    MOST_TOUCHES,
    EditMark,
    Ran,
    Touch,
    dump_lookout,
    edit_mark,
    lines_before,
    load_lookout,
)
from holdfast.observe.learning.plans import read_plan
from holdfast.observe.learning.proofs import error_signature, instructions, proof_of, scope_of
from holdfast.observe.learning.sheets import OpenSheet
from holdfast.observe.results import error_line, read_tests, short_test_name
from holdfast.observe.saying import decisions
from holdfast.observe.shell import Purpose, Run, files_shown, main_run, read_commit, runs
from holdfast.observe.thread import Surroundings

_HINT_CHARS = 160
_LONGEST_PATH = 400
_TAKES_COMMIT_BACK = re.compile(r"\bgit\s+(?:revert\b|reset\s+(?:--\w+\s+)*(?:HEAD[~^]|@~))")


class Noticing:
    """The scratchpad of one session under way."""

    def __init__(self, pad: Scratchpad) -> None:
        self._pad = pad
        self._step = pad.step
        self._look = load_lookout(pad.work)
        self._sheets = {sheet.task: OpenSheet(sheet) for sheet in pad.sheets}
        self._planned, self._done = pad.planned, pad.done
        self._request = pad.request
        self._at = pad.updated_at
        self._seen = False

    def result(self) -> Scratchpad:
        """The scratchpad as it is now; the very same when nothing was noticed."""
        if not self._seen:
            return self._pad
        sheets = tuple(sheet.closed() for sheet in self._sheets.values())
        reopened = any(sheet.changed for sheet in self._sheets.values())
        return replace(
            self._pad,
            updated_at=self._at,
            state=PadState.OPEN if reopened else self._pad.state,
            step=self._step,
            request=self._request,
            planned=self._planned,
            done=self._done,
            sheets=sheets,
            work=dump_lookout(self._look),
        )

    # -- Events -----------------------------------------------------------------------------------

    def prompt(self, text: str, *, request: str | None, at: datetime) -> None:
        """A person said something; standing instructions are noted."""
        self._arrive(at)
        self._request = self._request or request
        for sentence in instructions(text):
            self._note(sentence, at=at)
        self._decide(text)

    def message(self, text: str | None, *, at: datetime) -> None:
        """The agent's last words of a turn."""
        self._arrive(at)
        sheet = self._sheet
        for approach, why in said_given_up(text):
            files = tuple(e.path for e in self._look.edits if e.step > self._look.settled_step)
            sheet.give_up(
                given_up(approach, why, files=files, first=self._step, last=self._step, said=True)
            )
            sheet.changed = True
        self._decide(text)

    def plan(self, call: ToolCalled) -> None:
        """The agent wrote down its plan; what is under way names the sub-task."""
        plan = read_plan(call)
        if plan is None:
            return
        self._seen = True
        self._planned = self._planned or plan.items
        self._done = max(self._done, plan.done)
        self._look = replace(self._look, task=plan.current)

    def call(
        self,
        call: ToolCalled,
        *,
        cost: int,
        around: Surroundings,
    ) -> None:
        """A tool came back, at a cost in tokens."""
        self._arrive(call.origin.at)
        self._step += 1
        sheet = self._sheet
        sheet.tokens += cost
        sheet.last_step = self._step
        if call.error is None and call.kind is ToolKind.READ:
            self._touch(call.files, call, around, edited=False)
        elif call.error is None and call.kind in (ToolKind.EDIT, ToolKind.WRITE):
            self._edit(call, around)
        elif call.kind is ToolKind.SHELL and call.command:
            self._shell(call, call.command, around)

    # -- Files ------------------------------------------------------------------------------------

    def _touch(
        self, paths: Sequence[str], call: ToolCalled, around: Surroundings, *, edited: bool
    ) -> None:
        names = dict.fromkeys(
            name for path in paths if (name := around.relative(path)) and len(name) <= _LONGEST_PATH
        )
        at_ms = to_ms(call.origin.at)
        self._dwell(at_ms, call.origin.agent)
        for name in names:
            touch = Touch(name, self._step, at_ms, edited, call.origin.agent)
            self._sheet.touch(name, step=self._step, edited=edited)
            self._pair(touch)
            kept = (*self._look.touches, touch)[-MOST_TOUCHES:]
            self._look = replace(self._look, touches=kept)

    def _pair(self, touch: Touch) -> None:
        """Files that the same agent used within a few steps."""
        near: dict[str, Touch] = {}
        for other in self._look.touches:
            is_near = touch.step - other.step <= t.CO_ACCESS_STEPS
            if is_near and other.agent == touch.agent and other.path != touch.path:
                near[other.path] = other
        for other in near.values():
            file_a, file_b = sorted((touch.path, other.path))
            self._sheet.pair(
                CoAccess(
                    file_a,
                    file_b,
                    count=1,
                    a_first=int(other.path == file_a),
                    step_delta=touch.step - other.step,
                    time_delta_ms=max(0, touch.at_ms - other.at_ms),
                    edited=touch.edited or other.edited,
                    step=touch.step,
                )
            )

    def _dwell(self, at_ms: int, agent: str | None) -> None:
        """The time since a file was used is spent on it, unless somebody went away."""
        last = self._look.touches[-1] if self._look.touches else None
        if last is None or last.agent != agent:
            return
        spent = at_ms - last.at_ms
        if 0 < spent <= t.MOST_DWELL_MS:
            self._sheet.dwell(last.path, spent)

    def _edit(self, call: ToolCalled, around: Surroundings) -> None:
        edits = call.edits or tuple(Edit(path, "", "") for path in call.files)
        named = [(name, edit) for edit in edits if (name := around.relative(edit.path))]
        for name, edit in named:
            self._go_back(name, edit)
            mark = edit_mark(edit, path=name, step=self._step)
            if self._restores(mark):
                self._give_up([name])
            marks = (*self._look.edits, mark)[-MOST_EDITS:]
            self._look = replace(self._look, edits=marks)
            self._sheet.follow(SequenceStep("edit", scope_of(name), name))
        if named:
            self._sheet.changed = True
        self._touch([edit.path for _, edit in named], call, around, edited=True)

    def _go_back(self, path: str, edit: Edit) -> None:
        """Lines that were written a few steps ago are written anew, and something lay between."""
        taken = lines_before(edit)
        before = next(
            (
                mark
                for mark in reversed(self._look.edits)
                if mark.path == path
                and 0 < self._step - mark.step <= t.RE_EDIT_STEPS
                and taken.intersection(mark.lines)
            ),
            None,
        )
        cause = before and self._cause(path, before)
        if before is None or cause is None:
            return
        others = self._edited_since(before.step, but=path)
        hint = self._look.failed_with if self._look.failed_at > before.step else None
        within = self._step - before.step
        self._sheet.go_back(Backtrack(path, within, cause, 1, self._step, others, hint))

    def _cause(self, path: str, before: EditMark) -> Cause | None:
        if self._edited_since(before.step, but=path):
            return "cascading_change"
        if self._look.failed_at > before.step:
            return "wrong_assumption"
        read = any(touch.step > before.step and touch.path != path for touch in self._look.touches)
        return "missing_context" if read else None

    def _edited_since(self, step: int, *, but: str) -> tuple[str, ...]:
        later = (mark.path for mark in self._look.edits if mark.step > step)
        return tuple(dict.fromkeys(path for path in later if path != but))

    # -- Giving up --------------------------------------------------------------------------------

    def _restores(self, mark: EditMark) -> bool:
        """Whether an edit brings back the very text that an earlier edit replaced."""
        return bool(mark.after) and any(
            old.path == mark.path and old.before == mark.after and old.after == mark.before
            for old in self._look.edits
            if not old.undone
        )

    def _give_up(self, paths: Sequence[str] | None) -> None:
        """Edits since the last settled state are undone; after real effort that is a dead end."""
        mine = [
            mark
            for mark in self._look.edits
            if mark.step > self._look.settled_step
            and not mark.undone
            and (paths is None or mark.path in paths)
        ]
        if not mine:
            return
        first = mine[0].step
        gone = {(mark.path, mark.step) for mark in mine}
        edits = tuple(
            replace(mark, undone=True) if (mark.path, mark.step) in gone else mark
            for mark in self._look.edits
        )
        self._look = replace(self._look, edits=edits)
        if self._step - first < t.DEAD_END_STEPS:
            return
        files = tuple(dict.fromkeys(mark.path for mark in mine))
        why = self._look.failed_with if self._look.failed_at > first else None
        self._sheet.give_up(
            given_up(self._request, why, files=files, first=first, last=self._step, said=False)
        )

    # -- Commands ---------------------------------------------------------------------------------

    def _shell(self, call: ToolCalled, command: str, around: Surroundings) -> None:
        found = runs(command)
        if call.error is None:
            self._touch(files_shown(found), call, around, edited=False)
        main = main_run(found)
        verdict = proof_of(call, found)
        if verdict is not None:
            self._prove(verdict, call)
        if call.error is None and (undone := undoing(command)) is not None:
            self._undo(command, undone.paths, around)
        if main is None:
            return
        if call.error is not None or (verdict is not None and verdict.verdict == "failed"):
            self._fail(call, main)
            return
        self._sheet.follow(SequenceStep("run", main.subject, shorten(main.text, limit=120)))
        self._resolve(main)
        if any(run.purpose is Purpose.COMMIT for run in found):
            self._commit(call, command, around)

    def _prove(self, seen: Validation, call: ToolCalled) -> None:
        sheet = self._sheet
        sheet.validate(
            replace(
                seen,
                step=self._step,
                at_ms=to_ms(call.origin.at),
                edits_before=sheet.edit_count,
            )
        )
        sheet.changed = True

    def _undo(self, command: str, paths: tuple[str, ...], around: Surroundings) -> None:
        named = [name for path in paths if (name := around.relative(path))]
        self._give_up(named if paths else None)
        if _TAKES_COMMIT_BACK.search(command):
            for sheet in self._sheets.values():
                if sheet.commits:
                    sheet.commits[-1] = replace(sheet.commits[-1], undone=True)

    def _fail(self, call: ToolCalled, main: Run) -> None:
        line = error_line(call.output, call.error)
        if line is None:
            return
        is_test = main.purpose is Purpose.TEST
        tests = read_tests(f"{call.output}\n{call.error or ''}") if is_test else None
        # What a test says may be said by any other; which test it is tells them apart.
        which = f"{short_test_name(tests.names[0])}: " if tests is not None and tests.names else ""
        told = shorten(which + line, limit=_HINT_CHARS)
        self._look = replace(self._look, failed_at=self._step, failed_with=told)
        command = shorten(main.text, limit=_HINT_CHARS)
        seen = ErrorRetry(
            error_signature(f"{main.subject}: {which}", line), main.subject, told, 1, self._step,
            self._step, command,
        )  # fmt: skip
        # A test that fails while it is worked on is work in progress.
        self._sheet.fail(seen, counts_again=not is_test)

    def _resolve(self, main: Run) -> None:
        """What ended the errors of a command that works now."""
        worked = shorten(main.text, limit=_HINT_CHARS)
        for signature, error in list(self._sheet.errors.items()):
            if error.resolved_how is not None or not _is_same_task(error, main):
                continue
            between = [ran.command for ran in self._look.ran if ran.step > error.last_step]
            edited = self._edited_since(error.last_step, but="")
            how = _how(error, worked, between=between, edited=edited)
            self._sheet.errors[signature] = replace(error, resolved_how=how, files=edited[:8])
        if main.purpose not in (Purpose.TEST, Purpose.COMMIT):
            ran = (*self._look.ran, Ran(worked, self._step))[-MOST_RUNS:]
            self._look = replace(self._look, ran=ran)

    def _commit(self, call: ToolCalled, command: str, around: Surroundings) -> None:
        made = read_commit(command, call.output)
        if made is None:
            return
        files = around.commit_files(made.sha) if made.sha else ()
        mine = files or tuple(
            dict.fromkeys(m.path for m in self._look.edits if m.step > self._look.settled_step)
        )
        self._sheet.commit(
            CommitMade(made.sha, shorten(made.subject, limit=120), self._step, mine[:40])
        )
        self._look = replace(self._look, settled_step=self._step)
        self._sheet.changed = True

    # -- Parts ------------------------------------------------------------------------------------

    @property
    def _sheet(self) -> OpenSheet:
        """The sheet of the sub-task under way; too many sub-tasks share the last one."""
        task = self._look.task
        if task not in self._sheets and len(self._sheets) >= t.MOST_SHEETS:
            task = next(reversed(self._sheets))
        if task not in self._sheets:
            self._sheets[task] = OpenSheet(Sheet(task, self._step, self._step))
        return self._sheets[task]

    def _arrive(self, at: datetime) -> None:
        self._seen = True
        self._at = max(self._at, at)

    def _note(self, sentence: str, *, at: datetime) -> None:
        number = self._look.next_note
        self._look = replace(self._look, next_note=number + 1)
        words = content_words(sentence)
        if len(words) < 2:
            return
        note_id = f"{self._pad.session_id[:80]}:{number}"
        self._sheet.note(
            PadNote(note_id, sentence, "convention", self._step, to_ms(at), by_person=True)
        )

    def _decide(self, text: str | None) -> None:
        for sentence in decisions(text):
            self._sheet.decisions[shorten(sentence, limit=200)] = None


def _is_same_task(error: ErrorRetry, run: Run) -> bool:
    """Whether a command does what failed before: any test run, or the same words but for options.
    `docker compose down` is not a way to say `docker compose up`."""
    if error.tool != run.subject:
        return False
    failed = [word for word in (error.command or "").split() if not word.startswith("-")]
    return run.purpose is Purpose.TEST or failed == [w for w in run.words if w[:1] != "-"]


def _how(
    error: ErrorRetry, worked: str, *, between: Sequence[str], edited: tuple[str, ...]
) -> str | None:
    """In words: another command, one that came first, or an edit."""
    if error.command is not None and worked != error.command and not edited:
        return f"`{worked}` works"
    if between and not edited:
        return f"run `{between[-1]}` first"
    if edited:
        return f"an edit of {', '.join(f'`{path}`' for path in edited[:3])}"
    return None
