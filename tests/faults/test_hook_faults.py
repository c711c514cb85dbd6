"""A hook that is kept from writing, and what hooks leave behind over the years."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from wellkept.clients.answers.injection_spool import ShownItems
from wellkept.store import spool
from wellkept.store.spool_reader import dropped, files

fcntl = spool.fcntl
pytestmark = [
    pytest.mark.feature("C2", "C4"),
    pytest.mark.skipif(fcntl is None, reason="locks of POSIX systems"),
]
# The hook with a limit that a test can wait for.
_IMPATIENT = (
    "import sys; from wellkept.clients import hook_process\n"
    "hook_process.WRITE_LIMIT_S = 0.2\n"
    "hook_process.main(sys.argv[1:])\n"
)


def test_a_hook_whose_file_stays_locked_gives_up_and_the_event_is_counted(tmp_path: Path) -> None:
    assert fcntl is not None
    folder = tmp_path / "home" / spool.FOLDER_NAME
    payload = b'{"session_id": "s"}'
    command = [sys.executable, "-c", _IMPATIENT, "claude-code", "UserPromptSubmit"]
    environment = {"WELLKEPT_HOME": str(tmp_path / "home"), "WELLKEPT_DEBUG": "1"}

    def run() -> str:
        done = subprocess.run(
            command, input=payload, env=environment, capture_output=True, check=True
        )
        return done.stderr.decode()

    assert run() == ""
    (file,) = files(folder)
    with file.path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "time limit reached" in run()
    assert dropped(folder).count == 1
    assert run() == ""
    assert files(folder)[0].size_bytes == 2 * file.size_bytes


def test_what_was_shown_in_sessions_of_long_ago_is_forgotten(tmp_path: Path) -> None:
    book = ShownItems(tmp_path)
    book.forget_old()
    book.add("claude-code", "old", ["a"])
    (path,) = (tmp_path / "shown").iterdir()
    os.utime(path, (1, 1))
    book.add("claude-code", "new", ["b"])
    book.forget_old()
    assert book.ids("claude-code", "old") == frozenset()
    assert book.ids("claude-code", "new") == frozenset({"b"})
