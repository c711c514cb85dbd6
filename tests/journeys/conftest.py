"""The installed product: a home and a repository of their own, every command a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a process printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON document on standard output."""
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Installation:
    """Wellkept as a person has it: `here.wellkept("recall", "deploy")`."""

    home: Path
    repository: Path
    environment: dict[str, str]

    def wellkept(self, *arguments: str, stdin: str = "") -> Answer:
        """Run a command that must succeed."""
        answer = self.run(sys.executable, "-m", "wellkept.cli", *arguments, stdin=stdin)
        assert answer.code == 0, f"{arguments}: {answer.code}\n{answer.out}\n{answer.err}"
        return answer

    def run(self, *command: str, stdin: str = "") -> Answer:
        """Run any program in the repository."""
        done = subprocess.run(
            command,
            cwd=self.repository,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def here(home: Path, tmp_path: Path) -> Installation:
    """A home without anything in it, and a repository with one commit."""
    person, repository = tmp_path / "person", tmp_path / "widget"
    person.mkdir()
    repository.mkdir()
    environment = {
        "HOME": str(person),
        "PATH": os.environ["PATH"],
        "WELLKEPT_HOME": str(home),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    installation = Installation(home, repository, environment)
    (repository / "README.md").write_text("# Widget\n")
    installation.run("git", "init", "-q", "-b", "main")
    installation.run("git", "add", "-A")
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    installation.run("git", *who, "commit", "-q", "-m", "Begin")
    return installation
