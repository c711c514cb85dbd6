"""Qwen Code's recorded payloads become events."""

from __future__ import annotations

import pytest

from tests.clients.recorded import FRAME, only, recorded, told
from wellkept.core.session.events import (
    Edit,
    PromptSubmitted,
    SessionStarted,
    ToolCalled,
    ToolKind,
    TurnEnded,
)

pytestmark = pytest.mark.feature("C1", "C4")
CLIENT = "qwen"


def _called(name: str, **changes: object) -> ToolCalled:
    event = name.partition("-")[0]
    return only(ToolCalled, CLIENT, event, recorded(CLIENT, name) | changes)


def test_a_session_starts_and_a_turn_ends() -> None:
    started = only(SessionStarted, CLIENT, "SessionStart", recorded(CLIENT, "SessionStart-startup"))
    assert (started.source, started.model) == ("startup", "fake")
    assert started.origin.cwd == "/home/dev/project"
    ended = only(TurnEnded, CLIENT, "Stop", recorded(CLIENT, "Stop"))
    assert ended.last_message == "All done."


def test_only_what_a_person_typed_is_a_prompt() -> None:
    payload = recorded(CLIENT, "UserPromptSubmit")
    assert only(PromptSubmitted, CLIENT, "UserPromptSubmit", payload).text == "Please fix notes"
    # Sent again with every tool result.
    assert told(CLIENT, "UserPromptSubmit", recorded(CLIENT, "UserPromptSubmit-continued")) == []


def test_tools_are_read_as_gemini_cli_reports_them() -> None:
    read = _called("PostToolUse-read_file")
    assert (read.kind, read.files, read.output) == (
        ToolKind.READ,
        ("/home/dev/project/notes.txt",),
        "hello\n",
    )
    edit = _called("PostToolUse-edit")
    assert edit.edits == (Edit("/home/dev/project/notes.txt", "hello", "goodbye"),)
    assert edit.output == ""
    written = _called("PostToolUse-write_file")
    assert (written.kind, written.edits) == (
        ToolKind.WRITE,
        (Edit("/home/dev/project/new.txt", "", "new\n"),),
    )
    shell = _called("PostToolUse-run_shell_command")
    assert (shell.command, shell.output, shell.error) == ("echo fine", "fine", None)


def test_failures_come_with_their_exit_code_or_their_reason() -> None:
    shell = _called("PostToolUseFailure-run_shell_command-failed")
    assert (shell.command, shell.output, shell.error) == (
        "echo oops; exit 3",
        "oops",
        "Exit code 3",
    )
    read = _called("PostToolUseFailure-read_file")
    assert read.error == "File not found: /home/dev/project/nope.txt"
    stopped = _called("PostToolUseFailure-run_shell_command-failed", error="Interrupted")
    assert stopped.error == "Interrupted"


def test_a_frame_in_entities_is_taken_out() -> None:
    escaped = FRAME.replace("<", "&lt;").replace(">", "&gt;")
    read = _called("PostToolUse-read_file", tool_response={"llmContent": f"hello\n{escaped}"})
    assert read.output == "hello"
