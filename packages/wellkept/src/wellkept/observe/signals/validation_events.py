"""Validations from command results.

Unknown output proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from wellkept.core.session.scratchpad import Validation, ValidationSource
from wellkept.core.text import shorten
from wellkept.text.events.tool_steps import ToolStep
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import ShellCommand

_CI = re.compile(
    r"(?:gh (?:run (?:watch|view)|pr checks|workflow run)|glab ci (?:status|view)|act\b"
    r"|circleci (?:local|run)|buildkite-agent\b|tox\b|nox\b|pre-commit run\b)"
)


def validation_of(step: ToolStep) -> Validation | None:
    """What a command line proves: tests, CI or checks that passed or failed."""
    if step.stopped:
        return None
    command, by = _proof(step.commands)
    if command is None or by is None:
        return None
    detail = shorten(command.call, limit=80)
    if by != "check" and step.tests is not None and step.tests.passed and step.ok:
        detail = f"{detail} ({step.tests.passed} passed)"
    return Validation("passed" if step.ok else "failed", by, detail, 0, 0)


def _proof(commands: Sequence[ShellCommand]) -> tuple[ShellCommand | None, ValidationSource | None]:
    for command in reversed(commands):
        if _CI.match(command.call):
            return command, "ci"
        if command.purpose is Purpose.TEST:
            return command, "test"
    checks = [command for command in commands if command.purpose is Purpose.CHECK]
    return (checks[-1], "check") if checks else (None, None)


def scope_of(path: str) -> str:
    """The scope of a file in a step sequence: its folder and suffix."""
    pure = PurePosixPath(path)
    folder = "" if str(pure.parent) == "." else f"{pure.parent}/"
    return f"{folder}*{pure.suffix}"
