"""Gemini CLI's recorded payloads become events; what hooks injected is taken out."""

from __future__ import annotations

import pytest

from tests.clients.recorded import FRAME, only, recorded, told
from wellkept.core.session.events import (
    Edit,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolCalled,
    ToolKind,
    TurnEnded,
)

pytestmark = pytest.mark.feature("C1", "C4")
CLIENT = "gemini"
SHELL = "AfterTool-run_shell_command"


def _called(name: str, **changes: object) -> ToolCalled:
    return only(ToolCalled, CLIENT, "AfterTool", recorded(CLIENT, name) | changes)


def _shell(report: str) -> ToolCalled:
    return _called(SHELL, tool_response={"llmContent": report})


def test_a_session_starts_and_ends() -> None:
    payload = recorded(CLIENT, "SessionStart-startup")
    assert only(SessionStarted, CLIENT, "SessionStart", payload).source == "startup"
    payload = recorded(CLIENT, "SessionEnd-exit")
    assert only(SessionEnded, CLIENT, "SessionEnd", payload).reason == "exit"


def test_a_prompt_comes_without_the_context_that_was_injected_into_it() -> None:
    payload = recorded(CLIENT, "BeforeAgent")
    assert "CTX-SessionStart-MARKER" in str(payload["prompt"])
    prompt = only(PromptSubmitted, CLIENT, "BeforeAgent", payload)
    assert prompt.text == "Please do the scripted things."


@pytest.mark.parametrize(
    "said",
    [
        f"<hook_context>{FRAME}</hook_context>\n\nGo on.",
        f"{FRAME}\n\nGo on.",
        f"Go on.<hook_context>{FRAME}</hook_context><hook_context>another hook's</hook_context>",
        "Go on.<hook_context>cut off: the sky is green",
    ],
)
def test_no_injected_context_is_left_in_a_prompt(said: str) -> None:
    payload = recorded(CLIENT, "BeforeAgent") | {"prompt": said}
    assert only(PromptSubmitted, CLIENT, "BeforeAgent", payload).text == "Go on."


def test_a_prompt_of_nothing_but_injected_context_is_none() -> None:
    payload = recorded(CLIENT, "BeforeAgent") | {"prompt": f"<hook_context>{FRAME}</hook_context>"}
    assert told(CLIENT, "BeforeAgent", payload) == []


def test_a_turn_ends_with_the_agents_last_words() -> None:
    ended = only(TurnEnded, CLIENT, "AfterAgent", recorded(CLIENT, "AfterAgent"))
    assert ended.last_message == "All done."


def test_a_call_before_every_model_call_is_not_taken_for_compaction() -> None:
    assert told(CLIENT, "PreCompress", recorded(CLIENT, "PreCompress-auto")) == []


def test_a_read_keeps_the_path_as_it_was_given() -> None:
    call = _called("AfterTool-read_file")
    assert (call.kind, call.files) == (ToolKind.READ, ("hello.txt",))
    assert call.output == "hello from the file\n"


def test_a_shell_call_has_its_output_without_labels() -> None:
    call = _called(SHELL)
    assert (call.kind, call.command) == (ToolKind.SHELL, "echo shell-ran")
    assert (call.output, call.error) == ("shell-ran", None)


def test_a_shell_call_that_failed_has_its_exit_code() -> None:
    call = _shell("Output: 1 failed\nsee log\nExit Code: 2\nProcess Group PGID: 7")
    assert (call.output, call.error) == ("1 failed\nsee log", "Exit code 2")


def test_a_recorded_failure_has_its_exit_code() -> None:
    call = _called("AfterTool-run_shell_command-failed")
    assert (call.output, call.error) == ("oops", "Exit code 3")


def test_the_older_report_of_a_shell_call_is_read_too() -> None:
    report = (
        "Command: ls\nDirectory: (root)\nStdout: a\nb\nStderr: (empty)\nError: (none)\n"
        "Exit Code: 0\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 7"
    )
    call = _shell(report)
    assert (call.output, call.error) == ("a\nb", None)
    killed = _shell(report.replace("Signal: (none)", "Signal: 9"))
    assert killed.error == "Signal 9"


def test_a_shell_call_that_was_stopped_keeps_its_text() -> None:
    assert _shell("Command was cancelled by user.").output == "Command was cancelled by user."


@pytest.mark.parametrize(
    ("name", "error"),
    [("fail", "Error executing tool fail"), ("slow", "MCP error -32001: Request timed out")],
)
def test_a_failed_mcp_tool_has_its_error_without_what_it_was_given(name: str, error: str) -> None:
    call = _called(f"AfterTool-mcp_trivial_{name}")
    assert call.error == error
    assert call.output == ""


def test_a_report_of_a_failure_that_is_cut_off_says_which_tool_failed() -> None:
    message = 'MCP tool \'type\' reported tool error for function call: {"text": "lily"} with response: [{'
    call = _called("AfterTool-mcp_trivial_fail", tool_response={"error": {"message": message}})
    assert call.error == "MCP tool 'type' reported tool error"


def test_an_mcp_tool_is_named_as_by_other_clients() -> None:
    call = _called("AfterTool-mcp_trivial_remember")
    assert (call.name, call.output) == ("mcp__trivial__remember", "stored: gemini says hi")
    without = _called("AfterTool-mcp_trivial_remember", mcp_context=None)
    assert (without.name, without.kind) == ("mcp_trivial_remember", ToolKind.MCP)


def test_wellkepts_own_server_is_known_by_either_spelling() -> None:
    answer = {"tool_name": "mcp_wellkept_search", "mcp_context": None}
    assert _called("AfterTool-mcp_trivial_remember", **answer).output == ""
    of_server = {"server_name": "wellkept", "tool_name": "search"}
    assert _called("AfterTool-mcp_trivial_remember", mcp_context=of_server).output == ""


def test_an_edit_has_the_text_before_and_after() -> None:
    given = {"file_path": "/p/a.py", "old_string": "a", "new_string": "b", "instruction": "why"}
    call = _called("AfterTool-read_file", tool_name="replace", tool_input=given)
    assert call.kind is ToolKind.EDIT
    assert [(e.before, e.after) for e in call.edits] == [("a", "b")]
    assert (call.output, call.input) == ("", '{"instruction":"why"}')


def test_a_recorded_edit_has_only_what_was_replaced() -> None:
    call = _called("AfterTool-replace")
    assert call.edits == (Edit("hello.txt", "hello from", "bye from"),)
    assert (call.output, call.error) == ("", None)


def test_a_written_file_has_the_text_that_it_replaced() -> None:
    given = {"file_path": "a.py", "content": "new"}
    shown = {"llmContent": "Overwrote a.py", "returnDisplay": {"originalContent": "old"}}
    call = _called(
        "AfterTool-replace", tool_name="write_file", tool_input=given, tool_response=shown
    )
    assert (call.kind, call.edits) == (ToolKind.WRITE, (Edit("a.py", "old", "new"),))


def test_a_skill_is_neither_a_file_nor_a_command() -> None:
    call = _called("AfterTool-activate_skill")
    assert (call.kind, call.files, call.command) == (ToolKind.OTHER, (), None)
