"""Validations from command results, and standing instructions from prompts.

Unknown output proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from wellkept.core.session.scratchpad import Validation, ValidationSource
from wellkept.core.text import shorten
from wellkept.text.events.prompt_rules import plain
from wellkept.text.events.tool_steps import ToolStep
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import ShellCommand

_CI = re.compile(
    r"(?:gh (?:run (?:watch|view)|pr checks|workflow run)|glab ci (?:status|view)|act\b"
    r"|circleci (?:local|run)|buildkite-agent\b|tox\b|nox\b|pre-commit run\b)"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_INSTRUCTION = re.compile(
    r"^(?:please\s+|remember[:,]?\s+|note[:,]?\s+|and\s+)*(?:"
    r"(?:always|never(?! mind))\b"
    r"|(?:do not|don't) (?:ever |use|add|write|put|commit|touch|edit|import|call)"
    r"|make sure (?:to|that|you)"
    r"|(?:in this (?:repo|project|codebase),? )?we (?:always|never|only)\b"
    r"|use \S.* (?:instead of|rather than|, not|not) \S|prefer \S.* (?:over|to) \S"
    r"|(?:all|every|each) \S.* (?:must|should|needs? to|goes?)\b"
    r"|\S.* (?:should|must) (?:never|always)\b|\S.* should not \S.* ever\b)",
    re.I,
)
_MAX_INSTRUCTION_CHARS = 220
_MAX_PROMPT_CHARS = 2_000
"""A longer prompt is a pasted document: its demands are for this task only."""


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


def instructions(text: str) -> list[str]:
    """Sentences of a prompt that state a standing instruction."""
    found: list[str] = []
    for part in _SENTENCE.split(text) if len(text) <= _MAX_PROMPT_CHARS else ():
        sentence = plain(part)
        if 12 <= len(sentence) <= _MAX_INSTRUCTION_CHARS and not sentence.endswith("?"):
            found += [sentence] if _INSTRUCTION.match(sentence) else []
    return found[:5]
