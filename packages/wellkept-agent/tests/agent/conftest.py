"""An agent with a scripted model in a temporary project."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wellkept.testing.scripted_model import Script, ScriptedModel
from wellkept_agent import AgentSession

MakeSession = Callable[..., AgentSession]


@pytest.fixture
def make_session(tmp_path: Path) -> MakeSession:
    """A session whose model follows a script; options are those of `AgentSession`."""
    root = tmp_path / "project"
    root.mkdir()

    def made(script: Script, **options: object) -> AgentSession:
        model = options.pop("model", None) or ScriptedModel(script)
        options.setdefault("root", root)
        options.setdefault("folder", tmp_path / "session")
        return AgentSession(model, **options)  # pyright: ignore[reportArgumentType]

    return made
