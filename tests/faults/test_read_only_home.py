"""A home that may be read but not written: asking works, everything else says what is the matter.

Root may write anywhere, so as root the programs are run without that privilege.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import wellkept
from bench.crash_scene import Done
from tests.clients.hooking import HOOK, PYTHON
from wellkept.api.cli.background import ServerProcess, background_services
from wellkept.core.settings.model import Settings
from wellkept.store import spool

pytestmark = [
    pytest.mark.feature("C2", "C4"),
    pytest.mark.skipif(
        os.name != "posix" or (os.geteuid() == 0 and not shutil.which("setpriv")),
        reason="permissions of POSIX systems, for somebody who has to keep to them",
    ),
]
_DROPPED = "-dac_override,-dac_read_search,-fowner"
_PLAIN_USER = ("setpriv", f"--bounding-set={_DROPPED}", f"--inh-caps={_DROPPED}")
_CLI = (sys.executable, "-P", "-m", "wellkept.cli")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A memory and a spool, both for reading only."""
    root = tmp_path
    folder = root / "home"
    environment = {"WELLKEPT_HOME": str(folder)}
    with wellkept.open(
        cwd=root, project="shop", embedder="none", settings=Settings(), environment=environment
    ) as wk:
        wk.remember("The shop opens at nine", type="convention", importance=0.9)
    spool.append(
        str(folder / spool.FOLDER_NAME),
        client="claude-code",
        session="s",
        event="UserPromptSubmit",
        payload=b'{"session_id": "s", "prompt": "Caught before"}',
        now_ms=1_790_000_000_000,
    )
    _set_modes(root, file=0o444, folder=0o555)
    yield folder
    _set_modes(root, file=0o644, folder=0o755)


def _set_modes(root: Path, *, file: int, folder: int) -> None:
    root.chmod(0o755)
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else file)
    for path in [root, *root.rglob("*")]:
        if path.is_dir():
            path.chmod(folder)


def started(home: Path, *words: str) -> subprocess.Popen[bytes]:
    environment = {
        "WELLKEPT_HOME": str(home),
        "WELLKEPT_EMBEDDING_PROVIDER": "none",
        "WELLKEPT_PROJECT": "shop",
        "HOME": "/nonexistent",
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.Popen(
        [*(_PLAIN_USER if os.geteuid() == 0 else ()), *words],
        cwd=home.parent,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(home: Path, *words: str, payload: bytes = b"") -> Done:
    with started(home, *words) as process:
        out, errors = process.communicate(payload)
    return Done(process.returncode, out, errors.decode())


def contents(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def test_a_hook_passes_it_over_in_silence(home: Path) -> None:
    before = contents(home)
    for event in ("UserPromptSubmit", "Stop"):
        done = run(home, *PYTHON, str(HOOK), "claude-code", event, payload=b'{"session_id": "s"}')
        assert (done.code, done.out, done.errors) == (0, b"", "")
    assert contents(home) == before


def test_a_drain_says_what_it_may_not_do_and_loses_nothing(home: Path) -> None:
    before = contents(home)
    done = run(home, *_CLI, "spool", "drain")
    assert done.code not in {0, 1}
    assert "Traceback" not in done.errors
    assert "drain.lock" in done.errors or "cannot be written" in done.errors
    assert contents(home) == before


def test_what_is_known_can_be_asked_for_and_nothing_can_be_added(home: Path) -> None:
    asked = run(home, *_CLI, "recall", "when does the shop open")
    assert (asked.code, b"nine" in asked.out) == (0, True), asked.errors
    told = run(home, *_CLI, "remember", "The shop closes at six")
    assert told.code not in {0, 1}
    assert "cannot be written" in told.errors or "reading only" in told.errors


@pytest.mark.parametrize("below", ["", "not there yet"])
def test_doctor_names_what_may_not_be_written_and_what_to_do(home: Path, below: str) -> None:
    looked = run(home / below, *_CLI, "doctor", "--json")
    told = [one["message"] for one in json.loads(looked.out)["health"]["findings"]]
    assert looked.code != 0
    assert any(f"{home} cannot be written" in one and "chmod u+w" in one for one in told), told
    assert "Traceback" not in looked.errors


def test_an_mcp_server_answers_what_it_can_and_says_once_what_it_cannot(home: Path) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        _call(2, "memory_recall", query="when does the shop open"),
        _call(3, "memory_store", content="The shop closes at six"),
    ]
    with started(home, *_CLI, "mcp") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps(one) + "\n" for one in asked).encode())
        process.stdin.flush()
        told = [process.stdout.readline() for one in asked if "id" in one]
        _, errors = process.communicate()
    answers = {json.loads(line)["id"]: line for line in told}
    assert b"nine" in answers[2]
    assert b"cannot be written" in answers[3] or b"reading only" in answers[3]
    assert b"Traceback" not in errors


def _call(number: int, tool: str, **arguments: str) -> dict[str, object]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_a_server_starts_no_further_than_it_can(home: Path) -> None:
    done = run(home, *_CLI, "serve", "--port", "0")
    assert done.code not in {0, 1}
    assert "Traceback" not in done.errors
    assert str(home) in done.errors


@pytest.mark.feature("C5")
def test_where_nothing_can_be_made_a_server_goes_on_without_its_background_services(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("in the way of a folder")
    monkeypatch.setenv("WELLKEPT_HOME", str(blocked))
    with background_services(
        ServerProcess(kind="mcp", folder=tmp_path), lambda folder: wellkept.open(cwd=folder)
    ):
        pass
    (record,) = caplog.records
    assert "wellkept admin doctor" in record.message
