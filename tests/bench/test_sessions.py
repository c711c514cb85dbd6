"""The replay of real sessions counts offers, and which of them were run next."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from bench.golden_moments import Golden, judge
from bench.published_transcripts import published_sessions
from bench.session_replay import Replay
from bench.session_use import is_used
from bench.sessions import count_sessions
from bench.shared_sessions import MOVED, renamed, run_gate

pytestmark = pytest.mark.feature("D11", "C9")


def write_session(folder: Path, number: int) -> None:
    """A session in which `make ship` fails and works with a variable."""
    cwd, session = "/home/dev/shop", f"0000000{number}-0000-4000-8000-000000000000"
    base = {"sessionId": session, "cwd": cwd, "version": "2.1.39", "isSidechain": False}
    lines: list[dict[str, object]] = []

    def add(kind: str, content: object, second: int) -> None:
        at = f"2026-02-1{number}T10:00:{second:02}.000Z"
        message = {"role": kind, "content": content}
        lines.append(
            {**base, "type": kind, "message": message, "timestamp": at, "uuid": f"{second}"}
        )

    add("user", "Ship the new release to the shops", 1)
    for second, command, error in (
        (2, "make ship", "Exit code 2\nSHIP_REGION is not set"),
        (4, "SHIP_REGION=eu-west make ship", ""),
    ):
        call = f"call-{number}-{second}"
        used = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
        add("assistant", [used], second)
        answer: dict[str, object] = {"type": "tool_result", "tool_use_id": call, "content": error}
        add("user", [{**answer, "is_error": bool(error)}], second + 1)
    text = "\n".join(json.dumps(line) for line in lines)
    (folder / f"{session}.jsonl").write_text(text + "\n")


def test_a_known_way_out_is_offered_and_counted_as_run(tmp_path: Path) -> None:
    folder = tmp_path / "transcripts"
    folder.mkdir()
    for number in range(1, 5):
        write_session(folder, number)
    counts, packs = count_sessions(folder, tmp_path / "home")
    assert counts.sessions == 2
    assert (counts.failures, counts.known, counts.known_offered) == (2, 2, 2)
    assert counts.offers_run == counts.offered
    assert counts.starts_told == counts.starts_with_work
    assert any("SHIP_REGION=eu-west make ship" in pack for pack in packs)


def test_moments_see_only_what_came_before_them(tmp_path: Path) -> None:
    folder = tmp_path / "transcripts"
    folder.mkdir()
    for number in range(1, 3):
        write_session(folder, number)
    with Replay(folder, tmp_path / "home") as replay:
        asked = list(replay.run(ask_if=lambda _: True))
    first = [one for one in asked if one.session.number == 0]
    assert {one.moment for one in first} == {"session", "prompt", "command", "failure"}
    assert not any(one.text for one in first)
    offers = [one for one in asked if one.text and one.moment == "failure"]
    assert [one.session.number for one in offers] == [1]
    assert is_used(offers[0].lines[0], offers[0])


def test_published_transcripts_are_written_once_for_each_session(tmp_path: Path) -> None:
    clone = tmp_path / "clone"

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *arguments], cwd=clone, check=True, capture_output=True)

    clone.mkdir()
    git("init", "-q", "-b", "entire/checkpoints/v1")
    folder = clone / "aa" / "bb"
    folder.mkdir(parents=True)
    write_session(folder, 1)
    whole = next(folder.glob("*.jsonl"))
    (folder / "full.jsonl").write_text("".join(whole.read_text().splitlines(keepends=True)[:2]))
    git("add", ".")
    git("commit", "-q", "-m", "checkpoint")
    assert published_sessions(clone) == {whole.stem: whole.read_bytes()}


def test_a_golden_moment_counts_what_was_said_by_then(tmp_path: Path) -> None:
    folder = tmp_path / "transcripts"
    folder.mkdir()
    for number in range(1, 4):
        write_session(folder, number)
    known = Golden(
        name="X", repository="shop", session="00000003", moment="failure", matching="make ship",
        points={"variable": "SHIP_REGION=eu-west", "nothing": "never said"},
    )  # fmt: skip
    first = Golden(name="S", repository="shop", session="00000001", moment="session", silent=True)
    judged = {one.golden.name: one for one in judge(folder, tmp_path / "home", [known, first])}
    assert judged["X"].missing == ["nothing"]
    assert judged["S"].is_silent_as_wanted


def test_without_development_sessions_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_gate(tmp_path) == 0
    assert "nothing to run" in capsys.readouterr().out


def test_the_gate_runs_in_a_copy_and_its_exit_code_counts(tmp_path: Path) -> None:
    gate = tmp_path / "sessions"
    gate.mkdir()
    (gate / "replaying.py").write_text("from wellkept.core.events import Event\n")
    (gate / "gate.py").write_text("import sys, replaying\nsys.exit(3)\n")
    assert run_gate(gate) == 3
    assert sorted(one.name for one in gate.iterdir()) == ["gate.py", "replaying.py"]


def test_the_names_of_the_rooms_are_real() -> None:
    text = "\n".join(f"from {old} import x" for old in MOVED)
    for line in renamed(text).splitlines():
        __import__(line.split()[1])
