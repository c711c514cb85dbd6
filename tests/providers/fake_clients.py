"""Small programs that stand in for coding clients, each with one way to answer or to fail."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import cast

from wellkept.models.headless.clients import HeadlessClient
from wellkept.models.headless.model import HeadlessModel

_HEAD = f"""#!{sys.executable} -IS
import json, os, signal, subprocess, sys, time
if sys.argv[1:] in (["auth", "status"], ["login", "status"]):
    sys.exit(0)
record = {{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(),
          "files": os.listdir("."), "group": os.getpgrp(), "pid": os.getpid()}}
given = sys.stdin.read()
record["stdin"] = given
with open(__file__ + ".seen", "w") as seen:
    json.dump(record, seen)
"""


def answers(name: str, text: str) -> str:
    """A script that answers as a client of that name does."""
    said = {
        "claude": {
            "type": "result", "is_error": False, "result": text,
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 3},
        },
        "gemini": {
            "response": text,
            "stats": {"models": {"m": {"tokens": {"prompt": 15, "candidates": 3}}}},
        },
    }  # fmt: skip
    lines = {
        "codex": [
            {"type": "thread.started"},
            {"type": "item.completed", "item": {"type": "error", "message": "a warning"}},
            {"type": "item.completed", "item": {"type": "agent_message", "text": text}},
            {"type": "turn.completed", "usage": {"input_tokens": 15, "output_tokens": 3}},
        ],
        "opencode": [
            {"type": "step_start"},
            {"type": "text", "part": {"text": text}},
            {
                "type": "step_finish",
                "part": {"reason": "stop", "tokens": {"input": 15, "output": 3}},
            },
        ],
    }
    shown = [said[name]] if name in said else lines[name]
    return "".join(f"print({json.dumps(one)!r}, flush=True)\n" for one in shown)


class FakeClient:
    """A program of one client in a folder of its own."""

    def __init__(self, folder: Path, client: HeadlessClient, script: str) -> None:
        self.home = folder / "home"
        self.home.mkdir(exist_ok=True)
        self.program = folder / client.program
        self.program.write_text(_HEAD + script)
        self.program.chmod(0o755)
        self.private = folder / "private"
        self._client = client

    def model(
        self, *, limit_s: float = 30.0, max_bytes: int = 1 << 20, **env: str
    ) -> HeadlessModel:
        """The model that starts it."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), **env}
        return HeadlessModel(
            self._client,
            folder=self.private,
            environment=environment,
            command=str(self.program),
            model="fake/model",
            limit_s=limit_s,
            max_bytes=max_bytes,
        )

    @property
    def environment(self) -> dict[str, str]:
        """The variables it was started with."""
        return cast("dict[str, str]", self.seen["env"])

    @property
    def seen(self) -> dict[str, object]:
        """How it was started."""
        return json.loads(self.program.with_name(f"{self.program.name}.seen").read_text())
