"""Anthropic's memory tool: held against the file tool of the SDK itself, and what differs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from hypothesis import given, settings
from hypothesis import strategies as st

import wellkept
from tests.integrations.conftest import FAKE_KEY
from wellkept import Wellkept
from wellkept_adapters.anthropic_memory import AsyncWellkeptMemoryTool, WellkeptMemoryTool

pytestmark = pytest.mark.feature("I2")

PATHS = st.sampled_from(
    [f"/memories{end}" for end in ("", "/a.md", "/b.md", "/notes/a.md", "/notes", "/notes/x/y.md")]
)
TEXTS = st.sampled_from(["", "one", "one\ntwo\n", "two\ntwo\n\nthree", "ünï\n"])
COMMANDS = st.one_of(
    st.fixed_dictionaries({"command": st.just("view"), "path": PATHS}),
    st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": TEXTS}),
    st.fixed_dictionaries(
        {
            "command": st.just("str_replace"),
            "path": PATHS,
            "old_str": st.sampled_from(["one", "two", "three"]),
            "new_str": st.sampled_from(["", "ONE", "a\nb"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "command": st.just("insert"),
            "path": PATHS,
            "insert_line": st.integers(-1, 4),
            "insert_text": st.sampled_from(["new\n", "new"]),
        }
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": PATHS}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": PATHS, "new_path": PATHS}),
)


def outcome(tool: Any, command: Any) -> tuple[str, str]:
    """What a tool answers; of an error only that it is one."""
    try:
        return "ok", str(tool.call(command))
    except (ToolError, OSError):
        return "error", ""


def files_of(tool: Any) -> dict[str, str]:
    paths = [f"/memories{end}" for end in ("/a.md", "/b.md", "/notes/a.md", "/notes/x/y.md")]
    found = {path: outcome(tool, {"command": "view", "path": path}) for path in paths}
    return {path: text for path, (state, text) in found.items() if state == "ok" and "with" in text}


@given(st.lists(COMMANDS, max_size=12))
@settings(max_examples=60)
def test_it_agrees_with_the_file_tool_of_the_sdk(
    tmp_path_factory: pytest.TempPathFactory, commands: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("memory")
    with wellkept.open(folder / "m.db", project="shop", cwd=folder, embedder="none") as wk:
        ours, theirs = WellkeptMemoryTool(wk), BetaLocalFilesystemMemoryTool(str(folder))
        for command in commands:
            before = files_of(ours)
            mine = outcome(ours, command)
            its = outcome(theirs, command)
            is_listing = command["command"] == "view" and "directories" in mine[1] + its[1]
            # An emptied folder stays on a disk; here a folder is there while a file is in it.
            on_disk = [p for p in folder.joinpath("memories").rglob("*") if p.is_dir()]
            if any(not list(p.rglob("*.md")) for p in on_disk):
                return
            if not is_listing:
                assert (command, before, mine) == (command, before, its)
            assert files_of(ours) == files_of(theirs)


def call(tool: WellkeptMemoryTool, command: str, **fields: Any) -> str:
    return str(tool.call({"command": command, **fields}))


def test_a_listing_shows_two_levels_with_sizes_and_no_hidden_names(wk: Wellkept) -> None:
    tool = WellkeptMemoryTool(wk)
    assert call(tool, "view", path="/memories").endswith("\n0B\t/memories")
    for path in ("a.md", "deep/one/two.md", "deep/b.md", ".hidden", "deep/.git/x"):
        call(tool, "create", path=f"/memories/{path}", file_text="x" * 1536)
    assert call(tool, "view", path="/memories").splitlines()[1:] == [
        "4.5K\t/memories",
        "1.5K\t/memories/a.md",
        "3K\t/memories/deep/",
        "1.5K\t/memories/deep/b.md",
        "1.5K\t/memories/deep/one/",
    ]
    assert "/memories/deep/one/two.md" in call(tool, "view", path="/memories/deep")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "memories/a",
        "/memories/../etc/passwd",
        "/memories/a/../../b",
        "/memories/./a",
        "/memories/..\\..\\a",
        "/memories/%2e%2e/a",
        "/memories_other/a",
        "/memories/a\x00b",
        "",
        "/",
    ],
)
def test_a_path_that_leaves_the_folder_is_refused(wk: Wellkept, path: str) -> None:
    tool = WellkeptMemoryTool(wk)
    call(tool, "create", path="/memories/in", file_text="x")
    commands: list[Any] = [
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "str_replace", "path": path, "old_str": "a", "new_str": "b"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": path, "new_path": "/memories/y"},
        {"command": "rename", "old_path": "/memories/in", "new_path": path},
    ]
    for command in commands:
        with pytest.raises(ToolError):
            tool.call(command)
    assert [memory.content for memory in wk.iterate()] == ["x"]


def test_files_are_memories_that_recall_finds_and_no_secret_is_kept(wk: Wellkept) -> None:
    tool = WellkeptMemoryTool(wk)
    call(tool, "create", path="/memories/deploy.md", file_text=f"Deploy on Fridays. {FAKE_KEY}\n")
    (hit,) = wk.recall("when do we deploy?")
    assert "Deploy on Fridays" in hit.memory.content
    assert "anthropic-memory" in hit.memory.tags
    assert FAKE_KEY not in call(tool, "view", path="/memories/deploy.md")
    assert FAKE_KEY not in repr(hit.memory)


def test_a_deleted_file_leaves_no_version_behind(wk: Wellkept) -> None:
    tool = WellkeptMemoryTool(wk)
    call(tool, "create", path="/memories/a", file_text="one")
    call(tool, "str_replace", path="/memories/a", old_str="one", new_str="two")
    call(tool, "delete", path="/memories/a")
    assert wk.stats(validity="any").total == 0
    call(tool, "create", path="/memories/b", file_text="three")
    assert tool.clear_all_memory() == "All memory cleared"
    assert wk.stats(validity="any").total == 0


def test_a_folder_cannot_be_moved_into_itself_nor_a_file_be_a_folder(wk: Wellkept) -> None:
    tool = WellkeptMemoryTool(wk)
    call(tool, "create", path="/memories/a/b", file_text="x")
    with pytest.raises(ToolError, match="inside"):
        call(tool, "rename", old_path="/memories/a", new_path="/memories/a/c")
    with pytest.raises(ToolError, match="is a file"):
        call(tool, "create", path="/memories/a/b/c", file_text="x")


def test_the_asynchronous_tool_does_the_same(tmp_path: Path) -> None:
    async def run() -> None:
        async with wellkept.open_async(tmp_path / "m.db", project="shop") as wk:
            tool = AsyncWellkeptMemoryTool(wk)
            assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}
            commands: list[Any] = [
                {"command": "create", "path": "/memories/a", "file_text": "one\n"},
                {"command": "insert", "path": "/memories/a", "insert_line": 1, "insert_text": "2"},
                {"command": "str_replace", "path": "/memories/a", "old_str": "2", "new_str": "3"},
                {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"},
            ]
            for command in commands:
                await tool.call(command)
            assert "one\n     2\t3" in str(
                await tool.call({"command": "view", "path": "/memories/b"})
            )
            await tool.call({"command": "delete", "path": "/memories/b"})
            assert await tool.clear_all_memory() == "All memory cleared"

    asyncio.run(run())
