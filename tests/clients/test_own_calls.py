"""A client that Wellkept itself asks as a model is neither captured, told, served nor imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.opening import open_in
from tests.app.test_backfill import contents, session, take
from tests.clients.hooking import Machine

pytestmark = pytest.mark.feature("C10", "C4")


@pytest.mark.skipif(os.name != "posix", reason="processes of POSIX systems")
@pytest.mark.parametrize("mode", ["capture", "both", "answer"])
def test_a_hook_ends_before_it_reads_anything(machine: Machine, mode: str) -> None:
    inside = Machine(machine.home, machine.project, extra={"WELLKEPT_SELF": "1"})
    with subprocess.Popen(
        inside.command("claude-code", "UserPromptSubmit", mode),
        env=inside.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        # Standard input stays open: a hook that read it would wait.
        assert process.stdout is not None
        assert process.stdout.read() == b""
        assert process.wait() == 0
    assert not inside.spool.exists()


def test_the_mcp_server_answers_nothing_and_writes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = subprocess.run(
        [sys.executable, "-m", "wellkept.cli", "mcp"],
        env={**os.environ, "WELLKEPT_HOME": str(home), "WELLKEPT_SELF": "1"},
        input=b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}\n',
        capture_output=True,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert not home.exists()


def test_a_transcript_of_such_a_call_is_not_imported(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        own = wk.services.chat_choice.folder / "work" / "tmp1"
        session(tmp_path / "kept", "s-own", cwd=own)
        session(tmp_path / "kept", "s-user", cwd=tmp_path / "shop")
        take(wk, tmp_path / "kept")
        assert wk.engine.store.get_session("s-own") is None
        assert wk.engine.store.get_session("s-user") is not None
        assert str(own) not in str(contents(wk))
