"""`wellkept off` silences every hook at once, and ends by itself."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from tests.clients.hooking import Machine
from wellkept.api.pause import Pauses
from wellkept.clients.pause import paused_parts
from wellkept.core.clock import system_clock
from wellkept.store.pause import format_pauses, parse_pauses
from wellkept.store.spool import OFF_NAME
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("C4", "H6")

RULE = "Deploys go through the staging cluster first"
START = ("claude-code", "SessionStart", "both")


@pytest.fixture
def told(machine: Machine) -> Machine:
    """A machine whose sessions are told a rule."""
    machine.remember(RULE, type="convention")
    assert RULE in machine.hook(*START, payload=machine.payload(session="before")).context
    return machine


def test_a_pause_silences_and_goes_on_capturing(told: Machine) -> None:
    Pauses(told.home).add()
    before = len(told.caught())
    assert told.hook(*START, payload=told.payload(session="off", source="startup")).is_silent
    # The event itself, and nothing about lines that were given.
    assert [one.event for one in told.caught()[before:]] == ["SessionStart"]
    Pauses(told.home).end()
    assert RULE in told.hook(*START, payload=told.payload(session="on")).context


def test_a_pause_of_capture_leaves_no_trace(told: Machine) -> None:
    Pauses(told.home).add(capture=True)
    before = told.caught()
    for arguments in (START, ("codex", "Stop"), ("gemini", "AfterTool", "answer")):
        assert told.hook(*arguments, payload=told.payload(session="off")).is_silent
    assert told.caught() == before


def test_a_pause_ends_by_itself(told: Machine) -> None:
    past = ManualClock(system_clock() - timedelta(hours=2))
    Pauses(told.home, clock=past).add(duration="1h")
    assert (told.home / OFF_NAME).exists()
    assert RULE in told.hook(*START, payload=told.payload(session="later")).context
    Pauses(told.home).add(duration="1h")
    assert told.hook(*START, payload=told.payload(session="within")).is_silent


def test_a_pause_of_one_folder_leaves_the_others_alone(told: Machine, tmp_path: Path) -> None:
    other = tmp_path / "project two"
    (other / "deep").mkdir(parents=True)
    Pauses(told.home).add(folder=other)
    assert RULE in told.hook(*START, payload=told.payload(session="elsewhere")).context
    state = str(told.home)
    assert paused_parts(state, b'{"cwd": "%b"}' % os.fsencode(other / "deep")) == (True, False)
    assert paused_parts(state, b'{"cwd": "%b"}' % os.fsencode(f"{other} and more")) == (
        False,
        False,
    )
    assert paused_parts(state, b'{"workspace_roots": ["%b"]}' % os.fsencode(other)) == (True, False)
    # Without a folder in the payload the one that the client stands in counts.
    for payload in (b"", b"[]", b"7", b'{"cwd": 7}', b'{"cwd": "\\u0000"}', b"[" * 100_000):
        assert paused_parts(state, payload) == (False, False)


def test_a_damaged_file_is_no_pause_and_an_unreadable_one_is(told: Machine) -> None:
    mark = told.home / OFF_NAME
    mark.write_bytes(b"\xff\xfe 0\nall\n0 all\n-1 say *\n0 none *\n")
    assert RULE in told.hook(*START, payload=told.payload(session="damaged")).context
    assert Pauses(told.home).list() == ()
    mark.unlink()
    mark.mkdir()
    assert told.hook(*START, payload=told.payload(session="folder")).is_silent


def test_without_a_pause_the_hook_reads_nothing_of_it(machine: Machine) -> None:
    code = (
        "import sys; sys.argv = ['hook', 'codex', 'Stop']\n"
        "from wellkept.clients import hook_process\n"
        "hook_process.main(['codex', 'Stop'])\n"
        "print('wellkept.clients.pause' in sys.modules)"
    )
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-c", code],
        input=machine.payload(),
        capture_output=True,
        env=machine.environment,
        check=True,
    )
    assert done.stdout == b"False\n"


def test_pauses_survive_writing_and_reading() -> None:
    lines = [(0, "say", "*"), (17, "all", "/a folder/with spaces")]
    assert parse_pauses(format_pauses(lines)) == lines
