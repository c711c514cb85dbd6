"""Episodes in a step log: a failed command and the success of the same intent after it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellkept.core.records import replace
from wellkept.core.session.steps import MAX_COMMAND_CHARS, SessionStep
from wellkept.observe.failures.intent import (
    Change,
    bare_line,
    changed_value,
    is_destructive,
    is_permission,
    relation,
)
from wellkept.observe.failures.way_out import Attempt, WayOut, compare, relative_to
from wellkept.text.events.failure_cause import failed_command, is_moved, is_setup_cause
from wellkept.text.events.tool_steps import ToolStep
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import ShellCommand, main_command, parse_command

MAX_RUNS_BETWEEN = 12
_LOOKS_BACK = 6
_GIVES_AWAY = re.compile(r"(?:&&|;)\s*git\s+(?:commit|push|merge)\b")


def way_outs_of(
    worked: SessionStep, before: Sequence[SessionStep], *, roots: Sequence[str], said: str
) -> list[WayOut]:
    """The ways out that a successful run shows, with the log before it, the project's root folders
    and the last prompt."""
    if worked.kind not in ("run", "read") or not worked.command or not worked.ok:
        return []
    log = _recent(before, worked.agent)
    if not any(_is_failed(step) for step in log):
        return []
    found = [_way_out(command, worked, log) for command in _acting(worked)]
    found.append(_told_by_person(worked, log, said))
    return [relative_to(one, roots) for one in found if one is not None]


def looked(step: ToolStep, log: Sequence[SessionStep]) -> SessionStep | None:
    """A successful look after a failed one: looks are not logged, but they can end a failure."""
    if not step.ok or step.main is not None or not step.commands or step.call.command is None:
        return None
    if not any(_is_failed(one) and one.kind == "read" for one in log[-_LOOKS_BACK:]):
        return None
    command = step.call.command[:MAX_COMMAND_CHARS]
    return SessionStep("read", command[:80], command=command, began=step.began, agent=step.agent)


def _way_out(
    command: ShellCommand, worked: SessionStep, log: Sequence[SessionStep]
) -> WayOut | None:
    """Compare with the newest failure of the same intent that nothing has ended yet."""
    for number in range(len(log) - 1, -1, -1):
        step, cause = log[number], log[number].error or ""
        if not _is_failed(step):
            continue
        failed = failed_command(parse_command(step.command), cause) or _last(step)
        if failed is None:
            continue
        if relation(failed, command, cause=cause) or changed_value(failed, command, cause):
            before = Attempt(command=failed, folder=_folder(failed, step), cause=step.error)
            return _ended_by(before, step, command, worked, log[number + 1 :])
    return None


def _ended_by(
    failed: Attempt,
    step: SessionStep,
    command: ShellCommand,
    worked: SessionStep,
    since: Sequence[SessionStep],
) -> WayOut | None:
    """The lesson of a failure and a run, with the steps since; None when another had ended it."""
    if is_moved(failed.cause or "") and not _is_next_run(step, worked, since):
        return None
    between: list[ShellCommand] = []
    for one in since:
        if one.kind not in ("run", "read") or not one.command or _is_failed(one):
            continue
        acting = list(_acting(one))
        if one.kind == "run" and any(relation(other, command) for other in acting):
            return None
        between += acting
    between += _steps_before(command, worked)
    after = Attempt(command=command, folder=_folder(command, worked))
    found = compare(
        failed,
        after,
        edited=any(one.is_edit for one in since),
        between=between,
        asked=step.prompt != worked.prompt,
    )
    return _as_typed(found, step, worked, since) if found else None


def _as_typed(
    found: WayOut, failed: SessionStep, worked: SessionStep, since: Sequence[SessionStep]
) -> WayOut | None:
    """The lesson with the lines that worked, as they were typed; None when one of them cannot be
    told, or does more than what failed."""
    steps = [
        one
        for one in since
        if found.change is Change.SETUP
        and one.ok
        and any(bare_line(command) in found.new for command in _acting(one))
    ]
    lines = [one.from_root for one in (*steps, worked)]
    told = [one for one in lines if one is not None]
    if len(told) < len(lines) or any(is_permission(one) or is_destructive(one) for one in told):
        return None
    if _GIVES_AWAY.search(worked.command) and not _GIVES_AWAY.search(failed.command):
        return None
    return replace(found, lines=tuple(dict.fromkeys(told)))


def _steps_before(command: ShellCommand, worked: SessionStep) -> list[ShellCommand]:
    """The steps in front of a command on its own line: `sh prepare.sh && make test`."""
    acting = list(_acting(worked))
    first = next((n for n, one in enumerate(acting) if relation(one, command)), 0)
    return [one for one in acting[:first] if one.exit_counts]


def _is_next_run(failed: SessionStep, worked: SessionStep, since: Sequence[SessionStep]) -> bool:
    """Whether nothing else was run in between, for the same request. What stands in the place of
    something that is gone shares no word with it: only its place tells."""
    return failed.prompt == worked.prompt and not any(one.kind == "run" for one in since)


def _told_by_person(worked: SessionStep, log: Sequence[SessionStep], said: str) -> WayOut | None:
    """A failure, then a person's words, then a command with a variable set to what was said."""
    command = main_command(parse_command(worked.command))
    if command is None or not command.environment or len(said) > 400:
        return None
    given = [one.partition("=")[2].strip("'\"") for one in command.environment]
    if not any(len(value) > 3 and value in said for value in given):
        return None
    for step in reversed(log[-MAX_RUNS_BETWEEN:]):
        is_before = _is_failed(step) and step.prompt < worked.prompt
        if is_before and step.error and is_setup_cause(step.error):
            failed = failed_command(parse_command(step.command), step.error)
            if failed is None:
                continue
            found = WayOut(
                failed=bare_line(failed),
                cause=step.error,
                worked=bare_line(command),
                change=Change.ENVIRONMENT,
                new=command.environment,
            )
            return _as_typed(found, step, worked, ())
    return None


def _recent(log: Sequence[SessionStep], agent: str | None) -> list[SessionStep]:
    """An agent's steps as far back as a failure can be ended."""
    found: list[SessionStep] = []
    runs = 0
    for step in reversed(log):
        if step.agent == agent:
            found.append(step)
            runs += step.kind == "run"
            if runs > MAX_RUNS_BETWEEN:
                break
    return found[::-1]


def _is_failed(step: SessionStep) -> bool:
    return step.kind in ("run", "read") and not step.ok and bool(step.command)


def _folder(command: ShellCommand, step: SessionStep) -> str | None:
    """The folder of the line's main command is known; another command may name its own."""
    main = main_command(parse_command(step.command)) or _last(step)
    if main is None or main.folder == command.folder:
        return step.folder
    return command.folder or step.folder


def _last(step: SessionStep) -> ShellCommand | None:
    commands = parse_command(step.command)
    return commands[-1] if commands else None


def _acting(step: SessionStep) -> Iterator[ShellCommand]:
    """The commands of a line that do something; of a line that only looks, calls of git."""
    commands = parse_command(step.command)
    if step.ok and "||" in step.command:
        # What stands beside an alternative may have failed.
        commands = tuple(one for one in commands if one.exit_counts)
    doing = [one for one in commands if one.purpose is not Purpose.LOOK]
    adding = [one for one in commands if one.words[:2] == ("git", "add")]
    if doing or adding:
        return iter((*adding, *doing))
    return (one for one in commands if one.words[0] == "git")
