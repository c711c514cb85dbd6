"""Track open failures, and report what ended them.

A failure stays open until a command of the same subject works. What happened in between explains
it: edits (a fix), another command first, or another form of the command.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from wellkept.core.records import replace
from wellkept.core.text import shorten
from wellkept.observe.session.failure_causes import prepares, tells_cause
from wellkept.observe.session.observation_rules import (
    ObservationNote,
    PromptContext,
    fix_note,
    flaky_note,
    variant_note,
)
from wellkept.observe.session.state import AgentWork, FileChange, OpenFailure, joined
from wellkept.text.events.failure_cause import is_setup_cause
from wellkept.text.events.tool_steps import CommandFailure
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import ShellCommand
from wellkept.text.shell.results import TestResult, short_test_name

Failures = tuple[OpenFailure, ...]

MAX_FAILURES = 6
MAX_ALL_FAILURES = 24
MAX_COMMAND_CHARS = 160
_SIMILAR = 0.6
_REPORTED_PURPOSES = (Purpose.TEST, Purpose.CHECK, Purpose.INSTALL, Purpose.MIGRATE)
_SELECTION = re.compile(
    r"(?:^|\s)(?:-k\s|-t\s|--testNamePattern|--filter|-run\s|\S*(?:/|::|\.py|\.ts|\.js)\S*)"
)


def add_failure(
    failures: Failures, failed: CommandFailure, *, agent: str | None, step: int
) -> Failures:
    """The open failures after a command failed."""
    command = failed.command
    known = next((f for f in failures if (f.agent, f.subject) == (agent, command.subject)), None)
    if known is not None:
        again = replace(
            known,
            names=joined(known.names, failed.names),
            error=known.error or failed.error,
            attempts=known.attempts + 1,
        )
        return tuple(again if f is known else f for f in failures)
    fresh = OpenFailure(
        agent,
        command.subject,
        shorten(command.call, limit=MAX_COMMAND_CHARS),
        is_test=command.purpose is Purpose.TEST,
        step=step,
        names=failed.names,
        error=failed.error,
        reported=command.purpose not in _REPORTED_PURPOSES,
    )
    own = [f for f in failures if f.agent == agent]
    dropped = own[0] if len(own) >= MAX_FAILURES else None
    return (*(f for f in failures if f is not dropped), fresh)[-MAX_ALL_FAILURES:]


def add_worked(failures: Failures, command: ShellCommand, *, agent: str | None) -> Failures:
    """The open failures, with a command noted as having worked since."""
    if not failures or command.purpose in (Purpose.COMMIT, Purpose.TEST):
        return failures
    call = shorten(command.call, limit=MAX_COMMAND_CHARS)
    return tuple(
        replace(f, commands_since=joined(f.commands_since, (call,), limit=4))
        if f.agent == agent
        else f
        for f in failures
    )


def close_failure(
    failures: Failures,
    work: AgentWork,
    command: ShellCommand,
    tests: TestResult | None,
    *,
    prompt: PromptContext,
) -> tuple[Failures, AgentWork, tuple[ObservationNote, ...]]:
    """Close the failure that a working command ends, and report what ended it."""
    failure = next((f for f in failures if f.agent == work.agent and _ends(f, command)), None)
    if failure is None:
        return failures, work, ()
    rest = tuple(f for f in failures if f is not failure)
    changes = tuple(change for change in work.changes if change.step > failure.step)
    verified = verification(command, tests)
    is_same = failure.command == shorten(command.call, limit=MAX_COMMAND_CHARS)
    if not tells_cause(failure):
        # Nothing can be learned from it; the changes are reported at the end of the turn.
        return rest, work, ()
    if changes and not _is_fixed_by_edits(failure, changes, is_same=is_same):
        return rest, work, ()
    if changes:
        work, note = fix_note(work, failure, changes, verified=verified, prompt=prompt)
    elif not is_same and not failure.names:
        work, note = variant_note(work, failure, command.call, prompt=prompt)
    elif failure.is_test and not failure.commands_since:
        work, note = flaky_note(work, failure, verified=verified, prompt=prompt)
    elif failure.commands_since and prepares(failure.commands_since[-1]):
        work, note = variant_note(work, failure, None, prompt=prompt)
    else:
        return rest, work, ()
    return rest, work, (note,)


def _is_fixed_by_edits(
    failure: OpenFailure, changes: Sequence[FileChange], *, is_same: bool
) -> bool:
    """Whether edits can be why a command works now. A failing test is: that is what it is for. Any
    other command must be the same as before, must have failed for the code, and only one file may
    have changed, unless the error names it."""
    if failure.is_test:
        return failure.error is None or bool(failure.names) or not is_setup_cause(failure.error)
    if not is_same or not failure.error or failure.commands_since:
        return False
    if any(change.path.rpartition("/")[2] in failure.error for change in changes):
        return True
    return len(changes) == 1 and not is_setup_cause(failure.error)


def verification(command: ShellCommand, tests: TestResult | None) -> str:
    """The command that proved the work, with the number of passed tests."""
    call = shorten(command.call, limit=80)
    return f"{call} ({tests.passed} passed)" if tests and tests.passed else call


def _ends(failure: OpenFailure, command: ShellCommand) -> bool:
    if failure.is_test:
        return command.purpose is Purpose.TEST and _covers(command.call, failure)
    if failure.subject != command.subject:
        return _differs_by_program(failure.command.split(), command.words)
    is_same = failure.command == shorten(command.call, limit=MAX_COMMAND_CHARS)
    return is_same or SequenceMatcher(None, failure.command, command.call).ratio() >= _SIMILAR


def _covers(call: str, failure: OpenFailure) -> bool:
    """Whether a test run may have included the tests that failed."""
    rest = call.partition(" ")[2]
    if not failure.names or not _SELECTION.search(f" {rest}"):
        return True
    parts = {part for name in failure.names for part in (_file(name), short_test_name(name))}
    return any(part and part in call for part in parts) or call == failure.command


def _file(test_name: str) -> str:
    return test_name.split("::", 1)[0].rsplit("/", 1)[-1] if "::" in test_name else ""


def _differs_by_program(failed: Sequence[str], worked: Sequence[str]) -> bool:
    """`python x` that was not found and `python3 x` that was."""
    return len(worked) > 1 and list(failed[1:]) == list(worked[1:]) and failed[0] != worked[0]
