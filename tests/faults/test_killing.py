"""Processes of every kind are killed under load: a short run of the benchmark of that name."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from bench.crash import SHARES, Kill, crowd_run, kill_run, plan
from bench.crash_scene import changed_build
from wellkept.clients.detached_drain import SLOTS

pytestmark = [
    pytest.mark.feature("C2", "C4", "C6"),
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="detached drains are killed on Linux"),
]


def test_the_plan_is_the_same_for_the_same_seed_and_kills_every_kind() -> None:
    assert plan(200, 1) == plan(200, 1) != plan(200, 2)
    for kills in (12, 200):
        made = plan(kills, 7)
        assert len(made) == kills
        assert {kill.victim for kill in made} == set(SHARES)


def test_whoever_is_killed_each_acknowledged_event_is_there_once(tmp_path: Path) -> None:
    kills = plan(12, 3)
    outcome = kill_run(tmp_path / "killed", kills=kills, seed=3, minutes=10)
    assert outcome.verdict.is_clean, outcome
    assert outcome.figures["killed"] == Counter(kill.victim for kill in kills)
    drains = outcome.figures["most_detached_drains_at_once"]
    assert isinstance(drains, int)
    # The next holder of a slot may start while the one before it is on its way out.
    assert drains <= 2 * SLOTS


def test_hooks_that_are_killed_while_they_write_leave_no_files_behind(tmp_path: Path) -> None:
    kills = [Kill("hook", moment, large=True) for moment in (0.5, 0.6, 0.7, 0.8, 0.9)]
    outcome = kill_run(tmp_path / "killed", kills=kills, seed=4, minutes=10)
    assert outcome.verdict.is_clean, outcome
    assert outcome.figures["killed"] == {"hook": 5}


def test_many_clients_of_mixed_kind_lose_nothing_and_see_no_error(tmp_path: Path) -> None:
    outcome = crowd_run(tmp_path / "crowd", clients=16, rounds=1, seed=5)
    assert outcome.verdict.is_clean, outcome
    assert outcome.figures["not_acknowledged"] == {}


_KEPT = "result = wk.remember_many([draft], merge_similar=merge_similar)[0]"


def test_a_build_that_acknowledges_what_it_did_not_write_is_caught(tmp_path: Path) -> None:
    lossy = changed_build(
        tmp_path / "lossy",
        "store/spool.py",
        "written = os.write(descriptor, entry)",
        "written = len(entry) if entry[25] % 3 == 0 else os.write(descriptor, entry)",
    )
    kills = [Kill("hook", moment) for moment in (0.2, 0.4, 0.6, 0.8)]
    outcome = kill_run(tmp_path / "k", kills=kills, seed=6, minutes=10, package=lossy)
    assert outcome.verdict.lost or outcome.verdict.miscounted, outcome


def test_a_build_that_keeps_a_statement_twice_is_caught(tmp_path: Path) -> None:
    double = changed_build(
        tmp_path / "double",
        "observe/verbs.py",
        _KEPT,
        f"{_KEPT}\n    wk.remember_many([draft], merge_similar=False)",
    )
    kills = [Kill("remember", 5.0)]  # at first long after its end
    outcome = kill_run(tmp_path / "k", kills=kills, seed=7, minutes=10, package=double)
    assert outcome.verdict.twice, outcome
