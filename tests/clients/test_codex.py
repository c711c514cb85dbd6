"""Codex's recorded payloads become events; patches are read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.clients.recorded import FRAME, only, recorded, told
from wellkept.clients.tool_calls import read_patch
from wellkept.core.session.events import (
    Compacted,
    Edit,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolCalled,
    ToolKind,
    TurnEnded,
)

pytestmark = pytest.mark.feature("C1", "C4")
CLIENT = "codex"
PATCH = """\
*** Begin Patch
*** Update File: src/a.py
@@ def main():
-    old()
+    new()
     same()
@@
-x = 1
+x = 2
*** Add File: docs/b.md
+# B
+
+text
*** Delete File: gone.txt
*** Update File: from.py
*** Move to: to.py
@@
-y
+z
*** End Patch"""


def _called(name: str, **changes: object) -> ToolCalled:
    return only(ToolCalled, CLIENT, "PostToolUse", recorded(CLIENT, name) | changes)


def test_a_session_starts_and_ends() -> None:
    payload = recorded(CLIENT, "SessionStart-startup")
    started = only(SessionStarted, CLIENT, "SessionStart", payload)
    assert (started.source, started.model) == ("startup", "gpt-5.5")
    payload = recorded(CLIENT, "SessionEnd-other")
    assert only(SessionEnded, CLIENT, "SessionEnd", payload).reason == "other"


def test_a_prompt_and_the_end_of_a_turn() -> None:
    payload = recorded(CLIENT, "UserPromptSubmit")
    prompt = only(PromptSubmitted, CLIENT, "UserPromptSubmit", payload)
    assert prompt.text == "Please do the scripted things."
    assert prompt.origin.client == CLIENT
    assert only(TurnEnded, CLIENT, "Stop", recorded(CLIENT, "Stop")).last_message == "All done."


def test_a_shell_call_has_its_command_and_output() -> None:
    call = _called("PostToolUse-Bash")
    assert (call.kind, call.command) == (ToolKind.SHELL, "echo shell-ran")
    assert (call.output, call.error) == ("shell-ran\n", None)


def _rollout(folder: Path, *items: tuple[str, int, str]) -> str:
    """A rollout file that reports commands by call id, exit code and output."""
    file = folder / "rollout.jsonl"
    lines = [
        {
            "type": "event_msg",
            "payload": {
                "type": "item_completed",
                "item": {
                    "type": "CommandExecution",
                    "id": call,
                    "command": ["/bin/bash", "-lc", "make"],
                    "aggregated_output": output,
                    "exit_code": code,
                },
            },
        }
        for call, code, output in items
    ]
    file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return str(file)


def test_the_exit_code_comes_from_the_rollout_file(tmp_path: Path) -> None:
    misleading = 'prints "id":"call_2" and "exit_code":9 and ,"exit_code":8'
    path = _rollout(tmp_path, ("call_1", 3, "bad"), ("call_2", 0, misleading))
    failed = _called("PostToolUse-Bash", transcript_path=path, tool_use_id="call_1")
    assert (failed.output, failed.error) == ("shell-ran\n", "Exit code 3")
    worked = _called("PostToolUse-Bash", transcript_path=path, tool_use_id="call_2")
    assert worked.error is None


def test_a_rollout_file_that_cannot_be_read_tells_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "empty").touch()
    half = tmp_path / "half"
    half.write_bytes(b'{"item":{"id":"call_1","exit_co')
    for path in (pipe, tmp_path / "empty", half, tmp_path / "none", tmp_path):
        call = _called("PostToolUse-Bash", transcript_path=str(path), tool_use_id="call_1")
        assert call.error is None


def test_an_empty_answer_is_not_called_a_failure() -> None:
    # The rollout file is gone: a command that failed and one that said nothing look the same.
    call = _called("PostToolUse-Bash", tool_response="")
    assert (call.output, call.error) == ("", None)


def test_a_command_given_as_words_is_one_line() -> None:
    call = _called("PostToolUse-Bash", tool_input={"command": ["bash", "-lc", "ls"]})
    assert call.command == "bash -lc ls"


def test_output_that_looks_like_a_report_is_still_output() -> None:
    call = _called("PostToolUse-Bash", tool_response="Exit code: 1\nsays the log")
    assert (call.output, call.error) == ("Exit code: 1\nsays the log", None)


def test_a_patch_names_its_files_and_edits() -> None:
    call = _called("PostToolUse-apply_patch")
    assert (call.kind, call.files) == (ToolKind.EDIT, ("made.txt",))
    assert call.edits == (Edit("made.txt", "", "made\n"),)
    assert (call.output, call.error, call.input) == ("", None, "")


def test_a_patch_that_did_not_apply_is_a_failure() -> None:
    report = "Exit code: 1\nWall time: 0 seconds\nOutput:\nno such context"
    call = _called("PostToolUse-apply_patch", tool_response=report)
    assert (call.error, call.output) == ("Exit code 1", "no such context")


def test_every_part_of_a_patch_is_read() -> None:
    files, edits = read_patch(PATCH)
    assert files == ("src/a.py", "docs/b.md", "gone.txt", "from.py", "to.py")
    assert edits == (
        Edit("src/a.py", "    old()\n    same()\n", "    new()\n    same()\n"),
        Edit("src/a.py", "x = 1\n", "x = 2\n"),
        Edit("docs/b.md", "", "# B\n\ntext\n"),
        Edit("to.py", "y\n", "z\n"),
    )


def test_a_patch_that_is_broken_off_gives_what_there_is() -> None:
    files, edits = read_patch("*** Begin Patch\n*** Update File: a b.py\n@@\n-x")
    assert (files, edits) == (("a b.py",), (Edit("a b.py", "x\n", ""),))
    assert read_patch("no patch at all") == ((), ())


def test_a_patch_among_the_words_of_a_command_is_found() -> None:
    call = _called("PostToolUse-apply_patch", tool_input={"command": ["apply_patch", PATCH]})
    assert len(call.edits) == 4


def test_an_mcp_tools_answer_is_its_text() -> None:
    call = _called("PostToolUse-mcp__trivial__remember")
    assert (call.kind, call.output) == (ToolKind.MCP, "stored: codex says hi")


def test_an_mcp_tool_that_says_so_failed() -> None:
    response = {"content": [{"type": "text", "text": "no such fact"}], "isError": True}
    call = _called("PostToolUse-mcp__trivial__remember", tool_response=response)
    assert (call.output, call.error) == ("", "no such fact")


def test_compaction_is_told_without_a_summary() -> None:
    payload = recorded(CLIENT, "Stop") | {"trigger": "auto"}
    compacted = only(Compacted, CLIENT, "PostCompact", payload)
    assert (compacted.trigger, compacted.summary) == ("auto", None)


def test_injected_text_is_not_taken_in_again() -> None:
    payload = recorded(CLIENT, "UserPromptSubmit") | {"prompt": FRAME}
    assert told(CLIENT, "UserPromptSubmit", payload) == []
    assert "green" not in str(_called("PostToolUse-Bash", tool_response=f"a {FRAME} b"))
