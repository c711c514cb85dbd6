"""Micro-compaction (G5): what is cleared, what is kept in files, and when nothing changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.compaction.conversations import is_whole, reading, result, round_of, tokens
from wellkept.core.chat.messages import Message, ToolResultPart, assistant_message, user_message
from wellkept_agent.budgets import TokenMeter
from wellkept_agent.compaction import micro
from wellkept_agent.compaction.micro import (
    CLEARED,
    SessionFiles,
    is_cleared,
    persisted_mark,
    safe_name,
)
from wellkept_agent.settings import COMPACTABLE_TOOLS, CompactionSettings

pytestmark = pytest.mark.feature("G5")

SETTINGS = CompactionSettings()


def plan(turns: list[Message], settings: CompactionSettings = SETTINGS) -> list[str]:
    planned = micro.plan(turns, settings, TokenMeter(1.33))
    return [one.result.call_id for one in planned]


def cleared(
    turns: list[Message], folder: Path, settings: CompactionSettings = SETTINGS
) -> micro.Cleared | None:
    planned = micro.plan(turns, settings, TokenMeter(1.33))
    return micro.apply(turns, planned, settings, SessionFiles(folder))


def test_the_last_three_results_stay() -> None:
    assert plan(reading(10)) == [f"c{n}" for n in range(7)]


def test_nothing_below_the_threshold_or_without_enough_savings() -> None:
    assert plan(reading(8, size=5_000)) == []  # 40,000 tokens: not above the threshold
    assert plan(reading(9, size=5_000)) != []
    few = [user_message("go"), *round_of(result("old", 19_000))]
    for number in range(3):
        few += round_of(result(f"new{number}", 10_000))
    few.append(assistant_message("ok"))
    assert plan(few) == []  # 49,000 tokens, but only 19,000 could be saved


@pytest.mark.parametrize("name", COMPACTABLE_TOOLS)
def test_the_eight_tools_are_cleared(name: str) -> None:
    assert plan(reading(10, name=name))


@pytest.mark.parametrize("name", ["Task", "AskUserQuestion", "Skill", "mcp:docs:search"])
def test_other_tools_are_not(name: str) -> None:
    assert plan(reading(10, name=name)) == []


def test_results_that_the_model_has_not_seen_are_never_cleared() -> None:
    turns = [user_message("go"), *round_of(*(result(f"c{n}", 9_000) for n in range(10)))]
    assert plan(turns) == []
    assert plan([*turns, assistant_message("seen")]) == [f"c{n}" for n in range(7)]


def test_large_results_name_their_files_and_small_ones_can_be_searched_for(tmp_path: Path) -> None:
    turns = [user_message("go")]
    for number in range(8):
        turns += round_of(result(f"big{number}", 6_000, text=f"file {number} "))
    turns += round_of(result("small", 900), result("tiny", 3))
    for number in range(3):
        turns += round_of(result(f"last{number}", 10))
    turns.append(assistant_message("ok"))
    done = cleared(turns, tmp_path)
    assert done is not None
    by_id = {r.call_id: r for message in done.turns for r in message.tool_results}
    path = tmp_path / "tool-results" / "big0.txt"
    assert by_id["big0"].content == (
        f'<persisted-output path="{path}" original_size="{len("file 0 " + tokens(6_000))}" />\n{CLEARED}'
    )
    assert path.read_text() == "file 0 " + tokens(6_000)
    assert by_id["small"].content == CLEARED
    assert by_id["tiny"].content == tokens(3)  # the mark would be longer
    small = path.parent / "cleared-small.txt"
    assert small.read_text() == f"[small Read]\n{tokens(900)}"
    assert small.stat().st_mode & 0o077 == 0 or os.name == "nt"
    assert len(list(path.parent.iterdir())) == 9
    assert [m.id for m in done.turns] == [m.id for m in turns]
    assert len(done.ids) == 9
    assert is_whole(done.turns)


def test_cleared_results_are_not_cleared_again(tmp_path: Path) -> None:
    done = cleared(reading(10), tmp_path)
    assert done is not None
    assert plan(list(done.turns)) == []
    assert all(is_cleared(m.tool_results[0].content) for m in done.turns[2:15:2])


def test_a_hostile_result_that_begins_like_a_cleared_one_is_cleared_too() -> None:
    turns = [user_message("go")]
    for number in range(10):
        turns += round_of(ToolResultPart(f"c{number}", "Read", CLEARED + tokens(5_000)))
    assert len(plan([*turns, assistant_message("ok")])) == 7


def test_call_ids_that_repeat_do_not_overwrite_each_other(tmp_path: Path) -> None:
    turns = [user_message("go")]
    for number in range(10):
        turns += round_of(result("call_0", 6_000, text=f"result {number} "))
    turns.append(assistant_message("ok"))
    done = cleared(turns, tmp_path)
    assert done is not None
    assert len(done.ids) == 7
    contents = {p.read_text()[:8] for p in (tmp_path / "tool-results").iterdir()}
    assert contents == {f"result {n}" for n in range(7)}


def test_a_file_that_cannot_be_written_keeps_its_result(tmp_path: Path) -> None:
    (tmp_path / "tool-results").write_text("in the way")
    assert cleared(reading(10), tmp_path) is None


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a folder that is read-only")
def test_a_read_only_folder_changes_nothing(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert cleared(reading(10), tmp_path) is None
    tmp_path.chmod(0o700)


def test_when_too_little_is_saved_in_the_end_no_file_stays(tmp_path: Path) -> None:
    turns = [user_message("go"), *round_of(result("x" * 300 + "/", 19_990))]
    for number in range(6):
        turns += round_of(result(f"c{number}", 6_000))
    turns.append(assistant_message("ok"))
    folder = tmp_path / "tool-results"
    folder.mkdir()
    blocked = [folder / f"{safe_name('c0')}.txt", folder / f"{safe_name('c1')}.txt"]
    planned = micro.plan(turns, SETTINGS, TokenMeter(1.33))
    assert len(planned) == 4

    class Full(SessionFiles):
        """A disk that takes one file."""

        def write_result(self, call_id: str, content: str):
            if any(self.results.iterdir()):
                raise OSError(28, "No space left on device")
            return super().write_result(call_id, content)

    assert micro.apply(turns, planned, SETTINGS, Full(tmp_path)) is None
    assert not any(folder.iterdir()), blocked


@pytest.mark.parametrize(
    "call_id",
    [
        "../../etc/passwd",
        "a/b",
        "C:\\x",
        "",
        ".",
        "..",
        "nul",
        "COM1",
        "x" * 500,
        "ключ",
        "a\0b",
        "~",
        "-rf",
    ],
)
def test_names_stay_in_their_folder(tmp_path: Path, call_id: str) -> None:
    written = SessionFiles(tmp_path).write_result(call_id, "text")
    assert written.path.parent == tmp_path / "tool-results"
    assert written.path.resolve().parent == (tmp_path / "tool-results").resolve()
    assert written.path.read_text() == "text"
    assert len(written.path.name) < 100


@given(st.text(max_size=100), st.text(max_size=100))
def test_two_ids_are_two_names(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)


def test_the_mark_is_safe_and_recognised() -> None:
    mark = persisted_mark(Path('/a "b"/<c>.txt'), 12)
    assert mark.startswith(
        '<persisted-output path="/a &quot;b&quot;/&lt;c&gt;.txt" original_size="12" />\n'
    )
    assert is_cleared(mark)
    assert not is_cleared(mark + " and more")


def test_the_reminder_says_how_many() -> None:
    assert micro.reminder(7) == (
        "<system-reminder>\nMicro-compact cleared 7 tool result(s) to reduce context size.\n"
        "</system-reminder>"
    )
