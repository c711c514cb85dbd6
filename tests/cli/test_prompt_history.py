"""What a person typed is kept for the next chat, but no secret in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wellkept_agent.terminal.line_editor import PromptHistory

pytestmark = pytest.mark.feature("A10", "G1")


def test_a_secret_in_a_prompt_does_not_reach_the_file(tmp_path: Path) -> None:
    path = tmp_path / "agent" / "prompts"
    history = PromptHistory(path)
    history.append_string("the password for staging is tiger4711")
    history.append_string("run the tests\nand say what fails")

    assert "tiger4711" not in path.read_text("utf-8")
    again = PromptHistory(path)
    assert list(again.load_history_strings()) == [
        "run the tests\nand say what fails",
        "the password for staging is [redacted:password]",
    ]
    # In the same session the line comes back as it was typed.
    assert history.get_strings()[0].endswith("tiger4711")


@pytest.mark.skipif(os.name == "nt", reason="has no such permissions")
def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "agent" / "prompts"
    path.parent.mkdir()
    path.write_text("", "utf-8")
    path.chmod(0o644)
    PromptHistory(path).append_string("hello")
    assert path.stat().st_mode & 0o077 == 0
