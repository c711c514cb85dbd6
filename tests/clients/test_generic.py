"""The documented protocol: any client, JSON on standard input, context or nothing."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import jsonschema
import pytest

from scripts.generate_docs import JSON_FIELDS
from tests.clients.hooking import Machine
from tests.clients.recorded import AT, EVENT_ID, FRAME, only, told
from wellkept.clients import generic
from wellkept.clients.answers.render import CONTEXT_EVENTS
from wellkept.clients.generic import PROTOCOL, problems, schema
from wellkept.clients.registry import translator
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

pytestmark = pytest.mark.feature("C4", "I3")

ROOT = Path(__file__).resolve().parents[2]
RULE = "Deploys go through the staging cluster first"
BASE: dict[str, object] = {"session_id": "s", "cwd": "/p", "client": "my-bot", "agent_id": "a"}
FULL: dict[str, dict[str, object]] = {
    "session_start": {"source": "clear", "model": "m"},
    "prompt": {"text": "Ship it"},
    "tool_call": {
        "name": "run",
        "kind": "shell",
        "input": {"command": "make ship"},
        "output": "no region",
        "exit_code": 3,
        "call_id": "c",
        "duration_ms": 7,
    },
    "compaction": {"trigger": "manual", "summary": "We shipped."},
    "subagent_start": {"agent_type": "explore"},
    "subagent_end": {"agent_type": "explore", "message": "Found."},
    "turn_end": {"message": "Done."},
    "session_end": {"reason": "quit"},
}


T = TypeVar("T")


def _only(kind: type[T], event: str, /, **changes: object) -> T:
    return only(kind, generic.CLIENT, event, BASE | FULL[event] | changes)


def test_every_event_with_every_field() -> None:
    started = _only(SessionStarted, "session_start")
    assert (started.source, started.model) == ("clear", "m")
    origin = started.origin
    assert (origin.client, origin.session_id, origin.cwd, origin.agent) == (
        *("my-bot", "s", "/p", "a"),
    )
    assert _only(PromptSubmitted, "prompt").text == "Ship it"
    called = _only(ToolCalled, "tool_call")
    assert (called.kind, called.command, called.output, called.error) == (
        *(ToolKind.SHELL, "make ship", "no region", "Exit code 3"),
    )
    assert (called.call_id, called.duration_ms) == ("c", 7)
    compacted = _only(Compacted, "compaction")
    assert (compacted.trigger, compacted.summary) == ("manual", "We shipped.")
    assert _only(SubagentStarted, "subagent_start").agent_type == "explore"
    assert _only(SubagentEnded, "subagent_end").last_message == "Found."
    assert _only(TurnEnded, "turn_end").last_message == "Done."
    assert _only(SessionEnded, "session_end").reason == "quit"


def test_common_tools_are_known_by_their_names_and_inputs() -> None:
    change = {"file_path": "a.py", "old_string": "x", "new_string": "y"}
    edit = _only(ToolCalled, "tool_call", name="edit", kind="", input=change, exit_code=0)
    assert (edit.kind, edit.edits) == (ToolKind.EDIT, (Edit("a.py", "x", "y"),))
    content = {"file_path": "a.py", "content": "new"}
    written = _only(ToolCalled, "tool_call", name="save", kind="write", input=content, exit_code=0)
    assert written.edits == (Edit("a.py", "", "new"),)
    failed = _only(ToolCalled, "tool_call", exit_code=None, error="refused", output="")
    assert failed.error == "refused"


def test_what_is_missing_or_wrong_is_left_out() -> None:
    for event, fields in PROTOCOL.items():
        needed = [name for name, field in fields.items() if field.required]
        for name in (*needed, "session_id"):
            assert told(generic.CLIENT, event, BASE | FULL[event] | {name: None}) == []
        wrong = dict.fromkeys(fields, 7) | {name: FULL[event][name] for name in needed}
        assert len(told(generic.CLIENT, event, {"session_id": "s"} | wrong)) == 1
    strange = BASE | FULL["prompt"] | {"client": "My Bot\n../x"}
    (found,) = translator(generic.CLIENT)("prompt", strange, event_id=EVENT_ID, at=AT)
    assert found.origin.client == generic.CLIENT
    assert told(generic.CLIENT, "prompt", BASE | {"text": FRAME}) == []


def test_the_schema_says_what_is_read() -> None:
    made = schema()
    jsonschema.Draft202012Validator.check_schema(made)
    assert json.loads((ROOT / "docs/reference/hook-protocol.schema.json").read_text()) == made
    assert set(FULL) == set(PROTOCOL) == set(generic.READERS)
    assert CONTEXT_EVENTS[generic.CLIENT] == generic.ANSWERED
    for event, fields in FULL.items():
        one = {"$ref": f"#/$defs/{event}", **made}
        jsonschema.validate(BASE | fields, one)
        assert list(problems(event, BASE | fields)) == []
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({}, one)
        for name, field in PROTOCOL[event].items():
            bad = BASE | fields | {name: ["no such type"]}
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(bad, one)
            assert any(name in said for said in problems(event, bad)), field


def test_the_page_names_every_event_and_field() -> None:
    page = (ROOT / "docs/reference/hook-protocol.md").read_text("utf-8")
    for event, fields in PROTOCOL.items():
        assert f"`{event}`" in page
        assert all(f"`{name}`" in page for name in fields)


# -- As a process ---------------------------------------------------------------------------------


def _run(machine: Machine, *words: str, payload: bytes = b"", **more: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "wellkept.cli", "hook", *words],
        input=payload,
        capture_output=True,
        cwd=machine.project,
        env=machine.environment | {"HOME": str(machine.home), **more},
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_session_is_told_and_captured(machine: Machine) -> None:
    machine.remember(RULE, type="convention")
    payload = machine.payload(client="my-bot", source="startup")
    code, said, errors = _run(machine, "session_start", payload=payload)
    answer = json.loads(said)
    jsonschema.validate(answer, {"$ref": "#/$defs/answer", **schema()})
    assert (code, errors) == (0, "")
    assert RULE in answer["context"]
    (caught, log) = machine.caught()
    assert (caught.client, caught.event, caught.payload) == ("generic", "session_start", payload)
    assert log.client == "my-bot"
    # Nobody installed anything, yet somebody will take it in.
    assert (machine.home / "drain.command").exists()


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("session_start", b""),
        ("session_start", b"{"),
        ("session_start", b"[]"),
        ("prompt", b'{"session_id": 7}'),
        ("no_such_event", b'{"session_id": "s"}'),
        ("tool_call", b"\xff\xfe"),
        ("turn_end", b"{}"),
    ],
)
def test_nothing_that_comes_in_disturbs_a_client(
    machine: Machine, event: str, payload: bytes
) -> None:
    assert _run(machine, event, payload=payload) == (0, "", "")


def test_a_broken_home_disturbs_nobody(machine: Machine) -> None:
    machine.home.write_text("not a folder")
    assert _run(machine, "session_start", payload=machine.payload()) == (0, "", "")
    code, said, errors = _run(
        machine, "session_start", payload=machine.payload(), WELLKEPT_DEBUG="1"
    )
    assert (code, said) == (0, "")
    assert errors


def test_check_says_what_is_wrong_and_keeps_nothing(machine: Machine) -> None:
    code, said, _ = _run(machine, "prompt", "--check", payload=b'{"txt": "x", "session_id": "s"}')
    assert code == 1
    assert "'text' is missing" in said
    assert "'txt' is not a field of prompt" in said
    assert _run(machine, "prompt", "--check", payload=b'{"text": "x", "session_id": "s"}')[0] == 0
    assert "Not JSON" in _run(machine, "prompt", "--check", payload=b"{")[1]
    _, document, _ = _run(machine, "prompt", "--check", "--json", payload=b"[]")
    assert tuple(json.loads(document)) == JSON_FIELDS["hook"]
    assert not machine.spool.exists()


def test_the_faster_command_does_the_same(machine: Machine) -> None:
    machine.remember(RULE, type="convention")
    code, line, _ = _run(machine, "session_start", "--command")
    assert code == 0
    done = subprocess.run(
        shlex.split(line),
        input=machine.payload(source="startup"),
        capture_output=True,
        env=machine.environment,
        check=True,
    )
    assert RULE in json.loads(done.stdout)["context"]


def test_the_example_learns_a_way_out_in_thirty_lines(machine: Machine) -> None:
    example = ROOT / "examples" / "tiny_client.py"
    assert len(example.read_text("utf-8").splitlines()) <= 30
    ship = 'test -n "$$ZOO" || (echo ZOO is not set; exit 3)'
    (machine.project / "Makefile").write_text(f"ship:\n\t@{ship}\n\t@echo shipped\n")
    environment = machine.environment | {"HOME": str(machine.home)}

    def session(*commands: str) -> str:
        return subprocess.run(
            [sys.executable, str(example)],
            input="\n".join(commands),
            capture_output=True,
            cwd=machine.project,
            env=environment,
            text=True,
            check=True,
        ).stdout

    assert "shipped" in session("make ship", "ZOO=savanna make ship")
    drain = [sys.executable, "-m", "wellkept.cli", "spool", "drain"]
    for _ in range(3):  # the session's own drain may be at it
        subprocess.run(
            drain, cwd=machine.project, env=environment, check=False, capture_output=True
        )
    again = session("make ship")
    assert re.search(r"ZOO=savanna make ship", again)


def test_a_hook_inside_a_client_that_wellkept_asks_is_silent(machine: Machine) -> None:
    assert _run(machine, "prompt", payload=machine.payload(text="x"), WELLKEPT_SELF="1")[1] == ""
    assert not machine.spool.exists()
