"""The replay of made-up histories: seeded, real files, and what it measures (D1-D7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.replay import figures, replay, targets
from bench.replay_histories import SESSIONS, Source, make_history, read_source

pytestmark = pytest.mark.feature("D1", "D2", "D3", "D4")

_REPO = Path(__file__).parents[2]


def names() -> Source:
    return Source(tuple(f"src/part{n % 7}/file{n}.py" for n in range(120)))


def test_the_same_seed_gives_the_same_history() -> None:
    one, two = (make_history(names(), seed=3, cwd="/p") for _ in range(2))
    assert one == two
    assert make_history(names(), seed=4, cwd="/p") != one
    assert len(one.sessions) == SESSIONS


def test_a_replay_finds_what_was_planted_and_little_else(tmp_path: Path) -> None:
    history = make_history(names(), seed=5, cwd=str(tmp_path / "project"))
    result = replay(history, tmp_path, embedder="none")
    told = figures([result])
    assert told["planted_promoted_by_session_3_percent"] == 100.0
    assert len(result.false_promotions) < 0.2 * SESSIONS
    assert [target.met for target in targets(told)][:2] == [True, True]


def test_the_files_of_a_repository_are_those_that_git_lists() -> None:
    if not (_REPO / ".git").exists():
        pytest.skip("not in a checkout")
    source = read_source(_REPO)
    assert "packages/wellkept/src/wellkept/core/memory.py" in source.files
    assert all(2 <= len(names) <= 8 for names in source.commits)
