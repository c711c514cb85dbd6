"""At the end of a turn the hook has events taken in, without waiting for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.clients.hooking import Machine
from wellkept.clients import detached_drain
from wellkept.clients.answers.server import AnswerServer
from wellkept.clients.hook_process import MODES
from wellkept.clients.hook_spec import HookMode
from wellkept.store import spool

pytestmark = [
    pytest.mark.feature("C2", "C4"),
    pytest.mark.skipif(os.name != "posix", reason="processes of POSIX systems"),
]


@pytest.fixture
def drained(machine: Machine) -> Path:
    """A pipe that the noted program writes to, so that a test can wait for it."""
    machine.home.mkdir()
    pipe = machine.home / "pipe"
    os.mkfifo(pipe)
    script = (
        "import os, sys\n"
        "said = f'{os.getcwd()} {os.getsid(0) == os.getpid()} {os.read(0, 9)} {len(sys.argv)}'\n"
        f"open({str(pipe)!r}, 'w').write(said)\n"
    )
    words = (sys.executable, "-I", "-c", script, "an argument\nwith a line end")
    detached_drain.record_command(str(machine.home), words)
    return pipe


@pytest.mark.parametrize("event", ["Stop", "SessionEnd", "AfterAgent", "sessionEnd"])
def test_an_end_starts_a_drain_away_from_the_client(
    machine: Machine, drained: Path, event: str
) -> None:
    assert machine.hook("claude-code", event, payload=machine.payload()).is_silent
    assert len(machine.caught()) == 1
    assert drained.read_text() == f"{machine.home} True b'' 2"


def test_a_beginning_drains_what_a_dead_session_left(machine: Machine, drained: Path) -> None:
    machine.hook("claude-code", "UserPromptSubmit", payload=machine.payload())
    (left,) = machine.spool.glob("*.spool")
    assert spool.waiting_files(str(machine.spool), longer_than_s=300) == 0
    os.utime(left, (1, 1))
    assert spool.waiting_files(str(machine.spool), longer_than_s=300) == 1
    payload = machine.payload(session_id="another-session")
    assert machine.hook("claude-code", "SessionStart", payload=payload).is_silent
    assert drained.read_text() == f"{machine.home} True b'' 2"


def test_the_noted_program_is_read_back_whole(machine: Machine) -> None:
    machine.home.mkdir()
    words = ["/bin/it's", "a b", "é\n"]
    detached_drain.record_command(str(machine.home), words)
    detached_drain.record_command(str(machine.home), words)
    assert detached_drain.recorded_command(str(machine.home)) == words
    assert [path.name for path in machine.home.iterdir()] == [detached_drain.FILE_NAME]


def test_without_a_noted_program_nothing_is_started(machine: Machine) -> None:
    assert not detached_drain.start(str(machine.home))
    assert machine.hook("claude-code", "Stop", payload=machine.payload()).is_silent


def test_where_a_live_process_is_it_is_left_to_drain(machine: Machine, drained: Path) -> None:
    with AnswerServer(machine.home, lambda client, event, payload: b"") as server:
        assert server.wait_until_serving(20)
        assert not detached_drain.start(str(machine.home))


def test_a_program_that_is_gone_is_passed_over(machine: Machine) -> None:
    machine.home.mkdir()
    detached_drain.record_command(str(machine.home), ["/no/such/program"])
    assert machine.hook("claude-code", "Stop", payload=machine.payload()).is_silent


def test_installers_and_the_hook_agree_on_what_a_hook_may_do() -> None:
    assert {mode.value for mode in HookMode} == set(MODES)
