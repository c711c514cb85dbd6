"""What each client's model is told, and when: every moment of every client that has it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.hooking import Machine
from wellkept.api.hook_context import HookContextProvider, open_existing
from wellkept.clients.answers.injection_spool import ShownItems
from wellkept.clients.answers.render import CONTEXT_EVENTS, LIMIT
from wellkept.clients.answers.responder import HookResponder
from wellkept.core.changes import PutSession
from wellkept.core.session.sessions import SessionRecord

pytestmark = pytest.mark.feature("C4", "D10", "B8", "H6")

RULE = "Deploys go through the staging cluster first"
TRAP = "The payment gateway times out after three retries"
FAILS = "`make deploy` keeps failing with: no rule to make target"
FAILURE = "payment gateway times out after retries"
PATCH = "*** Begin Patch\n*** Update File: src/pay.py\n@@\n-a\n+b\n*** End Patch"


@pytest.fixture
def known(machine: Machine) -> Machine:
    """A machine where a rule and a trap are known."""
    (machine.project / "src").mkdir()
    (machine.project / "src" / "pay.py").write_text("pass")
    machine.remember(RULE, type="convention")
    machine.remember(TRAP, type="gotcha", files=("src/pay.py",))
    machine.remember(FAILS, type="error_pattern")
    return machine


FLAT = {"cursor": "additional_context", "copilot": "additionalContext", "generic": "context"}


def _answerer(machine: Machine) -> HookResponder:
    def open_in(folder: Path) -> Any:
        return open_existing(folder, environment=machine.environment, busy_timeout_ms=1_000)

    return HookResponder(HookContextProvider(open_in), shown=ShownItems(machine.home))


def _told(machine: Machine, client: str, event: str, **payload: Any) -> str:
    """The text that reaches the model."""
    raw = machine.payload(conversation_id="s-1", sessionId="s-1", **payload)
    answer = _answerer(machine)(client, event, raw).decode()
    if not answer or client == "opencode":
        return answer
    document = json.loads(answer)
    if client in FLAT:
        return document[FLAT[client]]
    assert document["hookSpecificOutput"]["hookEventName"] == event
    return document["hookSpecificOutput"]["additionalContext"]


def _tool(name: str, given: dict[str, Any], **more: object) -> Callable[[Path], dict[str, Any]]:
    def made(project: Path) -> dict[str, Any]:
        filled = {key: str(value).replace("PROJECT", str(project)) for key, value in given.items()}
        return {"tool_name": name, "tool_input": filled, **more}

    return made


def _copilot(name: str, given: dict[str, str], **more: object) -> Callable[[Path], dict[str, Any]]:
    def made(project: Path) -> dict[str, Any]:
        filled = {key: value.replace("PROJECT", str(project)) for key, value in given.items()}
        return {"toolName": name, "toolArgs": filled, **more}

    return made


def _call(kind: str, given: dict[str, str], **more: object) -> Callable[[Path], dict[str, Any]]:
    """A tool call in the documented protocol."""

    def made(project: Path) -> dict[str, Any]:
        filled = {key: value.replace("PROJECT", str(project)) for key, value in given.items()}
        return {"name": kind, "kind": kind, "input": filled, **more}

    return made


def _plain(**payload: object) -> Callable[[Path], dict[str, Any]]:
    return lambda project: dict(payload)


FILE = {"file_path": "PROJECT/src/pay.py", "old_string": "a", "new_string": "b"}
CAMEL = {"filePath": "PROJECT/src/pay.py", "oldString": "a", "newString": "b"}
ASKING = _plain(prompt="how do we deploy to the staging cluster?")
MOMENTS: list[tuple[str, str, Callable[[Path], dict[str, Any]], str]] = [
    ("claude-code", "SessionStart", _plain(source="startup"), RULE),
    ("claude-code", "UserPromptSubmit", ASKING, RULE),
    ("claude-code", "PostToolUse", _tool("Read", FILE, tool_response="pass"), TRAP),
    ("claude-code", "PostToolUse", _tool("Edit", FILE, tool_response={}), TRAP),
    ("claude-code", "PreToolUse", _tool("Edit", FILE), TRAP),
    ("claude-code", "PreToolUse", _tool("Read", FILE), ""),
    ("claude-code", "PreToolUse", _tool("Bash", {"command": "cd x && make deploy -j2"}), FAILS),
    ("claude-code", "PreToolUse", _tool("Bash", {"command": "make deployment"}), ""),
    (
        "claude-code",
        "PostToolUseFailure",
        _tool("Bash", {"command": "make"}, error=f"Exit code 1\n{FAILURE}"),
        TRAP,
    ),
    ("codex", "SessionStart", _plain(source="startup"), RULE),
    ("codex", "UserPromptSubmit", ASKING, RULE),
    ("codex", "PostToolUse", _tool("apply_patch", {"command": PATCH}, tool_response="Done"), TRAP),
    ("codex", "PreToolUse", _tool("apply_patch", {"command": PATCH}), TRAP),
    ("codex", "PreToolUse", _tool("Bash", {"command": "make deploy"}), FAILS),
    ("gemini", "SessionStart", _plain(source="startup"), RULE),
    ("gemini", "BeforeAgent", ASKING, RULE),
    (
        "gemini",
        "AfterTool",
        _tool("read_file", {"file_path": "PROJECT/src/pay.py"}, tool_response={"llmContent": "x"}),
        TRAP,
    ),
    (
        "gemini",
        "AfterTool",
        _tool(
            "run_shell_command",
            {"command": "make"},
            tool_response={"llmContent": f"Output: {FAILURE}\nExit Code: 1"},
        ),
        TRAP,
    ),
    ("cursor", "sessionStart", _plain(), RULE),
    ("cursor", "postToolUse", _tool("Read", FILE, tool_output="pass"), TRAP),
    (
        "cursor",
        "postToolUse",
        _tool(
            "Shell",
            {"command": "make"},
            tool_output=json.dumps({"output": FAILURE, "exitCode": 1}),
        ),
        TRAP,
    ),
    ("opencode", "SessionStart", _plain(source="startup"), RULE),
    ("opencode", "UserPromptSubmit", ASKING, RULE),
    ("opencode", "PostToolUse", _tool("edit", CAMEL, tool_response="ok"), TRAP),
    (
        "opencode",
        "PostToolUse",
        _tool("bash", {"command": "make"}, tool_response=FAILURE, exit_code=1),
        TRAP,
    ),
    ("qwen", "SessionStart", _plain(source="startup"), RULE),
    ("qwen", "UserPromptSubmit", ASKING, RULE),
    (
        "qwen",
        "PostToolUse",
        _tool("read_file", {"file_path": "PROJECT/src/pay.py"}, tool_response={"llmContent": "x"}),
        TRAP,
    ),
    (
        "qwen",
        "PostToolUseFailure",
        _tool("run_shell_command", {"command": "make"}, error=f"Exit Code: 1\n{FAILURE}"),
        TRAP,
    ),
    ("copilot", "sessionStart", _plain(source="new"), RULE),
    ("copilot", "userPromptSubmitted", ASKING, RULE),
    (
        "copilot",
        "postToolUse",
        _copilot(
            "edit",
            {"path": "PROJECT/src/pay.py", "old_str": "a", "new_str": "b"},
            toolResult={"resultType": "success", "textResultForLlm": "ok"},
        ),
        TRAP,
    ),
    ("copilot", "postToolUseFailure", _copilot("bash", {"command": "make"}, error=FAILURE), TRAP),
    ("claude-code", "Stop", _plain(last_assistant_message="Done."), ""),
    ("generic", "session_start", _plain(source="startup"), RULE),
    ("generic", "prompt", _plain(text="how do we deploy to the staging cluster?"), RULE),
    ("generic", "tool_call", _call("edit", {"path": "PROJECT/src/pay.py"}, output="ok"), TRAP),
    (
        "generic",
        "tool_call",
        _call("shell", {"command": "make"}, output=FAILURE, exit_code=1),
        TRAP,
    ),
]


@pytest.mark.parametrize(("client", "event", "payload", "wanted"), MOMENTS)
def test_each_moment_brings_what_belongs_to_it(
    known: Machine,
    client: str,
    event: str,
    payload: Callable[[Path], dict[str, Any]],
    wanted: str,
) -> None:
    told = _told(known, client, event, **payload(known.project))
    assert wanted in told
    if not wanted:
        assert told == ""
    else:
        assert re.search(r"\[m:\w{8}\]", told)
        assert told.startswith("<wellkept-memory>")


def test_every_moment_of_every_client_is_tried() -> None:
    tried = {(client, event) for client, event, _, _ in MOMENTS}
    assert tried == {(c, event) for c, events in CONTEXT_EVENTS.items() for event in events}


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "fork"])
def test_a_session_from_any_source_is_told_what_stands(known: Machine, source: str) -> None:
    assert RULE in _told(known, "claude-code", "SessionStart", source=source)


def test_a_subagent_starts_in_silence_and_is_told_what_its_session_was_told_already(
    known: Machine,
) -> None:
    who = {"agent_id": "a1", "agent_type": "Explore"}
    assert _told(known, "claude-code", "SubagentStart", **who) == ""
    reads = _tool("Read", FILE, tool_response="pass")(known.project)
    assert TRAP in _told(known, "claude-code", "PostToolUse", **reads)
    assert TRAP in _told(known, "claude-code", "PostToolUse", **reads, **who)
    assert _told(known, "claude-code", "PostToolUse", **reads, **who) == ""


def test_a_resumed_session_still_has_what_it_was_told(known: Machine) -> None:
    assert RULE in _told(known, "claude-code", "SessionStart", source="startup")
    assert _told(known, "claude-code", "SessionStart", source="resume") == ""
    assert RULE in _told(known, "claude-code", "SessionStart", source="compact")


@pytest.mark.parametrize(
    "prompt",
    ["6", "yeah", "deploy staging cluster", "<task-notification>deploys to staging done</x>"],
)
def test_a_prompt_of_a_few_words_or_of_the_client_is_answered_with_silence(
    known: Machine, prompt: str
) -> None:
    assert _told(known, "claude-code", "UserPromptSubmit", prompt=prompt) == ""


def test_a_brief_of_another_agent_brings_only_what_is_tied_to_its_files(known: Machine) -> None:
    brief = '<teammate-message teammate_id="lead">Deploys to the staging cluster: fix {}'
    named = brief.format("src/pay.py and test it</teammate-message>")
    plain = brief.format("them</teammate-message>")
    assert _told(known, "claude-code", "UserPromptSubmit", prompt=plain) == ""
    told = _told(known, "claude-code", "UserPromptSubmit", prompt=named)
    assert TRAP in told
    assert RULE not in told


def test_what_the_client_loads_by_itself_is_not_told_again(known: Machine) -> None:
    (known.project / "CLAUDE.md").write_text(f"# Rules\n\n- {RULE.lower()}.\n")
    assert RULE not in _told(known, "claude-code", "SessionStart", source="startup")
    assert RULE in _told(known, "codex", "SessionStart", source="startup")


def test_what_was_said_is_said_again_only_when_it_changed(known: Machine) -> None:
    with known.memory() as memory:
        memory.remember(
            "Releases leave on Mondays", key="release-day", type="convention", source="user_taught"
        )
    assert "on Mondays" in _told(known, "claude-code", "SessionStart", source="startup")
    asked = "on which day of the week do releases leave?"
    assert _told(known, "claude-code", "UserPromptSubmit", prompt=asked) == ""
    with known.memory() as memory:
        memory.remember(
            "Releases leave on Thursdays",
            key="release-day",
            type="convention",
            source="user_taught",
        )
    told = _told(known, "claude-code", "UserPromptSubmit", prompt=asked)
    assert "on Thursdays" in told
    assert "on Mondays" not in told


def test_what_is_about_files_that_are_gone_is_never_said(known: Machine) -> None:
    (known.project / "src" / "pay.py").unlink()
    assert TRAP not in _told(known, "claude-code", "SessionStart", source="startup")
    assert TRAP not in _told(known, "claude-code", "UserPromptSubmit", prompt=FAILURE)
    file = {"file_path": str(known.project / "src" / "pay.py")}
    assert TRAP not in _told(known, "claude-code", "PostToolUse", tool_name="Read", tool_input=file)


def test_there_are_no_times_of_day_in_what_is_said(known: Machine) -> None:
    told = _told(known, "claude-code", "SessionStart", source="startup")
    told += _told(known, "claude-code", "UserPromptSubmit", prompt=FAILURE)
    assert not re.search(r"\d{1,2}:\d{2}", told)


def test_a_machine_that_knows_much_keeps_to_every_clients_limit(known: Machine) -> None:
    known.remember(*(f"Rule {n}: 規則 {'x' * 300} {n}" for n in range(120)), type="convention")
    for client, events in CONTEXT_EVENTS.items():
        told = _told(known, client, events[0], source="startup")
        assert (
            0
            < len(told.encode("utf-8" if client == "codex" else "utf-16-le"))
            <= LIMIT * (1 if client == "codex" else 2)
        )


# -- Places that are out of the ordinary ----------------------------------------------------------


def _git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=Dev", "-c", "user.email=dev@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def _no_commits(project: Path) -> Path:
    _git(project, "init", "-q")
    return project


def _detached(project: Path) -> Path:
    _no_commits(project)
    _git(project, "commit", "-q", "--allow-empty", "-m", "Begin")
    _git(project, "checkout", "-q", "--detach")
    return project


def _worktree(project: Path) -> Path:
    _detached(project)
    _git(project, "worktree", "add", "-q", "-b", "side", str(project.parent / "side tree"))
    return project.parent / "side tree"


@pytest.mark.parametrize(
    "name", ["with space", "it's", 'say "hi"', "naïve 中文", "a\nb", "a$(b)`c`"]
)
@pytest.mark.parametrize("place", [_no_commits, _detached, _worktree])
def test_any_project_is_caught_and_told(
    tmp_path: Path, name: str, place: Callable[[Path], Path]
) -> None:
    project = tmp_path / name
    project.mkdir()
    machine = Machine(tmp_path / "home", project)
    folder = place(project)
    machine.remember(RULE, type="convention")
    there = Machine(machine.home, folder)
    payload = there.payload(source="startup")
    answered = there.hook("claude-code", "SessionStart", "both", payload=payload)
    assert (answered.code, answered.errors) == (0, "")
    assert RULE in answered.context
    assert json.loads(there.caught()[0].payload)["cwd"] == str(folder)


def test_what_a_session_noted_is_told_to_it_at_the_next_step_and_to_no_other(
    known: Machine,
) -> None:
    noted = "The sandbox key expires every hour"
    mine = json.loads(known.payload())["session_id"]
    with known.memory() as memory:
        now = memory.engine.clock()
        session = SessionRecord(
            id=mine,
            client="claude-code",
            project=memory.project,
            started_at=now,
            last_event_at=now,
        )
        memory.engine.store.apply([PutSession(session)])
        memory.observer.note(session, noted, files="src/pay.py")
    read = {"tool_name": "Read", "tool_input": {"file_path": str(known.project / "src/pay.py")}}
    other = _told(known, "claude-code", "PostToolUse", session_id="another", **read)
    assert TRAP in other
    assert noted not in other
    told = _told(known, "claude-code", "PostToolUse", **read)
    assert noted in told
    assert TRAP in told
    assert _told(known, "claude-code", "PostToolUse", **read) == ""
