"""OpenCode: the plugin runs under a real Node on recorded callbacks, and its words become events."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.recorded import FRAME, only, recorded, told
from wellkept.clients.hook_spec import ClientFolders, InstallScope, Programs
from wellkept.clients.install.files import InstallRecords
from wellkept.clients.install.installer import Installer
from wellkept.core.session.events import (
    Compacted,
    Edit,
    Event,
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
CLIENT = "opencode"
SESSION = "ses_e1f36b74effeKQONAkNJYReZcy"
node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")

# Stands for the hook process: notes how it was started and what it was told, and answers.
HOOK = """\
import json, sys
event, mode = sys.argv[-2:]
with open(sys.argv[1], "a") as log:
    log.write(json.dumps([event, mode, json.load(sys.stdin)]) + "\\n")
if mode != "capture":
    print(f"context of {event}")
"""
# Plays callbacks from a file and prints what the plugin made of their outputs.
PLAYER = """\
import { readFileSync } from "node:fs"
const [, , plugin, script] = process.argv
const exported = await import(plugin)
if (!Object.values(exported).every((one) => typeof one === "function")) process.exit(3)
const hooks = await exported.Wellkept({ directory: "/home/dev/project" })
const outputs = []
for (const [name, input, output] of JSON.parse(readFileSync(script, "utf8"))) {
  await hooks[name]?.(input, output)
  outputs.push(output)
}
console.log(JSON.stringify(outputs))
"""


@dataclass(frozen=True, slots=True)
class Played:
    """What the hook process was told, and the outputs that the plugin was handed."""

    calls: list[tuple[str, str, dict[str, object]]]
    outputs: list[dict[str, object]]

    @property
    def events(self) -> list[Event]:
        """What was told, as events."""
        return [event for name, _, payload in self.calls for event in told(CLIENT, name, payload)]


def _play(
    folder: Path, *steps: tuple[str, object, object], command: list[str] | None = None
) -> Played:
    log, hook = folder / "log", folder / "my wellkept's" / "hook.py"
    hook.parent.mkdir()
    hook.write_text(HOOK)
    (folder / "player.mjs").write_text(PLAYER)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "steps.json").write_text(json.dumps(steps))
    folders = ClientFolders(home=folder, project=folder, environment={})
    started = command or [sys.executable, "-I", "-S", str(hook), str(log)]
    installer = Installer(
        folders=folders, programs=Programs(hook=started), records=InstallRecords(folder / "data")
    )
    plugin = installer.install(CLIENT, scope=InstallScope.PROJECT).path
    done = subprocess.run(
        ["node", str(folder / "player.mjs"), str(plugin), str(folder / "steps.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    return Played([tuple(json.loads(line)) for line in lines], json.loads(done.stdout))


def _event(kind: str, **properties: object) -> tuple[str, object, object]:
    return ("event", {"event": {"type": kind, "properties": properties}}, None)


def _recorded_event(name: str) -> tuple[str, object, object]:
    return ("event", {"event": recorded(CLIENT, f"event-{name}")["input"]}, None)


def _callback(name: str) -> tuple[str, object, object]:
    payload = recorded(CLIENT, name)
    return (name, payload["input"], payload["output"])


# -- The plugin -----------------------------------------------------------------------------------


@node
def test_a_recorded_session_becomes_events(tmp_path: Path) -> None:
    answer = {"type": "text", "text": "All done.", "messageID": "m2", "sessionID": SESSION}
    played = _play(
        tmp_path,
        _recorded_event("session.created"),
        _callback("chat.message"),
        _recorded_event("message.updated"),
        _recorded_event("message.part.updated"),
        _callback("tool.execute.after"),
        _event("message.updated", info={"id": "m2", "role": "assistant", "sessionID": SESSION}),
        _event("message.part.updated", part=answer),
        _recorded_event("session.idle"),
        _event("session.compacted", sessionID=SESSION),
        _event("session.deleted", info={"id": SESSION}),
    )
    kinds = [SessionStarted, PromptSubmitted, ToolCalled, TurnEnded, Compacted, SessionStarted]
    assert [type(event) for event in played.events] == [*kinds, SessionEnded]
    started, prompt, call, ended, _, again, _ = played.events
    assert isinstance(started, SessionStarted)
    assert (started.source, started.model) == ("startup", "fake")
    assert (started.origin.session_id, started.origin.cwd) == (SESSION, "/home/dev/project")
    assert isinstance(prompt, PromptSubmitted)
    assert prompt.text == "Please do the scripted things."
    assert isinstance(call, ToolCalled)
    assert (call.kind, call.files) == (ToolKind.READ, ("/home/dev/project/hello.txt",))
    assert "hello from the file" in call.output
    assert isinstance(ended, TurnEnded)
    assert ended.last_message == "All done."
    assert isinstance(again, SessionStarted)
    assert again.source == "compact"


@node
def test_context_reaches_the_system_prompt_and_the_tools_output(tmp_path: Path) -> None:
    transform = "experimental.chat.system.transform"
    played = _play(
        tmp_path,
        _callback("chat.message"),
        (transform, {"sessionID": SESSION}, {"system": ["You are an agent."]}),
        (transform, {"sessionID": "another"}, {"system": ["You are an agent."]}),
        _callback("tool.execute.after"),
    )
    said = ["You are an agent.", "context of SessionStart", "context of UserPromptSubmit"]
    assert played.outputs[1] == {"system": said}
    assert played.outputs[2] == {"system": said[:1]}
    assert str(played.outputs[3]["output"]).endswith("\n\ncontext of PostToolUse")
    assert "context" not in str(played.calls[-1][2]["tool_response"])
    assert [mode for _, mode, _ in played.calls] == ["both"] * 3


@node
def test_a_sub_agent_belongs_to_the_session_that_started_it(tmp_path: Path) -> None:
    message = {"agent": "explore", "model": {"modelID": "fake"}}
    text = {"type": "text", "text": "look around"}
    played = _play(
        tmp_path,
        _event("session.created", info={"id": "child", "parentID": SESSION}),
        ("chat.message", {"sessionID": "child"}, {"message": message, "parts": [text]}),
        (
            "tool.execute.after",
            {"sessionID": "child", "callID": "c", "tool": "bash", "args": {"command": "ls"}},
            {"output": "a.py", "metadata": {"exit": 0}},
        ),
        _event("session.idle", sessionID="child"),
    )
    started, call, ended = played.events
    assert isinstance(started, SubagentStarted)
    assert isinstance(ended, SubagentEnded)
    assert started.agent_type == ended.agent_type == "explore"
    origins = {(e.origin.session_id, e.origin.agent) for e in (started, call, ended)}
    assert origins == {(SESSION, "child")}


@node
def test_a_failed_tool_is_told_once(tmp_path: Path) -> None:
    state = {
        "status": "error",
        "input": {"fact": "x"},
        "error": "no such fact",
        "time": {"start": 10, "end": 25},
    }
    part = {
        "type": "tool", "tool": "trivial_fail", "callID": "c1", "sessionID": SESSION, "state": state
    }  # fmt: skip
    failed = _event("message.part.updated", part=part)
    (call,) = _play(tmp_path, failed, failed).events
    assert isinstance(call, ToolCalled)
    assert (call.kind, call.error, call.duration_ms) == (ToolKind.MCP, "no such fact", 15)


@node
@pytest.mark.parametrize("command", [["/no/such/program"], ["/bin/false"], ["/bin/cat"]])
def test_opencode_goes_on_when_wellkept_is_broken(tmp_path: Path, command: list[str]) -> None:
    system = {"system": ["You are an agent."]}
    transform = ("experimental.chat.system.transform", {"sessionID": "other"}, system)
    steps = (_callback("chat.message"), _callback("tool.execute.after"), transform)
    played = _play(tmp_path, *steps, command=command)
    assert played.outputs[2] == {"system": ["You are an agent."]}


@node
def test_callbacks_of_another_shape_are_passed_over(tmp_path: Path) -> None:
    names = ("event", "chat.message", "tool.execute.after", "experimental.chat.system.transform")
    shapes: list[dict[str, object]] = [{}, {"event": None}, {"event": {}}]
    odd = [(name, given, shapes[0]) for name in names for given in shapes]
    deleted = _event("session.deleted")
    assert len(_play(tmp_path, *odd, deleted, _event("unheard.of")).outputs) == len(odd) + 2


@node
@pytest.mark.feature("C10")
def test_inside_a_call_of_wellkepts_own_nothing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WELLKEPT_SELF", "1")
    assert _play(tmp_path, _callback("chat.message")).calls == []


# -- Its payloads ---------------------------------------------------------------------------------


def _called(**changes: object) -> ToolCalled:
    payload: dict[str, object] = {"session_id": SESSION, "cwd": "/p", "tool_use_id": "c1"}
    return only(ToolCalled, CLIENT, "PostToolUse", payload | changes)


def test_an_edit_has_the_text_before_and_after() -> None:
    given = {"filePath": "/p/a.py", "oldString": "a", "newString": "b"}
    call = _called(tool_name="edit", tool_input=given, tool_response="Edit applied.")
    assert (call.edits, call.output) == ((Edit("/p/a.py", "a", "b"),), "")
    written = _called(tool_name="write", tool_input={"filePath": "/p/b.py", "content": "b"})
    assert (written.kind, written.edits) == (ToolKind.WRITE, (Edit("/p/b.py", "", "b"),))


def test_a_shell_call_that_failed_has_its_exit_code() -> None:
    given = {"command": "pytest", "description": "Run"}
    call = _called(tool_name="bash", tool_input=given, tool_response="1 failed", exit_code=1)
    assert (call.command, call.output, call.error) == ("pytest", "1 failed", "Exit code 1")
    fine = _called(tool_name="bash", tool_input=given, tool_response="ok", exit_code=0)
    assert fine.error is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("trivial_remember", ToolKind.MCP),
        ("skill", ToolKind.OTHER),
        ("todowrite", ToolKind.OTHER),
        ("plan_exit", ToolKind.OTHER),
        ("grep", ToolKind.SEARCH),
        ("task", ToolKind.TASK),
        ("webfetch", ToolKind.WEB),
        ("apply_patch", ToolKind.EDIT),
    ],
)
def test_tools_are_told_apart_by_name(name: str, kind: ToolKind) -> None:
    assert _called(tool_name=name).kind is kind


def test_injected_text_is_not_taken_in_again() -> None:
    assert _called(tool_name="bash", tool_response=f"a\n\n{FRAME}").output == "a"
    assert _called(tool_name="wellkept_search", tool_response="green").output == ""
