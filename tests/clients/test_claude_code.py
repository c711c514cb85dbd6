"""Claude Code's recorded payloads become events."""

from __future__ import annotations

import pytest

from tests.clients.recorded import AT, EVENT_ID, FRAME, event_name, only, recorded, told
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
CLIENT = "claude-code"


def _called(name: str, **changes: object) -> ToolCalled:
    return only(ToolCalled, CLIENT, event_name(name), recorded(CLIENT, name) | changes)


def test_an_event_says_where_it_comes_from() -> None:
    origin = _called("PostToolUse-Bash").origin
    assert (origin.client, origin.event_id, origin.at) == (CLIENT, EVENT_ID, AT)
    assert origin.session_id == "e245b457-915b-4120-b25c-79a2a08039bb"
    assert (origin.cwd, origin.agent) == ("/home/dev/project", None)


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "fork"])
def test_a_session_starts_from_every_source(source: str) -> None:
    payload = recorded(CLIENT, f"SessionStart-{source}")
    started = only(SessionStarted, CLIENT, "SessionStart", payload)
    assert (started.source, started.model) == (source, payload.get("model"))


def test_a_prompt_is_what_the_person_said() -> None:
    prompt = only(PromptSubmitted, CLIENT, "UserPromptSubmit", recorded(CLIENT, "UserPromptSubmit"))
    assert prompt.text == "Please do the scripted things."


def test_a_shell_call_has_its_command_and_output() -> None:
    call = _called("PostToolUse-Bash")
    assert (call.kind, call.command, call.output) == (ToolKind.SHELL, "echo bash-ran", "bash-ran")
    assert (call.error, call.duration_ms, call.files) == (None, 50, ())
    assert call.call_id == "toolu_e3e74e81732b4548a2a5835e"
    assert call.input == '{"description":"Echo"}'


def test_a_failed_shell_call_has_its_exit_code_apart_from_its_output() -> None:
    call = _called("PostToolUseFailure-Bash", error="Exit code 1\n2 failed, 3 passed\n")
    assert (call.error, call.output) == ("Exit code 1", "2 failed, 3 passed\n")
    assert _called("PostToolUseFailure-Bash").error == "Exit code 3"


def test_standard_error_counts_as_output() -> None:
    call = _called("PostToolUse-Bash", tool_response={"stdout": "out", "stderr": "warning: x"})
    assert call.output == "out\nwarning: x"


def test_an_edit_has_the_text_before_and_after() -> None:
    call = _called("PostToolUse-Edit")
    assert call.kind is ToolKind.EDIT
    assert call.files == ("/home/dev/project/hello.txt",)
    assert call.edits == (Edit("/home/dev/project/hello.txt", "hello from", "bye from"),)
    assert call.output == ""


def test_several_edits_in_one_call_are_all_there() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""}, 7]
    given = {"file_path": "/p/x.py", "edits": edits}
    call = _called("PostToolUse-Edit", tool_name="MultiEdit", tool_input=given)
    assert call.edits == (Edit("/p/x.py", "a", "b"), Edit("/p/x.py", "c", ""))


def test_a_written_file_has_the_text_that_it_replaced() -> None:
    path = "/home/dev/project/new.txt"
    call = _called("PostToolUse-Write")
    assert (call.kind, call.edits) == (ToolKind.WRITE, (Edit(path, "", "new\n"),))
    again = _called("PostToolUse-Write", tool_response={"originalFile": "old\n"})
    assert again.edits == (Edit(path, "old\n", "new\n"),)


def test_a_read_has_its_file_and_text() -> None:
    call = _called("PostToolUse-Read")
    assert (call.kind, call.files) == (ToolKind.READ, ("/home/dev/project/hello.txt",))
    assert call.output == "hello from the file\n"


def test_a_call_inside_a_sub_agent_names_it() -> None:
    assert _called("PostToolUse-Read-general-purpose").origin.agent == "a0457dfd957ba0d3e"


def test_a_session_that_runs_as_an_agent_is_not_inside_one() -> None:
    assert _called("PostToolUse-Bash", agent_type="reviewer").origin.agent is None


def test_a_search_has_its_pattern_and_no_files() -> None:
    given = {"pattern": "def main", "path": "/p/src"}
    call = _called("PostToolUse-Read", tool_name="Grep", tool_input=given)
    assert (call.kind, call.query, call.files) == (ToolKind.SEARCH, "def main", ())


def test_a_web_page_is_asked_for_by_its_address() -> None:
    given = {"url": "https://example.org/", "prompt": "what is this"}
    call = _called("PostToolUse-Read", tool_name="WebFetch", tool_input=given)
    assert (call.kind, call.query) == (ToolKind.WEB, "https://example.org/")


def test_a_task_gives_the_sub_agents_answer() -> None:
    call = _called("PostToolUse-Agent")
    assert call.kind is ToolKind.TASK
    assert call.output.endswith("SUBAGENT-ANSWER")
    assert "SUBAGENT-PROMPT" in call.input


def test_an_mcp_tools_answer_is_taken_out_of_its_envelope() -> None:
    call = _called("PostToolUse-mcp__trivial__remember")
    assert (call.kind, call.output) == (ToolKind.MCP, "stored: the sky is blue")
    assert call.input == '{"fact":"the sky is blue"}'


def test_a_failed_mcp_tool_has_its_error() -> None:
    call = _called("PostToolUseFailure-mcp__trivial__slow")
    assert call.error == 'MCP server "trivial" tool "slow" timed out after 3s'


def test_an_mcp_resource_is_read() -> None:
    call = _called("PostToolUse-ReadMcpResourceTool")
    assert (call.kind, call.output) == (ToolKind.READ, "hello resource")


@pytest.mark.parametrize("trigger", ["auto", "manual"])
def test_compaction_keeps_the_summary_and_not_the_thinking(trigger: str) -> None:
    payload = recorded(CLIENT, f"PostCompact-{trigger}")
    compacted = only(Compacted, CLIENT, "PostCompact", payload)
    assert (compacted.trigger, compacted.summary) == (trigger, "SUMMARY-OF-THE-TALK")


def test_a_turn_ends_with_the_agents_last_words() -> None:
    assert only(TurnEnded, CLIENT, "Stop", recorded(CLIENT, "Stop")).last_message == "All finished."


def test_a_sub_agent_begins_and_ends() -> None:
    payload = recorded(CLIENT, "SubagentStart-general-purpose")
    started = only(SubagentStarted, CLIENT, "SubagentStart", payload)
    assert (started.agent_type, started.origin.agent) == ("general-purpose", "a0457dfd957ba0d3e")
    payload = recorded(CLIENT, "SubagentStop-general-purpose")
    ended = only(SubagentEnded, CLIENT, "SubagentStop", payload)
    assert (ended.agent_type, ended.last_message) == ("general-purpose", "SUBAGENT-ANSWER")


def test_the_nameless_sub_agent_of_compaction_is_passed_over() -> None:
    assert told(CLIENT, "SubagentStop", recorded(CLIENT, "SubagentStop")) == []


@pytest.mark.parametrize("reason", ["clear", "other"])
def test_a_session_ends_with_its_reason(reason: str) -> None:
    payload = recorded(CLIENT, f"SessionEnd-{reason}")
    assert only(SessionEnded, CLIENT, "SessionEnd", payload).reason == reason


@pytest.mark.parametrize("name", ["PostToolBatch", "PreCompact-auto", "UserPromptExpansion"])
def test_what_another_event_tells_already_is_passed_over(name: str) -> None:
    assert told(CLIENT, event_name(name), recorded(CLIENT, name)) == []


def test_cursor_running_claude_codes_hooks_is_not_taken_for_it() -> None:
    payload = recorded(CLIENT, "UserPromptSubmit") | {"cursor_version": "2.0"}
    assert told(CLIENT, "UserPromptSubmit", payload) == []


# -- What Wellkept said itself --------------------------------------------------------------------


def test_injected_text_is_not_taken_for_a_prompt() -> None:
    said = f"{FRAME}\nFix the tests."
    payload = recorded(CLIENT, "UserPromptSubmit") | {"prompt": said}
    assert only(PromptSubmitted, CLIENT, "UserPromptSubmit", payload).text == "Fix the tests."
    assert told(CLIENT, "UserPromptSubmit", payload | {"prompt": FRAME}) == []


def test_injected_text_is_taken_out_of_tool_calls_and_last_words() -> None:
    call = _called("PostToolUse-Bash", tool_response={"stdout": f"a\n{FRAME}\nb"})
    assert "green" not in call.output
    given = {"file_path": "/p/x", "old_string": f"x{FRAME}", "new_string": f"y{FRAME}", "o": FRAME}
    edit = _called("PostToolUse-Edit", tool_input=given)
    assert "green" not in str(edit)
    failure = _called("PostToolUseFailure-Bash", error=f"Exit code 1\n{FRAME}")
    assert "green" not in str(failure)
    payload = recorded(CLIENT, "Stop") | {"last_assistant_message": f"Done. {FRAME}"}
    assert only(TurnEnded, CLIENT, "Stop", payload).last_message == "Done."


@pytest.mark.parametrize(
    "text",
    [
        "kept <wellkept-memory>\nRecalled: the sky is green",
        'kept <wellkept-memory>\\nRecalled: the sky is green","x":1}',
        "kept <WELLKEPT-MEMORY kind='x'>the sky is green</ wellkept-memory >",
    ],
)
def test_a_frame_that_is_cut_off_escaped_or_altered_is_still_ours(text: str) -> None:
    assert _called("PostToolUse-Bash", tool_response=text).output == "kept"


def test_the_name_of_the_frame_may_be_talked_about() -> None:
    said = "Why is there a <wellkept-memory> in my context?"
    payload = recorded(CLIENT, "UserPromptSubmit") | {"prompt": said}
    assert only(PromptSubmitted, CLIENT, "UserPromptSubmit", payload).text == said


@pytest.mark.parametrize(
    "changes",
    [
        {"tool_name": "mcp__wellkept__search", "tool_response": "the sky is green"},
        {"tool_name": "mcp__plugin_wellkept_wellkept__search", "tool_response": "green"},
        {"tool_input": {"command": "wellkept recall sky"}, "tool_response": "green"},
        {"tool_input": {"command": "/opt/bin/wellkept recall sky"}, "tool_response": "green"},
    ],
)
def test_what_wellkept_answered_when_asked_is_not_taken_in_again(
    changes: dict[str, object],
) -> None:
    call = _called("PostToolUse-Bash", **changes)
    assert call.output == ""
    assert call.name
