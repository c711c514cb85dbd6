"""Noticing: the events of a session become signals on its scratchpad.

Takes cleaned events only, each once, in the order in which they come. Nothing is written here and
no model is asked; what was noticed goes into the store in the same transaction as the events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from wellkept.core.clock import to_ms
from wellkept.core.events import Edit, ToolCalled, ToolKind
from wellkept.core.records import replace
from wellkept.core.scratchpad import (
    AgentNote,
    Backtrack,
    BacktrackCause,
    CoAccess,
    ErrorRetry,
    Scratchpad,
    ScratchpadStatus,
    SequenceStep,
    SessionCommit,
    TaskScratchpad,
    Validation,
)
from wellkept.core.text import content_words, shorten
from wellkept.observe import thresholds
from wellkept.observe.reading.command_purpose import Purpose
from wellkept.observe.reading.command_results import (
    error_line,
    read_tests,
    short_test_name,
    was_stopped,
)
from wellkept.observe.reading.prompt_rules import decisions
from wellkept.observe.reading.shell import (
    ShellCommand,
    files_shown,
    main_command,
    parse_command,
    read_commit,
)
from wellkept.observe.session.tool_trace import ToolContext
from wellkept.observe.signals.collector_state import (
    MOST_PAGES,
    MOST_RUNS,
    MOST_TOUCHES,
    CommandRun,
    EditMark,
    FileTouch,
    dump_collector,
    edit_mark,
    lines_before,
    load_collector,
    mark_of,
    with_edit,
)
from wellkept.observe.signals.dead_ends import (
    approach_of,
    given_up,
    said_given_up,
    stashing,
    takes_back,
    undoing,
)
from wellkept.observe.signals.error_rules import (
    ending,
    error_signature,
    is_of_the_moment,
    is_same_task,
    is_telling,
    shown,
)
from wellkept.observe.signals.scratchpad import ScratchpadBuilder
from wellkept.observe.signals.todo_plan import read_plan
from wellkept.observe.signals.validation_events import instructions, proof_of, scope_of

_HINT_CHARS = 160
_LONGEST_PATH = 400
_MOST_CARRIED = 3
_SUBJECT_CHARS = 60
_TAKES_COMMIT_BACK = re.compile(r"\bgit\s+(?:revert\b|reset\s+(?:--\w+\s+)*(?:HEAD[~^]|@~))")


class SignalCollector:
    """The scratchpad of one session under way."""

    def __init__(self, pad: Scratchpad) -> None:
        self._pad = pad
        self._step = pad.step
        self._look = load_collector(pad.work)
        self._sheets = {sheet.name: ScratchpadBuilder(sheet) for sheet in pad.tasks}
        self._planned, self._done = pad.planned, pad.done
        self._request = pad.request
        self._at = pad.updated_at
        self._seen = False
        self._part = ""

    def result(self) -> Scratchpad:
        """The scratchpad as it is now; the very same when nothing was noticed."""
        if not self._seen:
            return self._pad
        sheets = tuple(sheet.closed() for sheet in self._sheets.values())
        reopened = any(sheet.changed for sheet in self._sheets.values())
        return replace(
            self._pad,
            updated_at=self._at,
            state=ScratchpadStatus.OPEN if reopened else self._pad.state,
            step=self._step,
            request=self._request,
            planned=self._planned,
            done=self._done,
            tasks=sheets,
            work=dump_collector(self._look),
        )

    # -- Events -----------------------------------------------------------------------------------

    def prompt(self, text: str, *, request: str | None, at: datetime) -> None:
        """A person said something; standing instructions are noted."""
        self._arrive(at)
        self._request = self._request or request
        self._look = replace(self._look, asked=request, asked_at=self._step)
        for sentence in instructions(text):
            self._note(sentence, at=at)
        self._decide(text)

    def message(self, text: str | None, *, at: datetime) -> None:
        """The agent's last words of a turn."""
        self._arrive(at)
        sheet = self._sheet
        for approach, why in said_given_up(text):
            open_edits = [e for e in self._look.edits if e.step > self._look.settled_step]
            files = tuple(dict.fromkeys(e.path for e in open_edits))
            sheet.give_up(
                given_up(approach, why, files=files, first=self._step, last=self._step, said=True)
            )
            sheet.changed = True
        self._decide(text)

    def as_it_came(self, call: ToolCalled) -> None:
        """A call before it is cleaned: which part of a file it reads, and the agent's plan, in
        which what is under way names the sub-task."""
        self._part = call.input[:_LONGEST_PATH] if call.kind is ToolKind.READ else ""
        plan = read_plan(call, self._look.plan)
        if plan is None:
            return
        self._seen = True
        self._planned, self._done = plan.planned, plan.done
        self._look = replace(self._look, task=plan.current, plan=plan)

    def compacted(self) -> None:
        """The agent forgot what it has read; reading it again is no sign of anything."""
        self._seen = True
        self._look = replace(self._look, pages=())

    def call(
        self,
        call: ToolCalled,
        *,
        cost: int,
        around: ToolContext,
    ) -> None:
        """A tool came back, at a cost in tokens."""
        self._arrive(call.origin.at)
        self._step += 1
        sheet = self._sheet
        sheet.tokens += cost
        sheet.last_step = self._step
        if call.error is None and call.kind is ToolKind.READ:
            self._touch(call.files, call, around, edited=False)
            self._page(call, around)
        elif call.error is None and call.kind in (ToolKind.EDIT, ToolKind.WRITE):
            self._edit(call, around)
        elif call.kind is ToolKind.SHELL and call.command:
            self._shell(call, call.command, around)

    # -- Files ------------------------------------------------------------------------------------

    def _touch(
        self, paths: Sequence[str], call: ToolCalled, around: ToolContext, *, edited: bool
    ) -> None:
        names = dict.fromkeys(
            name for path in paths if (name := around.relative(path)) and len(name) <= _LONGEST_PATH
        )
        at_ms = to_ms(call.origin.at)
        self._dwell(at_ms, call.origin.agent)
        for name in names:
            touch = FileTouch(name, self._step, at_ms, edited, call.origin.agent)
            self._sheet.touch(name, step=self._step, edited=edited)
            self._pair(touch)
            kept = (*self._look.touches, touch)[-MOST_TOUCHES:]
            self._look = replace(self._look, touches=kept)

    def _page(self, call: ToolCalled, around: ToolContext) -> None:
        """Going through a long file part by part is one reading; the same part again is another."""
        for name in filter(None, map(around.relative, call.files)):
            page = mark_of(f"{call.origin.agent}\n{name}\n{self._part}")
            if page in self._look.pages:
                self._sheet.reread(name)
            else:
                self._look = replace(self._look, pages=(*self._look.pages, page)[-MOST_PAGES:])

    def _pair(self, touch: FileTouch) -> None:
        """Files that the same agent used within a few steps."""
        near: dict[str, FileTouch] = {}
        for other in self._look.touches:
            is_near = touch.step - other.step <= thresholds.CO_ACCESS_STEPS
            if is_near and other.agent == touch.agent and other.path != touch.path:
                was = near.get(other.path)
                near[other.path] = other if was is None or other.edited or not was.edited else was
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
                    both_edited=touch.edited and other.edited,
                )
            )

    def _dwell(self, at_ms: int, agent: str | None) -> None:
        """The time since a file was used is spent on it, unless somebody went away."""
        last = self._look.touches[-1] if self._look.touches else None
        if last is None or last.agent != agent:
            return
        spent = at_ms - last.at_ms
        if 0 < spent <= thresholds.MAX_DWELL_MS:
            self._sheet.dwell(last.path, spent)

    def _edit(self, call: ToolCalled, around: ToolContext) -> None:
        edits = call.edits or tuple(Edit(path, "", "") for path in call.files)
        named = [(name, edit) for edit in edits if (name := around.relative(edit.path))]
        for name, edit in named:
            self._go_back(name, edit)
            mark = edit_mark(edit, path=name, step=self._step)
            self._look = replace(self._look, edits=with_edit(self._look.edits, mark))
            if self._is_back(name):
                self._give_up([name])
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
                and 0 < self._step - mark.step <= thresholds.RE_EDIT_STEPS
                and taken.intersection(mark.lines)
            ),
            None,
        )
        if before is None:
            return
        within = self._step - before.step
        for cause, files, hint in self._causes(path, before):
            self._sheet.go_back(Backtrack(path, within, cause, 1, self._step, files, hint))

    def _causes(
        self, path: str, before: EditMark
    ) -> Iterator[tuple[BacktrackCause, tuple[str, ...], str | None]]:
        """Why an edit was made again: what was edited, what failed or what was read meanwhile."""
        others = self._edited_since(before.step, but=path)
        if others:
            for other in others[:_MOST_CARRIED]:
                yield "cascading_change", (other,), None
        elif self._look.failed_at > before.step:
            if self._look.failed_with is not None:
                yield "wrong_assumption", (), self._look.failed_with
        else:
            read = [touch.path for touch in self._look.touches if touch.step > before.step]
            for other in [one for one in read if one != path][-1:]:
                yield "missing_context", (other,), None

    def _edited_since(self, step: int, *, but: str) -> tuple[str, ...]:
        later = (mark.path for mark in self._look.edits if mark.step > step)
        return tuple(dict.fromkeys(path for path in later if path != but))

    # -- Giving up --------------------------------------------------------------------------------

    def _is_back(self, path: str) -> bool:
        """Whether every edit of a file since the last settled state was taken back by another."""
        mine = [m for m in self._unsettled() if m.path == path]
        return bool(mine) and all(mark.void for mark in mine)

    def _unsettled(self) -> list[EditMark]:
        return [mark for mark in self._look.edits if mark.step > self._look.settled_step]

    def _give_up(self, paths: Sequence[str] | None, *, until: int | None = None) -> None:
        """Edits since the last settled state are undone; after real effort, and when it is known
        why, that is a dead end."""
        mine = [
            mark
            for mark in self._unsettled()
            if (paths is None or mark.path in paths) and (until is None or mark.step <= until)
        ]
        if not mine:
            return
        kept = tuple(mark for mark in self._look.edits if mark not in mine)
        self._look = replace(self._look, edits=kept)
        first, why = mine[0].step, self._why(mine[0].step)
        if self._step - first < thresholds.DEAD_END_STEPS or why is None:
            return
        files = tuple(dict.fromkeys(mark.path for mark in mine))
        told = approach_of(files, sample=mine[0].sample, request=self._request)
        self._sheet.give_up(
            given_up(told, why, files=files, first=first, last=self._step, said=False)
        )

    def _why(self, first: int) -> str | None:
        """Why work since a step was given up: what failed, or what a person said a moment ago.
        That it did not compile is a slip, not a reason."""
        look = self._look
        is_near = first <= look.asked_at and self._step - look.asked_at <= thresholds.DEAD_END_STEPS
        said = f"“{look.asked}”" if is_near and takes_back(look.asked) else None
        failed = look.failed_with if look.failed_at > first and not look.failed_check else None
        return said or failed if look.asked_at >= look.failed_at else failed or said

    # -- Commands ---------------------------------------------------------------------------------

    def _shell(self, call: ToolCalled, command: str, around: ToolContext) -> None:
        found = parse_command(command)
        if call.error is None:
            self._touch(files_shown(found), call, around, edited=False)
        main = main_command(found)
        verdict = proof_of(call, found)
        if verdict is not None:
            self._prove(verdict, call)
        if call.error is None:
            self._undo(command, around)
        if main is None or was_stopped(call.error):
            return
        if call.error is not None or (verdict is not None and verdict.verdict == "failed"):
            self._fail(call, main, of_the_moment=any(map(is_of_the_moment, found)))
            return
        self._sheet.follow(SequenceStep("run", main.subject, shown(main)))
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

    def _undo(self, command: str, around: ToolContext) -> None:
        """What a command line takes back, sets aside or throws away."""
        stashed, undone = stashing(command), undoing(command)
        if stashed == "gone" and self._look.stashed_at:
            self._give_up(None, until=self._look.stashed_at)
        if stashed is not None:
            since = self._step if stashed == "aside" else 0
            self._look = replace(self._look, stashed_at=since)
        if undone is not None:
            named = [name for path in undone.paths if (name := around.relative(path))]
            self._give_up(named if undone.paths else None)
        if _TAKES_COMMIT_BACK.search(command):
            for sheet in self._sheets.values():
                if sheet.commits:
                    sheet.commits[-1] = replace(sheet.commits[-1], undone=True)

    def _fail(self, call: ToolCalled, main: ShellCommand, *, of_the_moment: bool) -> None:
        line = error_line(call.output, call.error)
        is_test = main.purpose is Purpose.TEST
        tests = read_tests(f"{call.output}\n{call.error or ''}") if is_test else None
        # What a test says may be said by any other; which test it is tells them apart.
        which = f"{short_test_name(tests.names[0])}: " if tests is not None and tests.names else ""
        told = shorten(f"{which}{line}", limit=_HINT_CHARS)
        is_known = line is not None and is_telling(told, command=main.call) and not of_the_moment
        self._look = replace(
            self._look,
            failed_at=self._step,
            failed_with=told if is_known else None,
            failed_check=main.purpose is Purpose.CHECK,
        )
        if line is None or not is_known:
            return
        subject = shorten(" ".join(main.subject.split()), limit=_SUBJECT_CHARS)
        seen = ErrorRetry(
            error_signature(f"{subject}: {which}", line), subject, told, 1, self._step,
            self._step, shown(main), in_progress=main.purpose in (Purpose.TEST, Purpose.CHECK),
        )  # fmt: skip
        # A test that fails while it is worked on is work in progress.
        self._sheet.fail(seen, counts_again=not is_test)

    def _resolve(self, main: ShellCommand) -> None:
        """What ended the errors of a command that works now."""
        for signature, error in list(self._sheet.errors.items()):
            if error.resolved_how is not None or not is_same_task(error, main):
                continue
            between = [ran.command for ran in self._look.ran if ran.step > error.last_step]
            edited = self._edited_since(error.last_step, but="")
            end = ending(error, main, between=between, edited=edited)
            if end is not None:
                files = edited[:8] if end.by == "edit" else ()
                self._sheet.errors[signature] = replace(
                    error, resolved_how=end.how, resolved_by=end.by, files=files
                )
        if main.purpose not in (Purpose.TEST, Purpose.COMMIT):
            ran = (*self._look.ran, CommandRun(shown(main), self._step))[-MOST_RUNS:]
            self._look = replace(self._look, ran=ran)

    def _commit(self, call: ToolCalled, command: str, around: ToolContext) -> None:
        made = read_commit(parse_command(command), call.output)
        if made is None:
            return
        files = around.commit_files(made.sha) if made.sha else ()
        mine = files or tuple(
            dict.fromkeys(m.path for m in self._look.edits if m.step > self._look.settled_step)
        )
        self._sheet.commit(
            SessionCommit(
                made.sha,
                shorten(made.subject, limit=120),
                self._step,
                mine[:40],
                edits_before=self._sheet.edit_count,
            )
        )
        self._look = replace(self._look, settled_step=self._step)
        self._sheet.changed = True

    # -- Parts ------------------------------------------------------------------------------------

    @property
    def _sheet(self) -> ScratchpadBuilder:
        """The sheet of the sub-task under way; too many sub-tasks share the last one."""
        task = self._look.task
        if task not in self._sheets and len(self._sheets) >= thresholds.MAX_TASKS:
            task = next(reversed(self._sheets))
        if task not in self._sheets:
            self._sheets[task] = ScratchpadBuilder(TaskScratchpad(task, self._step, self._step))
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
            AgentNote(note_id, sentence, "convention", self._step, to_ms(at), by_person=True)
        )

    def _decide(self, text: str | None) -> None:
        for sentence in decisions(text):
            self._sheet.decisions[shorten(sentence, limit=200)] = None
