"""Running the command line in process, in a folder of its own and without vectors by default."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from wellkept.api.cli.root import run


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)


Cli: TypeAlias = Callable[..., Outcome]


@pytest.fixture
def cli(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Cli:
    """Run one command line: `cli("remember", "text")`."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("WELLKEPT_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("WELLKEPT_PROJECT", "demo")
    for name in ("NO_COLOR", "FORCE_COLOR", "EDITOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = run(arguments)
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return call
