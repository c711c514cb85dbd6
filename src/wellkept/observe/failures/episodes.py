"""Episodes in a step log: a failed command and the success of the same intent after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wellkept.core.session_steps import SessionStep
from wellkept.observe.failures.way_out import Attempt, WayOut, compare, is_same_intent
from wellkept.observe.reading.command_purpose import Purpose
from wellkept.observe.reading.shell import ShellCommand, main_command, parse_command

MAX_RUNS_BETWEEN = 12


def way_outs_of(worked: SessionStep, log: Sequence[SessionStep]) -> list[WayOut]:
    """The ways out that a successful run shows, given the log before it."""
    if worked.kind != "run" or not worked.ok or not worked.command:
        return []
    before = [step for step in log if step.agent == worked.agent]
    if not any(step.kind == "run" and not step.ok for step in before):
        return []
    found = (_way_out(command, worked, before) for command in _doing(worked.command))
    return [way_out for way_out in found if way_out is not None]


def _way_out(
    command: ShellCommand, worked: SessionStep, before: Sequence[SessionStep]
) -> WayOut | None:
    """Compare with the newest failure of the same intent that nothing has ended yet."""
    after = Attempt(command=command, folder=_folder(command, worked))
    edited, between, runs = False, list[ShellCommand](), 0
    for step in reversed(before):
        if step.is_edit:
            edited = True
        if step.kind != "run" or not step.command:
            continue
        runs += 1
        if runs > MAX_RUNS_BETWEEN:
            return None
        if step.ok:
            if any(is_same_intent(one, command) for one in _doing(step.command)):
                return None
            between = [*_doing(step.command), *between]
            continue
        failed = main_command(parse_command(step.command))
        if failed is not None and is_same_intent(failed, command):
            attempt = Attempt(command=failed, folder=_folder(failed, step), cause=step.error)
            return compare(attempt, after, edited=edited, between=between)
    return None


def _folder(command: ShellCommand, step: SessionStep) -> str:
    """The folder of the line's main command is known; another command may name its own."""
    main = main_command(parse_command(step.command))
    known = step.folder or ""
    return known if main is None or main.folder == command.folder else command.folder or known


def _doing(line: str) -> Iterator[ShellCommand]:
    return (one for one in parse_command(line) if one.purpose is not Purpose.LOOK)
