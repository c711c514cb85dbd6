"""Starting the hook as a client does: its own process, isolated, the payload on standard input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import wellkept
from wellkept.clients import hook
from wellkept.core.session.sessions import SpoolEntry
from wellkept.core.settings.model import Settings
from wellkept.store.spool_reader import files, read

HOOK = Path(hook.__file__)
PYTHON = (sys.executable, "-I", "-S")


@dataclass(frozen=True, slots=True)
class Answered:
    """What a client sees of a hook."""

    code: int
    out: bytes
    errors: str

    @property
    def is_silent(self) -> bool:
        """Whether the client notices nothing at all."""
        return (self.code, self.out, self.errors) == (0, b"", "")

    @property
    def context(self) -> str:
        """The text that the client hands to its model; empty for none."""
        if not self.out:
            return ""
        return json.loads(self.out)["hookSpecificOutput"]["additionalContext"]


@dataclass(frozen=True, slots=True)
class Machine:
    """A home, a project folder, and the hook as it was installed."""

    home: Path
    project: Path
    program: Path = HOOK
    native: tuple[str, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def environment(self) -> dict[str, str]:
        """What the client passes on."""
        return {
            "WELLKEPT_HOME": str(self.home),
            "PATH": os.environ["PATH"],
            # Tests say nothing about time, so a busy machine may take what it needs.
            "WELLKEPT_HOOK_TIMEOUT_MS": "100000",
            **self.extra,
        }

    @property
    def spool(self) -> Path:
        """Where events are caught."""
        return self.home / "spool"

    def command(self, *arguments: str) -> list[str]:
        """The command line that an installer writes."""
        return [*self.native, *PYTHON, str(self.program), *arguments]

    def hook(self, *arguments: str, payload: bytes = b"{}") -> Answered:
        """Run the hook to its end."""
        done = subprocess.run(
            self.command(*arguments),
            input=payload,
            capture_output=True,
            env=self.environment,
            check=False,
        )
        return Answered(done.returncode, done.stdout, done.stderr.decode())

    def payload(self, *, session: str = "s-1", **more: object) -> bytes:
        """A payload in the form that most clients share."""
        return json.dumps({"session_id": session, "cwd": str(self.project), **more}).encode()

    def caught(self) -> list[SpoolEntry]:
        """Every event in the spool."""
        items = [item for file in files(self.spool) for item in read(file.path)]
        return [item for item in items if isinstance(item, SpoolEntry)]

    def remember(self, *statements: str, files: tuple[str, ...] = (), type: str = "fact") -> None:
        """Keep something in the project's memory that a person said."""
        with self.memory() as memory:
            for statement in statements:
                memory.remember(
                    statement, type=type, files=files, importance=0.9, source="user_taught"
                )

    def memory(self) -> wellkept.Wellkept:
        """The project's memory, opened as the hook's own environment has it."""
        return wellkept.open(
            self.home / "memory.db",
            cwd=self.project,
            embedder="none",
            settings=Settings(),
            environment=self.environment,
        )
