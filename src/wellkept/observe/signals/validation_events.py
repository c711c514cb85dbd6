"""What single events prove: a run that passed or failed, and a person's standing instruction.

Unknown output proves nothing rather than something.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from wellkept.core.events import ToolCalled
from wellkept.core.scratchpad import Validation, ValidationSource
from wellkept.core.text import shorten
from wellkept.observe.reading.command_purpose import Purpose
from wellkept.observe.reading.command_results import read_tests, was_stopped
from wellkept.observe.reading.prompt_rules import plain
from wellkept.observe.reading.shell import ShellCommand

_CI = re.compile(
    r"(?:gh (?:run (?:watch|view)|pr checks|workflow run)|glab ci (?:status|view)|act\b"
    r"|circleci (?:local|run)|buildkite-agent\b|tox\b|nox\b|pre-commit run\b)"
)
_CI_FAILED = re.compile(
    r"\b(?:fail(?:ed|ure|ing)|error|cancelled)\b|^X |\u2717|\u274c", re.I | re.M
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
_LONGEST_INSTRUCTION = 220
_LONGEST_PROMPT = 2_000
"""A longer prompt is a document that was pasted in: what it asks for is asked of this work."""


def proof_of(call: ToolCalled, found: Sequence[ShellCommand]) -> Validation | None:
    """What a command line says about the work: tests, CI and checks, by how they ended."""
    if was_stopped(call.error):
        return None
    run, by = _proving(found)
    if run is None or by is None:
        return None
    text = call.output + "\n" + (call.error or "")
    tests = read_tests(text) if by != "check" else None
    failed = call.error is not None or (tests is not None and tests.is_failure)
    failed = failed or (run.words[0] in ("gh", "glab") and _CI_FAILED.search(text) is not None)
    detail = shorten(run.call, limit=80)
    if tests is not None and tests.passed and not failed:
        detail = f"{detail} ({tests.passed} passed)"
    return Validation("failed" if failed else "passed", by, detail, 0, 0)


def _proving(found: Sequence[ShellCommand]) -> tuple[ShellCommand | None, ValidationSource | None]:
    for run in reversed(found):
        if _CI.match(run.call):
            return run, "ci"
        if run.purpose is Purpose.TEST:
            return run, "test"
    checks = [run for run in found if run.purpose is Purpose.CHECK]
    return (checks[-1], "check") if checks else (None, None)


def scope_of(path: str) -> str:
    """The scope that a file stands for in a sequence: its folder and its kind."""
    pure = PurePosixPath(path)
    folder = "" if str(pure.parent) == "." else f"{pure.parent}/"
    return f"{folder}*{pure.suffix}"


def instructions(text: str) -> list[str]:
    """Sentences of a person that ask for something once and for all."""
    found: list[str] = []
    for part in _SENTENCE.split(text) if len(text) <= _LONGEST_PROMPT else ():
        sentence = plain(part)
        if 12 <= len(sentence) <= _LONGEST_INSTRUCTION and not sentence.endswith("?"):
            found += [sentence] if _INSTRUCTION.match(sentence) else []
    return found[:5]
