"""The replay of real sessions counts offers, and which of them were run next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.sessions import replay

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
    counts = replay(folder, tmp_path)
    assert counts.sessions == 2
    assert (counts.failures, counts.offered, counts.used) == (2, 2, 2)
