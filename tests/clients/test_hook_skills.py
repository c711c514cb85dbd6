"""Skills in what a hook says: named by a process that lives on, never by the hook process itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from subprocess import run

import pytest

import wellkept
from tests.skills.reading import put
from wellkept.api.hook_context import HookContextProvider, open_existing
from wellkept.core.session.hook_context import HookContext, HookContextRequest

pytestmark = pytest.mark.feature("C4")

PROMPT = "deploy the billing service to the staging cluster"
_SKILL = """---
name: deploy
description: Deploys the billing service to the staging cluster
---
Do it.
"""
_ASK = """
import sys
from pathlib import Path
from wellkept.clients.answers.responder import HookResponder
from wellkept.api.hook_context import HookContextProvider, open_existing
from wellkept.core.session.hook_context import HookContextRequest
import os
context = HookContextProvider(
    lambda folder: open_existing(folder, environment=os.environ, busy_timeout_ms=1000)
)
said = context(HookContextRequest(client="c", session="s", moment="prompt", cwd=sys.argv[1],
                        query=sys.argv[2]), frozenset())
print(said.text)
print([name for name in sys.modules if name.startswith("wellkept.skills")])
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a memory and a skill that fit the same prompt."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    put(folder / ".skills", "deploy", _SKILL)
    with wellkept.open(cwd=folder, embedder="none") as wk:
        wk.remember("The billing service is deployed to staging at noon", source="user_taught")
    return folder


@contextmanager
def answering(*, with_skills: bool, within_s: float) -> Generator[HookContextProvider]:
    context = HookContextProvider(
        lambda folder: open_existing(
            folder, environment=os.environ, busy_timeout_ms=1_000, with_skills=with_skills
        ),
        skill_timeout_s=within_s,
    )
    yield context
    context.close()


def ask(
    context: HookContextProvider, folder: Path, shown: frozenset[str] = frozenset()
) -> HookContext:
    question = HookContextRequest(
        client="c", session="s", moment="prompt", cwd=str(folder), query=PROMPT
    )
    return context(question, shown)


def test_a_live_process_names_a_skill_once_in_a_session(project: Path) -> None:
    with answering(with_skills=True, within_s=60) as context:
        said = ask(context, project)
        assert "- skill deploy: Deploys the billing service" in said.text
        assert "at noon" in said.text
        again = ask(context, project, frozenset(said.ids))
        assert "skill deploy" not in again.text


def test_memory_does_not_wait_for_skills(project: Path) -> None:
    with answering(with_skills=True, within_s=0) as context:
        assert "at noon" in ask(context, project).text


def test_the_hook_process_alone_reads_no_skills(project: Path) -> None:
    command = [sys.executable, "-c", _ASK, str(project), PROMPT]
    done = run(command, capture_output=True, text=True, check=True)
    assert "at noon" in done.stdout
    assert "skill deploy" not in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
