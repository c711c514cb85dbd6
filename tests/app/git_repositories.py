"""Real git repositories for tests, made without the user's own configuration."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class GitRepository:
    """A repository in a temporary folder; every commit is an hour after the one before."""

    root: Path
    commits: int = field(default=0)

    @classmethod
    def create(cls, root: Path, *options: str) -> GitRepository:
        root.mkdir(parents=True, exist_ok=True)
        made = cls(root)
        made.git("init", "-q", "-b", "main", *options)
        return made

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=cwd or self.root,
            env=self._environment(),
            check=True,
            capture_output=True,
        )
        return done.stdout.decode().strip()

    def commit(self, message: str, /, **files: str) -> str:
        """Write text files by name and commit everything."""
        for name, text in files.items():
            self.write(f"{name}.txt", text)
        self.commits += 1
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def write(self, path: str, text: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    def _environment(self) -> dict[str, str]:
        date = f"2025-03-0{1 + self.commits // 24}T{self.commits % 24:02}:00:00+00:00"
        person = {"NAME": "Example Author", "EMAIL": "author@example.com", "DATE": date}
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            **{f"GIT_AUTHOR_{name}": value for name, value in person.items()},
            **{f"GIT_COMMITTER_{name}": value for name, value in person.items()},
        }
