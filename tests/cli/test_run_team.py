"""`make run-team`: PostgreSQL, an organisation and a server with one command."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import httpx2
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.feature("T5")
@pytest.mark.usefixtures("postgres_server")  # skipped where PostgreSQL cannot be started
def test_one_command_serves_a_team_and_its_token_lets_the_administrator_in() -> None:
    # A short path: a Unix socket lies below it.
    with tempfile.TemporaryDirectory(prefix="wk-team-") as folder:
        command = (sys.executable, "-m", "scripts.run_team", "--port", "0", "--folder", folder)
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ.copy(),
            # A suite in the background ignores Ctrl-C, and so would its children.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
        try:
            assert process.stdout is not None
            said = ""
            while not (address := re.search(r"team is at (http://\S+)", said)):
                line = process.stdout.readline()
                assert line, said
                said += line
            token = re.search(r"shown once: (\S+)", said)
            assert token is not None
            headers = {"Authorization": f"Bearer {token[1]}"}
            me = httpx2.get(f"{address[1]}/api/team/me", headers=headers, timeout=30).json()
            assert (me["tenant"], me["user"], me["role"]) == ("demo", "ada", "admin")
            assert httpx2.get(f"{address[1]}/api/team/me", timeout=30).status_code == 401
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
