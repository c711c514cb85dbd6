"""The spool under real processes: many at once, killed, without room, without permission."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from wellkept.core.session.sessions import SpoolDamage, SpoolEntry
from wellkept.store.spool_reader import files, read, remove_drained

pytestmark = [
    pytest.mark.feature("C2"),
    pytest.mark.skipif(os.name != "posix", reason="processes and limits of POSIX systems"),
]

_APPEND = """
import sys
from wellkept.store import spool
directory, name, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for number in range(count):
    body = b"%b:%d:" % (name.encode(), number)
    spool.append(directory, client="c", session="one", event="E",
                 payload=body + b"x" * (number * 997 % size), now_ms=number)
    if "--say" in sys.argv:
        print(number, flush=True)
"""
_DISK_FULL = """
import resource, sys
from wellkept.store import spool
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))
refused = 0
for size in (2_000, 2_000, 2_000, 2_000, 10):
    try:
        spool.append(sys.argv[1], client="c", session="one", event="E", payload=b"x" * size, now_ms=1)
    except OSError:
        refused += 1
print(refused)
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(processes: Sequence[subprocess.Popen[str]]) -> None:
    assert [process.communicate()[1] or process.returncode for process in processes] == [0] * len(
        processes
    )


def labels(path: Path) -> list[tuple[str, int]]:
    entries = [item for item in read(path) if isinstance(item, SpoolEntry)]
    parts = [entry.payload.split(b":") for entry in entries]
    return [(name.decode(), int(number)) for name, number, _ in parts]


def test_processes_that_append_at_once_lose_and_mix_nothing(tmp_path: Path) -> None:
    names = [f"p{n}" for n in range(8)]
    finish([start(_APPEND, tmp_path, name, 60, 20_000) for name in names])
    (file,) = files(tmp_path)
    assert not [item for item in read(file.path) if isinstance(item, SpoolDamage)]
    found = labels(file.path)
    assert sorted(found) == sorted((name, n) for name in names for n in range(60))
    for name in names:
        assert [n for whose, n in found if whose == name] == list(range(60))


def test_a_reader_that_removes_files_meanwhile_sees_each_event_once(tmp_path: Path) -> None:
    writers = [start(_APPEND, tmp_path, f"p{n}", 150, 50) for n in range(3)]
    seen: list[tuple[str, int]] = []
    while True:
        over = all(writer.poll() is not None for writer in writers)
        for file in files(tmp_path):
            offset = 0
            for item in read(file.path):
                assert isinstance(item, SpoolEntry)
                name, number, _ = item.payload.split(b":")
                seen.append((name.decode(), int(number)))
                offset = item.end
            while not remove_drained(file.path, offset=offset):
                for item in read(file.path, offset=offset):
                    assert isinstance(item, SpoolEntry)
                    name, number, _ = item.payload.split(b":")
                    seen.append((name.decode(), int(number)))
                    offset = item.end
        if over and not files(tmp_path):
            break
    finish(writers)
    assert sorted(seen) == sorted((f"p{n}", k) for n in range(3) for k in range(150))


def test_what_a_killed_process_has_acknowledged_is_there(tmp_path: Path) -> None:
    process = start(_APPEND, tmp_path, "p", 100_000, 5_000, "--say")
    assert process.stdout is not None
    acknowledged = [int(process.stdout.readline()) for _ in range(25)][-1]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (file,) = files(tmp_path)
    found = [number for _, number in labels(file.path)]
    assert found == list(range(len(found)))
    assert len(found) > acknowledged
    finish([start(_APPEND, tmp_path, "q", 1, 10)])
    assert labels(file.path)[-1] == ("q", 0)


def test_a_full_disk_is_an_error_and_spoils_nothing_else(tmp_path: Path) -> None:
    process = start(_DISK_FULL, tmp_path)
    out, _ = process.communicate()
    assert int(out) == 3
    (file,) = files(tmp_path)
    items = list(read(file.path))
    assert [len(item.payload) for item in items if isinstance(item, SpoolEntry)] == [2_000, 2_000]
    assert [item.torn for item in items if isinstance(item, SpoolDamage)] == [True]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    process = start(_APPEND, tmp_path, "p", 1, 10)
    process.communicate()
    tmp_path.chmod(0o700)
    assert process.returncode != 0
    assert files(tmp_path) == []


def test_a_file_where_the_folder_should_be_is_an_error(tmp_path: Path) -> None:
    place = tmp_path / "spool"
    place.write_text("in the way")
    command = [sys.executable, "-c", _APPEND, str(place), "p", "1", "10"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "NotADirectoryError" in done.stderr
    assert files(place) == []
    assert place.read_text() == "in the way"
