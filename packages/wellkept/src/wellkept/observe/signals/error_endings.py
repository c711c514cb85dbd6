"""What made a failed command work: another form of it, another command first, or an edit."""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.session.scratchpad import ErrorRetry, ResolvedBy
from wellkept.text.events.tool_steps import short_call
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import ShellCommand


def is_same_task(error: ErrorRetry, command: ShellCommand) -> bool:
    """Whether a command retries what failed: a test run, the same words but for options, or the
    same call without a wrapper. `docker compose down` is no retry of `docker compose up`."""
    if command.purpose is Purpose.TEST and error.tool == command.subject:
        return True
    failed, worked = _words(error.command), _words(command.call)
    return failed == worked or _is_part(worked, failed)


def ending(
    error: ErrorRetry, command: ShellCommand, *, between: Sequence[str], edited: Sequence[str]
) -> tuple[str, ResolvedBy] | None:
    """(description, kind) of what made a failed command work; None when nothing explains it.

    Running fewer tests is not another way to run the tests.
    """
    failed, worked = _words(error.command), _words(command.call)
    if _is_part(worked, failed):
        return (f"`{short_call(command)}` instead", "instead")
    if edited:
        return (f"an edit of {', '.join(f'`{path}`' for path in edited[:3])}", "edit")
    if short_call(command) != error.command and failed == worked:
        return (f"`{short_call(command)}` instead", "instead")
    return (f"run `{between[-1]}` first", "first") if between else None


def _words(command: str | None) -> list[str]:
    return [word for word in (command or "").split() if not word.startswith("-")]


def _is_part(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether a call is the end of a longer one, so that only a wrapper was left out."""
    return 2 <= len(part) < len(whole) and list(whole[-len(part) :]) == list(part)
