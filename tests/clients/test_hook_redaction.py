"""With `capture.redact = hook` nothing that a rule finds is written, not even to the spool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clients.hooking import Machine
from wellkept.observe.observer.spool_folder import SpoolFolder
from wellkept.store import spool
from wellkept.store.spool_reader import dropped, files
from wellkept.text.secrets.known_values import KnownValues, write_known

pytestmark = pytest.mark.feature("A10", "C2")

SECRET, KNOWN = "Tiger_4711", "river-2207x"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path / "home", tmp_path / "work")
    made.home.mkdir()
    made.project.mkdir()
    return made


def payload(text: str) -> bytes:
    return json.dumps({"session_id": "s-1", "cwd": "/w", "prompt": text}).encode()


def raw(machine: Machine) -> bytes:
    return b"".join(file.path.read_bytes() for file in files(machine.spool))


def redact_first(machine: Machine, known: str = "") -> None:
    SpoolFolder(machine.spool).redact_first(on=True, known_values=known)


def test_by_default_the_payload_is_written_as_it_is(machine: Machine) -> None:
    machine.hook("claude-code", "UserPromptSubmit", payload=payload(f"mysql -p{SECRET} x"))
    assert SECRET.encode() in raw(machine)


def test_a_secret_never_reaches_the_spool(machine: Machine) -> None:
    redact_first(machine)
    machine.hook("claude-code", "UserPromptSubmit", payload=payload(f"mysql -p{SECRET} x"))
    assert SECRET.encode() not in raw(machine)
    assert b"[redacted:password]" in raw(machine)
    assert [file.path.name for file in files(machine.spool)] == ["claude-code-s-1.spool"]


def test_a_payload_that_is_no_json_is_redacted_as_text(machine: Machine) -> None:
    redact_first(machine)
    machine.hook("claude-code", "Stop", payload=f"{{ half: password is {SECRET}".encode())
    assert SECRET.encode() not in raw(machine)


def test_known_values_are_recognised_in_the_hook(machine: Machine, tmp_path: Path) -> None:
    empty = KnownValues(b"0" * 16)
    path = str(tmp_path / "memory.known")
    write_known(path, KnownValues.of(empty.salt, [empty.hashed(KNOWN)]))
    redact_first(machine, path)
    machine.hook("claude-code", "UserPromptSubmit", payload=payload(f"it printed {KNOWN}"))
    assert KNOWN.encode() not in raw(machine)


def test_what_cannot_be_redacted_is_dropped_and_counted(machine: Machine) -> None:
    redact_first(machine)
    broken = Machine(machine.home, machine.project, extra={"WELLKEPT_CAPTURE_REDACT": "hook"})
    (machine.home / spool.REDACT_NAME).write_bytes(b"\xff\xfe not a path")
    broken.hook("claude-code", "UserPromptSubmit", payload=payload(f"mysql -p{SECRET} x"))
    assert raw(machine) == b""
    assert dropped(machine.spool).count == 1


def test_the_setting_is_taken_back(machine: Machine) -> None:
    redact_first(machine)
    SpoolFolder(machine.spool).redact_first(on=False)
    assert not (machine.home / spool.REDACT_NAME).exists()
