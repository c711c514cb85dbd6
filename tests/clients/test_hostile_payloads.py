"""Payloads at their worst, through the whole way: hook process, spool, drain, database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from tests.clients.hooking import Machine
from tests.clients.recorded import event_name, names, recorded
from wellkept.api.learning import drain_and_learn
from wellkept.clients.registry import translate_spooled

pytestmark = pytest.mark.feature("C2", "C4", "A10")

SECRET = "ghp_" + "Ab3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z0a"
RECORDED = [
    (client, name) for client in ("claude-code", "codex", "gemini") for name in names(client)
]


def _drain(machine: Machine) -> None:
    with machine.memory() as memory:
        drain_and_learn(memory, translate=translate_spooled, environment=machine.environment)


def _planted(value: object) -> object:
    """The value with a secret in every text, but for the names that tell what it is."""
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        names_kept = ("hook_event_name", "tool_name")
        return {k: v if k in names_kept else _planted(v) for k, v in fields.items()}
    if isinstance(value, list):
        return [_planted(inner) for inner in cast("list[object]", value)]
    return f"{value} {SECRET}" if isinstance(value, str) else value


def _stored(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(home.glob("memory.db*")))


def test_a_secret_in_every_field_of_every_payload_reaches_no_table(machine: Machine) -> None:
    for client, name in RECORDED:
        payload = json.dumps(_planted(recorded(client, name))).encode()
        assert machine.hook(client, event_name(name), payload=payload).is_silent
    _drain(machine)
    assert SECRET.encode() not in _stored(machine.home)
    with machine.memory() as memory:
        assert memory.engine.store.sessions(project=None)


def test_fifty_megabytes_of_binary_output_become_a_small_row(machine: Machine) -> None:
    noise = "\x00\x01\ufffd\u202e" * (50 << 18)
    payload = machine.payload(
        tool_name="Bash", tool_input={"command": "cat core"}, tool_response={"stdout": noise}
    )
    assert len(payload) > 50 << 20
    assert machine.hook("claude-code", "PostToolUse", payload=payload).is_silent
    prompt = machine.payload(prompt="What is in the core file?")
    assert machine.hook("claude-code", "UserPromptSubmit", payload=prompt).is_silent
    _drain(machine)
    assert len(_stored(machine.home)) < 4 << 20


def test_a_folder_that_was_deleted_before_the_drain_keeps_its_session(machine: Machine) -> None:
    payload = machine.payload(prompt="Where has everything gone?")
    machine.hook("claude-code", "UserPromptSubmit", payload=payload)
    machine.project.rmdir()
    machine.project.parent.joinpath("elsewhere").mkdir()
    elsewhere = Machine(machine.home, machine.project.parent / "elsewhere")
    _drain(elsewhere)
    with elsewhere.memory() as memory:
        (session,) = memory.engine.store.sessions(project=None)
    assert session.prompt_count == 1


def test_a_clock_that_jumps_leaves_the_order_of_a_session_alone(machine: Machine) -> None:
    from wellkept.store import spool

    for number, at_ms in enumerate((1_800_000_000_000, 1_000_000_000_000, 1_800_000_001_000)):
        spool.append(
            str(machine.spool),
            client="claude-code",
            session="s-1",
            event="UserPromptSubmit",
            payload=machine.payload(prompt=f"Step number {number} of the plan"),
            now_ms=at_ms,
        )
    _drain(machine)
    with machine.memory() as memory:
        (session,) = memory.engine.store.sessions(project=None)
    assert session.prompt_count == 3
    assert session.started_at <= session.last_event_at
