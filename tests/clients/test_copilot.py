"""Copilot CLI's recorded payloads become events."""

from __future__ import annotations

import pytest

from tests.clients.recorded import only, recorded, told
from wellkept.core.session.events import (
    Edit,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    SubagentStarted,
    ToolCalled,
    ToolKind,
    ToolStarting,
    TurnEnded,
)

pytestmark = pytest.mark.feature("C1", "C4")
CLIENT = "copilot"


def _called(name: str, **changes: object) -> ToolCalled:
    event = name.partition("-")[0]
    return only(ToolCalled, CLIENT, event, recorded(CLIENT, name) | changes)


def test_a_session_starts_and_ends() -> None:
    payload = recorded(CLIENT, "sessionStart-new")
    started = only(SessionStarted, CLIENT, "sessionStart", payload)
    assert (started.source, started.origin.cwd) == ("startup", "/home/dev/project")
    resumed = only(SessionStarted, CLIENT, "sessionStart", payload | {"source": "resume"})
    assert resumed.source == "resume"
    payload = recorded(CLIENT, "sessionEnd-complete")
    assert only(SessionEnded, CLIENT, "sessionEnd", payload).reason == "complete"
    assert only(TurnEnded, CLIENT, "agentStop", recorded(CLIENT, "agentStop")).last_message is None


def test_a_prompt() -> None:
    payload = recorded(CLIENT, "userPromptSubmitted")
    prompt = only(PromptSubmitted, CLIENT, "userPromptSubmitted", payload)
    assert prompt.text == "Please fix notes"
    assert told(CLIENT, "userPromptSubmitted", payload | {"prompt": ""}) == []


def test_tools_with_their_results() -> None:
    read = _called("postToolUse-view")
    assert (read.kind, read.files, read.output) == (
        ToolKind.READ,
        ("/home/dev/project/notes.txt",),
        "hello\n",
    )
    edit = _called("postToolUse-edit")
    assert edit.edits == (Edit("/home/dev/project/notes.txt", "hello", "goodbye"),)
    made = _called("postToolUse-create")
    assert (made.kind, made.edits) == (
        ToolKind.WRITE,
        (Edit("/home/dev/project/new.txt", "", "new\n"),),
    )
    shell = _called("postToolUse-bash")
    assert (shell.command, shell.output, shell.error) == ("echo fine", "fine", None)


def test_a_failed_command_is_known_by_the_line_at_its_end() -> None:
    shell = _called("postToolUse-bash-failed")
    assert (shell.output, shell.error) == ("oops", "Exit code 3")
    quoted = {
        "resultType": "success",
        "textResultForLlm": "<shellId: 1 completed with exit code 4> x",
    }
    assert _called("postToolUse-bash", toolResult=quoted).error is None
    refused = {"resultType": "denied", "textResultForLlm": "Not allowed"}
    assert _called("postToolUse-bash", toolResult=refused).error == "Not allowed"
    assert _called("postToolUseFailure-view").error == "Path does not exist"


def test_a_tool_of_our_own_server_is_known() -> None:
    assert _called("postToolUseFailure-wellkept-memory_recall").name == (
        "mcp__wellkept__memory_recall"
    )
    answer = {"resultType": "success", "textResultForLlm": "what is known already"}
    own = _called("postToolUse-view", toolName="wellkept-memory_search", toolResult=answer)
    assert (own.kind, own.output) == (ToolKind.MCP, "")


def test_what_the_documentation_says_of_other_events() -> None:
    payload = recorded(CLIENT, "userPromptSubmitted")
    begun = payload | {"toolName": "bash", "toolArgs": {"command": "make"}}
    assert only(ToolStarting, CLIENT, "preToolUse", begun).command == "make"
    agent = payload | {"agentName": "explore"}
    assert only(SubagentStarted, CLIENT, "subagentStart", agent).agent_type == "explore"
