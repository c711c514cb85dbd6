"""Questions of several projects, answered by one process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.clients.hooking import Machine
from wellkept.api.hook_context import (
    MAX_OPEN_PROJECTS,
    HookContextProvider,
    HookProject,
    open_existing,
)
from wellkept.core.session.hook_context import HookContextRequest

pytestmark = pytest.mark.feature("B9", "C4")


def asked(folder: Path, *, moment: str = "session", query: str = "") -> HookContextRequest:
    return HookContextRequest(
        client="codex", session="s", moment=moment, cwd=str(folder), query=query
    )


def context_of(home: Path, opened: list[Path] | None = None) -> HookContextProvider:
    def open_in(folder: Path) -> HookProject | None:
        if opened is not None:
            opened.append(folder)
        environment = {"WELLKEPT_HOME": str(home)}
        return open_existing(folder, environment=environment, busy_timeout_ms=1_000)

    return HookContextProvider(open_in)


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Projects in one store, each with a rule of its own."""
    made = [tmp_path / f"project-{n}" for n in range(MAX_OPEN_PROJECTS + 2)]
    for number, folder in enumerate(made):
        folder.mkdir()
        Machine(tmp_path / "home", folder).remember(f"Rule number{number}", type="convention")
    return made


def test_each_project_is_told_its_own(tmp_path: Path, folders: list[Path]) -> None:
    context = context_of(tmp_path / "home")
    for number, folder in enumerate(folders):
        said = context(asked(folder), frozenset())
        assert f"Rule number{number} " in said.text
        assert said.text.count("Rule number") == 1
    context.close()


def test_memories_stay_open_and_the_longest_unused_is_closed(
    tmp_path: Path, folders: list[Path]
) -> None:
    opened: list[Path] = []
    context = context_of(tmp_path / "home", opened)
    for folder in (folders[0], folders[0], *folders, folders[-1]):
        context(asked(folder), frozenset())
    assert opened == folders
    context(asked(folders[0]), frozenset())
    assert opened == [*folders, folders[0]]
    context.close()


def test_threads_that_ask_at_once_share_one_memory(tmp_path: Path, folders: list[Path]) -> None:
    opened: list[Path] = []
    context = context_of(tmp_path / "home", opened)
    with ThreadPoolExecutor(6) as threads:
        jobs = [threads.submit(context, asked(folders[0]), frozenset()) for _ in range(24)]
        texts = {job.result().text for job in jobs}
    assert len(texts) == 1
    assert opened == [folders[0]]
    context.close()


def test_what_was_shown_is_left_out(tmp_path: Path, folders: list[Path]) -> None:
    context = context_of(tmp_path / "home")
    said = context(asked(folders[0]), frozenset())
    assert context(asked(folders[0]), frozenset(said.ids)).text == ""
    context.close()


def test_a_folder_that_is_gone_brings_nothing(tmp_path: Path, folders: list[Path]) -> None:
    context = context_of(tmp_path / "home")
    assert context(asked(tmp_path / "gone"), frozenset()).text == ""
    context.close()


def test_what_is_of_one_session_is_told_to_that_session_alone(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    with Machine(tmp_path / "home", folder).memory() as memory:
        for session in ("s", "other"):
            rule = f"Rule of {session}"
            memory.remember(
                rule, type="convention", scope="session", session=session, source="user_taught"
            )
    context = context_of(tmp_path / "home")
    said = context(asked(folder), frozenset()).text
    assert "Rule of s " in said
    assert "Rule of other" not in said
    context.close()
