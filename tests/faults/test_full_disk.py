"""No room on the disk at the hook, at the drain and at the server: told, and nothing spoiled.

A limit on the size of files stands in for a full disk: the system refuses the write half-way.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.crash_ledger import Kind, Ledger, Sent, settle, verdict, words_of
from bench.crash_scene import Done, HttpServer, Scene, end_server, finished
from wellkept.store import spool
from wellkept.store.spool_reader import dropped

pytestmark = [
    pytest.mark.feature("C2"),
    pytest.mark.skipif(os.name != "posix", reason="limits of POSIX systems"),
]
_BLOCK = 512


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene.set_up(tmp_path / "scene")


def limited(scene: Scene, *words: str, limit_bytes: int, payload: bytes = b"") -> Done:
    """Run a program whose files cannot grow above the limit."""
    script = f'ulimit -f {limit_bytes // _BLOCK}; exec "$@"'
    started = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *words],
        cwd=scene.work,
        env=scene.environment,
        input=payload,
        capture_output=True,
        check=False,
    )
    return Done(started.returncode, started.stdout, started.stderr.decode())


def catch_prompts(scene: Scene, ledger: Ledger, count: int) -> None:
    for number in range(count):
        sent = Sent(Kind.PROMPT, f"p{number:07}")
        body = {"session_id": "s", "cwd": str(scene.work), "prompt": f"Look at {sent.name} " * 40}
        spool.append(
            str(scene.home / spool.FOLDER_NAME),
            client="claude-code",
            session="s",
            event="UserPromptSubmit",
            payload=json.dumps(body).encode(),
            now_ms=1_790_000_000_000 + number,
        )
        ledger.note(sent, sure=True)


def test_an_event_that_found_no_room_is_counted(scene: Scene) -> None:
    payload = json.dumps({"session_id": "s", "prompt": "x" * 50_000}).encode()
    words = finished(scene.start_hook("claude-code", "UserPromptSubmit", b"{}")).errors
    assert words == ""
    hook = [sys.executable, "-I", "-S", str(Path(spool.__file__).parents[1] / "clients/hook.py")]
    done = limited(
        scene, *hook, "claude-code", "UserPromptSubmit", limit_bytes=8_192, payload=payload
    )
    assert (done.code, done.out) == (0, b"")
    assert "not captured" in done.errors
    assert dropped(scene.home / spool.FOLDER_NAME).count == 1
    told = scene.cli("doctor", "--json")
    assert told.code == 0
    scene.cli("spool", "drain")
    assert b"1 events did not fit" in scene.cli("doctor").out


def test_a_drain_without_room_says_so_and_loses_nothing(scene: Scene) -> None:
    ledger = Ledger()
    assert scene.cli("remember", "Makes the database").code == 0
    catch_prompts(scene, ledger, 400)
    size = (scene.home / "memory.db").stat().st_size
    drain = (sys.executable, "-P", "-m", "wellkept.cli", "spool", "drain")
    done = limited(scene, *drain, limit_bytes=size + 64_000)
    assert done.code not in {0, 1}
    assert "No disk space left" in done.errors
    assert "Free some disk space" in done.errors
    assert verdict(scene, Ledger()).set_aside == 0
    settle(scene)
    assert verdict(scene, ledger).is_clean


def test_a_server_without_room_refuses_goes_on_reading_and_recovers(scene: Scene) -> None:
    ledger = Ledger()
    assert scene.cli("remember", "The service of the shop has a database").code == 0
    size = (scene.home / "memory.db").stat().st_size
    server = HttpServer(scene, max_file_bytes=size + 100_000)
    try:
        refused = ""
        for _ in range(200):
            statement = ledger.statement()
            sure = server.keep(words_of(statement) + " It does much." * 200)
            ledger.note(statement, sure=sure)
            if not sure:
                refused = server.complaint
                break
        assert "No disk space left" in refused
        assert json.loads(refused)["status"] == 507
        assert server.find("service of the shop"), server.complaint
    finally:
        end_server(server, kill=False)
    after = ledger.statement()
    assert scene.cli("remember", words_of(after)).code == 0
    ledger.note(after, sure=True)
    assert verdict(scene, ledger).is_clean
