"""A user without a home folder: commands say what to set, and nothing lands where they are run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.feature("C4")
_CLI = (sys.executable, "-P", "-m", "wellkept.cli")


@pytest.mark.parametrize("words", [("spool", "drain"), ("remember", "x"), ("doctor",)])
def test_without_a_home_commands_say_what_to_set(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [*_CLI, *words],
        cwd=tmp_path,
        env={"HOME": "nowhere/at/all", "PATH": os.environ["PATH"]},
        capture_output=True,
        check=False,
    )
    assert done.returncode not in {0, 1}
    assert b"WELLKEPT_HOME" in done.stderr
    assert b"Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
