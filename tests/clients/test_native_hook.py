"""The native hook captures what the Python one would, and leaves the rest to it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients.hooking import HOOK, Machine
from wellkept.clients.certain_secrets import PREFIXES
from wellkept.clients.install.native_hook import native_hook
from wellkept.store.spool_reader import files

pytestmark = pytest.mark.feature("C1")

TOKEN = "Abcdefghij0123456789"
PLAIN = (
    b"{}",
    b"",
    b"not json",
    b'{"session_id": "s-1", "x": "\xff\xfe"}',
    b'{"sessionId":"abc.def_1","text":"see https://example.com/a and mail me@example.com"}',
    b'{"session_id": 7, "conversation_id" : "c-9"}',
    json.dumps({"session_id": "s", "out": "y" * 300_000}).encode(),
)
LEFT = (
    *(b'{"session_id":"s","t":"' + p + TOKEN.encode() * 3 + b'"}' for p, _ in PREFIXES),
    b'{"session_id":"s","t":"https://user:secret@example.com/"}',
    b'{"session_id":"s","t":"<private>x</private>"}',
    b'{"session_id":"s","t":"-----BEGIN PRIVATE KEY-----\\nabc"}',
    b'{"session_id":"a/b","t":1}',
    '{"session_id":"sitzung-ä"}'.encode(),
)


def entries(machine: Machine) -> list[tuple[str, str, str, bytes]]:
    """What is in the spool, without ids and times."""
    names = {file.path.name for file in files(machine.spool)}
    return [(*names, one.client, one.event, one.payload) for one in machine.caught()]  # type: ignore[misc]


@pytest.mark.parametrize("payload", [*PLAIN, *LEFT], ids=lambda p: repr(p[:40]))
def test_both_write_the_same(tmp_path: Path, native: str, payload: bytes) -> None:
    written: list[object] = []
    for number, before in enumerate(((), (native,))):
        machine = Machine(tmp_path / str(number), tmp_path, native=before)
        machine.spool.mkdir(parents=True)
        assert machine.hook("claude-code", "PostToolUse", payload=payload).is_silent
        written.append(entries(machine))
        assert len(machine.caught()) == 1
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("payload", "alone"), [*((one, True) for one in PLAIN), *((one, False) for one in LEFT)]
)
def test_python_starts_only_where_it_has_to(
    tmp_path: Path, native: str, payload: bytes, alone: bool
) -> None:
    machine = Machine(tmp_path / "home", tmp_path)
    machine.spool.mkdir(parents=True)
    command = [native, "/bin/false", str(HOOK), "claude-code", "PostToolUse"]
    subprocess.run(command, input=payload, env=machine.environment, check=False)
    assert [one.payload for one in machine.caught()] == ([payload] if alone else [])


@pytest.mark.parametrize(
    "arguments", [("claude-code", "Stop"), ("claude-code", "PostToolUse", "both"), ("a b", "X")]
)
def test_what_needs_more_than_a_capture_is_left_to_python(
    tmp_path: Path, native: str, arguments: tuple[str, ...]
) -> None:
    machine = Machine(tmp_path / "home", tmp_path)
    machine.spool.mkdir(parents=True)
    subprocess.run(
        [native, "/bin/false", str(HOOK), *arguments],
        input=b"{}",
        env=machine.environment,
        check=False,
    )
    assert machine.caught() == []


def test_without_a_compiler_the_hook_is_the_python_program(tmp_path: Path) -> None:
    environment = {"WELLKEPT_HOME": str(tmp_path), "PATH": str(tmp_path)}
    assert native_hook(environment, build=True) is None
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert native_hook(environment, build=True) is None
    assert not [*tmp_path.glob("bin/*")]
