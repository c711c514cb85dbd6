"""Failures and what ended them: the way from an error to what helped.

A failure stays open until a command of the same subject works. What happened in between tells what
helped: edits (a fix), another command first, or another way to say the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from wellkept.core.records import replace
from wellkept.core.text import shorten
from wellkept.observe.reading.command_purpose import Purpose
from wellkept.observe.reading.command_results import TestResult, short_test_name
from wellkept.observe.reading.shell import ShellCommand
from wellkept.observe.session.observation_rules import (
    Note,
    PromptContext,
    fix_note,
    flaky_note,
    variant_note,
)
from wellkept.observe.session.state import AgentTrace, Failure, joined

MAX_FAILURES = 6
MAX_COMMAND_CHARS = 160
_ALIKE = 0.6
_TOLD = (Purpose.TEST, Purpose.CHECK, Purpose.INSTALL, Purpose.MIGRATE)
_SELECTION = re.compile(
    r"(?:^|\s)(?:-k\s|-t\s|--testNamePattern|--filter|-run\s|\S*(?:/|::|\.py|\.ts|\.js)\S*)"
)


def with_failure(
    failures: tuple[Failure, ...],
    run: ShellCommand,
    *,
    names: tuple[str, ...],
    error: str | None,
    step: int,
) -> tuple[Failure, ...]:
    """The open failures after a command failed."""
    command = shorten(run.call, limit=MAX_COMMAND_CHARS)
    before = next((f for f in failures if f.subject == run.subject), None)
    if before is None:
        fresh = Failure(
            run.subject, command, run.purpose is Purpose.TEST, step, names, error,
            told=run.purpose not in _TOLD,
        )  # fmt: skip
        return (*failures, fresh)[-MAX_FAILURES:]
    again = replace(
        before,
        names=joined(before.names, names),
        error=before.error or error,
        attempts=before.attempts + 1,
    )
    return tuple(again if f is before else f for f in failures)


def passed_by(failures: tuple[Failure, ...], run: ShellCommand) -> tuple[Failure, ...]:
    """The failures that remain, each with the command noted as done since."""
    if run.purpose in (Purpose.COMMIT, Purpose.TEST):
        return failures
    text = shorten(run.call, limit=MAX_COMMAND_CHARS)
    return tuple(replace(f, between=joined(f.between, (text,), most=4)) for f in failures)


def solved_by(
    thread: AgentTrace, run: ShellCommand, result: TestResult | None, *, scene: PromptContext
) -> tuple[AgentTrace, tuple[Note, ...]]:
    """What a command that worked says about earlier failures."""
    failure = next((f for f in thread.failures if _ends(f, run)), None)
    if failure is None:
        return thread, ()
    thread = replace(thread, failures=tuple(f for f in thread.failures if f is not failure))
    works = tuple(w for w in thread.works if w.step > failure.step)
    verified = verification(run, result)
    if works:
        thread, note = fix_note(thread, failure, works, verified=verified, scene=scene)
        return thread, (note,)
    same = failure.command == shorten(run.call, limit=MAX_COMMAND_CHARS)
    if not same and not failure.names:
        thread, note = variant_note(thread, failure, run.call, scene=scene)
        return thread, (note,)
    if failure.is_test and not failure.between:
        thread, note = flaky_note(thread, failure, verified=verified, scene=scene)
        return thread, (note,)
    if failure.between:
        thread, note = variant_note(thread, failure, None, scene=scene)
        return thread, (note,)
    return thread, ()


def is_worth_telling(failure: Failure) -> bool:
    """Whether a failure that nobody solved is worth a line of its own."""
    return bool(failure.names or failure.error)


def verification(run: ShellCommand, result: TestResult | None) -> str:
    """The command that showed that it works, with its count."""
    command = shorten(run.call, limit=80)
    return f"{command} ({result.passed} passed)" if result and result.passed else command


def _ends(failure: Failure, run: ShellCommand) -> bool:
    if failure.is_test:
        return run.purpose is Purpose.TEST and _covers(run.call, failure)
    if failure.subject != run.subject:
        return _differs_by_program(failure.command.split(), run.words)
    same = failure.command == shorten(run.call, limit=MAX_COMMAND_CHARS)
    return same or SequenceMatcher(None, failure.command, run.call).ratio() >= _ALIKE


def _covers(command: str, failure: Failure) -> bool:
    """Whether a test run may have included the tests that failed."""
    rest = command.partition(" ")[2]
    if not failure.names or not _SELECTION.search(f" {rest}"):
        return True
    parts = {part for name in failure.names for part in (_file(name), short_test_name(name))}
    return any(part and part in command for part in parts) or command == failure.command


def _file(test_name: str) -> str:
    return test_name.split("::", 1)[0].rsplit("/", 1)[-1] if "::" in test_name else ""


def _differs_by_program(failed: Sequence[str], worked: Sequence[str]) -> bool:
    """`python x` that was not found and `python3 x` that was."""
    return len(worked) > 1 and list(failed[1:]) == list(worked[1:]) and failed[0] != worked[0]
