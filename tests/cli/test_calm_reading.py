"""Commands that only read make nothing, and a broken settings file is told by every command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

pytestmark = pytest.mark.feature("C2")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        *(
            (words.split(), 0)
            for words in ("list", "admin doctor", "context", "undo", "why", "review")
        ),
        *(
            (("status", f"--{what}"), 0)
            for what in ("stats", "spool", "model", "remote", "learning")
        ),
        (("recall", "how", "to", "deploy"), 1),
    ],
)
def test_reading_before_anything_was_kept_makes_no_file(
    cli: Cli, home: Path, words: Sequence[str], code: int
) -> None:
    assert cli(*words).code == code
    assert not home.exists()


@pytest.mark.parametrize("words", [("list",), ("recall", "x"), ("doctor",)])
def test_settings_that_cannot_be_read_are_told(
    cli: Cli, home: Path, words: tuple[str, ...]
) -> None:
    home.mkdir()
    (home / "config.toml").write_text("broken = [\n")
    done = cli(*words)
    assert done.code != 0
    assert "config.toml is not valid TOML" in done.out + done.err


def test_doctor_goes_on_past_settings_that_cannot_be_read(cli: Cli, home: Path) -> None:
    cli("remember", "Deploys go through staging")
    (home / "config.toml").write_text("broken = [\n")
    done = cli("doctor")
    assert "config.toml is not valid TOML" in done.out
    assert "memories" in done.out
