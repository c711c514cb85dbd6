"""However many sessions end at once, few drains are started, and none of them leaves work behind."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.crash_scene import wait_until
from tests.clients.hooking import HOOK, PYTHON, Machine
from wellkept.clients import detached_drain
from wellkept.clients.detached_drain import SLOT_VARIABLE, SLOTS, drain_rounds, take_slot

pytestmark = [
    pytest.mark.feature("C2", "C4"),
    pytest.mark.skipif(os.name != "posix", reason="processes of POSIX systems"),
]
_HOOKS = 12
# Says that it is there, and stays for as long as the test holds the gate.
_DRAIN = (
    "import fcntl, sys\n"
    "open(sys.argv[1], 'a').write('started\\n')\n"
    "fcntl.flock(open(sys.argv[2]), fcntl.LOCK_SH)\n"
)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    project = tmp_path / "project"
    project.mkdir()
    return Machine(tmp_path / "home", project)


@pytest.fixture
def state(machine: Machine) -> Path:
    (machine.home / "spool").mkdir(parents=True)
    return machine.home


@pytest.fixture
def slots(state: Path) -> Iterator[list[int]]:
    """Every slot, taken."""
    taken = [slot for _ in range(SLOTS) if (slot := take_slot(str(state))) is not None]
    yield taken
    for slot in taken:
        os.close(slot)


def slots_are_free(state: Path) -> bool:
    taken = [slot for _ in range(SLOTS) if (slot := take_slot(str(state))) is not None]
    for slot in taken:
        os.close(slot)
    return len(taken) == SLOTS


def hooks_at_once(machine: Machine) -> None:
    started = [
        subprocess.Popen(
            [*PYTHON, str(HOOK), "claude-code", "Stop"],
            stdin=subprocess.PIPE,
            env=machine.environment,
        )
        for _ in range(_HOOKS)
    ]
    for process in started:
        process.communicate(machine.payload())
        assert process.returncode == 0


def test_many_ends_at_once_start_no_more_drains_than_there_are_slots(
    machine: Machine, state: Path
) -> None:
    log, gate = machine.home / "log", machine.home / "gate"
    words = (sys.executable, "-I", "-c", _DRAIN, str(log), str(gate))
    detached_drain.record_command(str(state), words)
    with gate.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for _ in range(2):
            hooks_at_once(machine)
        assert take_slot(str(state)) is None
    wait_until(lambda: slots_are_free(state), "the end of the drains")
    assert len(machine.caught()) == 2 * _HOOKS
    assert len(log.read_text().splitlines()) == SLOTS


def test_a_slot_is_free_again_when_its_holder_is_killed(state: Path) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from wellkept.clients.detached_drain import take_slot\n"
            "held = [take_slot(sys.argv[1]), take_slot(sys.argv[1])]; print(held, flush=True)\n"
            "sys.stdin.read()",
            str(state),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert b"None" not in process.stdout.readline()
    assert take_slot(str(state)) is None
    process.kill()
    process.communicate()
    slot = take_slot(str(state))
    assert slot is not None
    os.close(slot)


def test_a_drain_with_a_slot_goes_on_while_events_come(
    state: Path, slots: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOT_VARIABLE, str(slots.pop()))
    spool = ["a"]
    done = 0
    for _ in drain_rounds(str(state), list_files=lambda: list(spool)):
        done += 1
        if done < 3:
            spool.append(f"came in round {done}")
    assert done == 3
    assert SLOT_VARIABLE not in os.environ
    free = take_slot(str(state))
    assert free is not None
    os.close(free)


def test_what_goes_away_is_no_reason_to_go_on(
    state: Path, slots: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOT_VARIABLE, str(slots.pop()))
    spool = ["a", "b"]
    assert (
        sum(1 for _ in drain_rounds(str(state), list_files=lambda: [spool.pop()] if spool else []))
        <= 2
    )


@pytest.mark.parametrize("given", ["", "no number", "9999"])
def test_a_drain_by_hand_has_one_round(
    state: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOT_VARIABLE, given)
    came = iter(range(9))
    assert sum(1 for _ in drain_rounds(str(state), list_files=lambda: [next(came)])) == 1


def test_where_slots_cannot_be_made_nothing_is_started(tmp_path: Path) -> None:
    assert take_slot(str(tmp_path / "nowhere")) is None
