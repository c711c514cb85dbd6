"""Every reader of text takes time in proportion to its length, on input made to be slow.

Each text is read at a length and at four times that, both below what readers cut off. A reader
that grows with the square needs sixteen times the processor; eight are allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

import pytest

from wellkept.core.git.config import parse_config, read_remote
from wellkept.text.contradictions.cues import tells_change
from wellkept.text.contradictions.opposites import opposes
from wellkept.text.contradictions.supersedes import supersedes
from wellkept.text.dates import parse_window
from wellkept.text.events.commit_messages import commit_points, without_trailers
from wellkept.text.events.failure_cause import cause_of
from wellkept.text.events.prompt_rules import next_steps, plain, request_of
from wellkept.text.events.sanitize import safe_text
from wellkept.text.instructions import reads_as_instruction, without_instructions
from wellkept.text.memory_commands.answers import typed_answer
from wellkept.text.memory_commands.detect import detect_commands, wants_wording
from wellkept.text.own_words import own_sentences, own_words
from wellkept.text.reports import sentences
from wellkept.text.secrets.redaction import redact, redact_payload
from wellkept.text.shell.effects import effect_of
from wellkept.text.shell.permission_rules import allows
from wellkept.text.shell.reader import parse_command
from wellkept.text.shell.results import error_line, read_tests
from wellkept.text.shell.strict_reader import plain_commands
from wellkept.text.similarity import compare
from wellkept.text.speech import decisions_in, said_in

pytestmark = pytest.mark.feature("C4")

_SHORT, _TIMES, _MOST = 3_000, 4, 8.0
# Below this nobody waits, and the clock says little.
_CALM_S = 0.1
_NOW = datetime(2026, 3, 1, tzinfo=UTC)
_READERS: dict[str, Callable[[str], object]] = {
    "redact": redact,
    "own_words": own_words,
    "own_sentences": own_sentences,
    "detect_commands": detect_commands,
    "wants_wording": wants_wording,
    "decisions_in": decisions_in,
    "said_in": lambda text: said_in("we use tabs in every file", text),
    "opposes": lambda text: opposes(text, "we use tabs"),
    "parse_window": lambda text: parse_window(text, now=_NOW),
    "reads_as_instruction": reads_as_instruction,
    "without_instructions": without_instructions,
    "reports": sentences,
    "parse_command": parse_command,
    "plain_commands": plain_commands,
    "read_tests": read_tests,
    "error_line": error_line,
    "effect_of": lambda text: effect_of(text, folder=Path("/w"), roots=[Path("/w")]),
    "allows": lambda text: allows("git push *", text),
    "redact_payload": lambda text: redact_payload(text.encode()),
    "commit_points": commit_points,
    "without_trailers": without_trailers,
    "cause_of": lambda text: cause_of(text, None),
    "request_of": request_of,
    "next_steps": next_steps,
    "plain": plain,
    "safe_text": safe_text,
    "tells_change": tells_change,
    "supersedes": lambda text: supersedes("we use tabs", text),
    "compare": lambda text: compare("we use tabs", text),
    "typed_answer": lambda text: typed_answer(text, "Tabs or spaces?"),
    "answered": lambda text: typed_answer("tabs", text + "?"),
    "parse_config": parse_config,
    "read_remote": read_remote,
}
_OPENERS = ("", "<a", "[a ", "|" * 600 + "<<A\n" * 100)
_UNITS = (
    "a", " ", "\n", "\t", "\\", "'", '"', "`", "(", "$(", "{", "[", "<", "</a>", "<memory>", ".",
    ".)", "a)", "a?", ">", "a[1]", "|", "x@y\n", "write ", "<private>", "<system-reminder>", "> ",
    "```\n", "- x\n", "a: ", "a=", "-p ", "1 ", "2026-", "é", "。", "remember ", "never ",
    "password", "password=", "token: ", "-----BEGIN PRIVATE KEY-----", "QUJD", "a1", "://", "a@",
    "Error: ", "1 failed, ", "no, ", "we use a. ", "next ", "EOF\n", "cat <<A\n", "|| ", "; ",
    "x\\\n", '[a "b"]\n',
)  # fmt: skip


@pytest.mark.parametrize("name", _READERS)
def test_time_grows_with_the_length(name: str) -> None:
    assert _slow_texts(_READERS[name], _UNITS) == []


def test_a_reader_that_grows_with_the_square_is_seen() -> None:
    def read(text: str) -> object:
        return [len(text[at:].split("a")) for at in range(0, len(text), 3)]

    assert ("", "a") in _slow_texts(read, ("a",))


def _slow_texts(read: Callable[[str], object], units: Iterable[str]) -> list[tuple[str, str]]:
    read("a")
    return [
        (opener, unit)
        for opener in _OPENERS
        for unit in units
        if all(_is_slow(read, opener, unit, attempt) for attempt in range(3))
    ]


def _is_slow(read: Callable[[str], object], opener: str, unit: str, attempt: int) -> bool:
    """Each attempt reads another text: some readers remember what they read last."""
    text = opener + unit * (_SHORT // len(unit))
    long = _seconds(read, text + (_TIMES - 1) * unit * (_SHORT // len(unit)) + "x" * attempt)
    return long > _CALM_S and long > _MOST * _seconds(read, text + "x" * attempt)


def _seconds(read: Callable[[str], object], text: str) -> float:
    start = process_time()
    with suppress(ValueError):
        read(text)
    return process_time() - start
