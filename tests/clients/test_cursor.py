"""Cursor's payloads, as documented, become events."""

from __future__ import annotations

import json

import pytest

from tests.clients.recorded import FRAME, only, told
from wellkept.core.session.events import (
    Compacted,
    Edit,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    SubagentEnded,
    SubagentStarted,
    ToolCalled,
    ToolKind,
    TurnEnded,
)

pytestmark = pytest.mark.feature("C1", "C4")
CLIENT = "cursor"


def _payload(**more: object) -> dict[str, object]:
    common: dict[str, object] = {
        "conversation_id": "conv-1",
        "generation_id": "gen-1",
        "model": "some-model",
        "cursor_version": "2.0.77",
        "workspace_roots": ["/home/dev/project"],
        "user_email": "dev@example.org",
    }
    return common | more


def _called(event: str = "postToolUse", **more: object) -> ToolCalled:
    return only(ToolCalled, CLIENT, event, _payload(**more))


def test_a_session_is_the_conversation_and_its_first_root_the_folder() -> None:
    started = only(SessionStarted, CLIENT, "sessionStart", _payload())
    assert (started.origin.session_id, started.origin.cwd) == ("conv-1", "/home/dev/project")
    assert started.model == "some-model"
    assert only(SessionEnded, CLIENT, "sessionEnd", _payload(reason="completed")).reason


def test_a_prompt_is_what_the_person_said() -> None:
    payload = _payload(prompt=f"{FRAME}\nGo on.")
    assert only(PromptSubmitted, CLIENT, "beforeSubmitPrompt", payload).text == "Go on."


def test_a_shell_call_has_its_command_and_output() -> None:
    output = json.dumps({"output": "ran", "exitCode": 0})
    call = _called(
        tool_name="Shell", tool_input={"command": "ls"}, tool_output=output, duration=12.6
    )
    assert (call.kind, call.command, call.output) == (ToolKind.SHELL, "ls", "ran")
    assert (call.error, call.duration_ms) == (None, 13)


def test_a_shell_call_that_failed_has_its_exit_code() -> None:
    output = json.dumps({"output": "1 failed", "exitCode": 1})
    call = _called(tool_name="Shell", tool_input={"command": "pytest"}, tool_output=output)
    assert (call.output, call.error) == ("1 failed", "Exit code 1")


def test_a_failure_has_its_message() -> None:
    given = {"tool_name": "Shell", "tool_input": {"command": "x"}, "error_message": "timed out"}
    assert _called("postToolUseFailure", **given).error == "timed out"


@pytest.mark.parametrize("name", ["MCP:trivial:remember", "MCP:remember"])
def test_an_mcp_tool_is_known_by_its_name(name: str) -> None:
    call = _called(tool_name=name, tool_input='{"fact":"x"}', tool_output='"stored"')
    assert (call.kind, call.input) == (ToolKind.MCP, '{"fact":"x"}')


def test_wellkepts_own_server_is_not_taken_in_again() -> None:
    assert _called(tool_name="MCP:wellkept:search", tool_output="green").output == ""


def test_an_edit_is_told_once_with_its_text() -> None:
    edits = [{"old_string": "a", "new_string": "b"}]
    call = _called("afterFileEdit", file_path="/p/a.ts", edits=edits)
    assert (call.kind, call.edits) == (ToolKind.EDIT, (Edit("/p/a.ts", "a", "b"),))
    assert call.input == ""
    written = _payload(tool_name="Write", tool_input={"file_path": "/p/a.ts", "content": "b"})
    assert told(CLIENT, "postToolUse", written) == []


def test_a_turn_ends_once() -> None:
    ended = only(TurnEnded, CLIENT, "afterAgentResponse", _payload(text="Done."))
    assert ended.last_message == "Done."
    assert told(CLIENT, "stop", _payload(status="completed")) == []
    assert only(TurnEnded, CLIENT, "stop", _payload(status="aborted")).last_message is None


def test_a_sub_agent_begins_and_ends() -> None:
    payload = _payload(subagent_id="s1", subagent_type="explore", summary="found it")
    started = only(SubagentStarted, CLIENT, "subagentStart", payload)
    assert (started.agent_type, started.origin.agent) == ("explore", "s1")
    assert only(SubagentEnded, CLIENT, "subagentStop", payload).last_message == "found it"


def test_compaction_is_told() -> None:
    assert only(Compacted, CLIENT, "preCompact", _payload(trigger="manual")).trigger == "manual"
