"""What the benches of co-change and code search count, worked out by hand on small histories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.cochange import AssociationRules, asked
from bench.localise import measured, trained
from tests.app.test_code_search import git
from tests.codegraph.trees import write
from wellkept.graph.history.commits import ChangeStatus, CommitFile, PastCommit
from wellkept.graph.history.git_log import read_past
from wellkept.graph.search.file_search import SET_BY_HAND, SIGNALS, WEIGHTS


def commit(*paths: str, added: tuple[str, ...] = ()) -> PastCommit:
    changes = [CommitFile(ChangeStatus.CHANGED, path, path) for path in paths]
    changes += [CommitFile(ChangeStatus.ADDED, path, path) for path in added]
    return PastCommit("0" * 40, "work", tuple(changes))


@pytest.mark.feature("D5")
def test_only_the_last_fifth_is_asked_and_before_it_is_learned() -> None:
    seen: list[str] = []
    past = [commit("a", f"b{i}") for i in range(8)]
    late = [commit("a", "b1"), commit("a", "b2", "b3")]

    def named(path: str) -> list[str]:
        seen.append(path)
        return ["b1", "b2"]

    learned: list[PastCommit] = []
    recall = asked([*past, *late], name=named, learn=learned.append)
    assert seen == ["a", "b1", "a", "b2", "b3"]
    assert learned == [*past, *late]
    assert recall.all == [1, 0, 0.5, 0, 0.5]


@pytest.mark.feature("D5")
def test_a_file_that_a_commit_adds_counts_only_among_all() -> None:
    past = [commit("a", "b")] * 4
    recall = asked([*past, commit("a", added=("new",))], name=lambda _: ["b"], learn=lambda _: None)
    assert recall.as_json() == {
        "existing": 0.0,
        "all": 0.0,
        "questions_existing": 1,
        "questions_all": 2,
    }


@pytest.mark.feature("D5")
def test_association_rules_name_what_was_seen_most_often_together() -> None:
    rules = AssociationRules()
    for one in (commit("a", "b"), commit("a", "c"), commit("a", "c")):
        rules.learn(one)
    assert rules.named("a") == ["c", "b"]
    assert rules.named("unknown") == []


@pytest.mark.feature("E5")
def test_a_commit_is_asked_by_its_message_in_the_state_before_it(tmp_path: Path) -> None:
    """Of ten commits the last two are asked. The word "zebra" is in no file before the last one:
    nobody can name its file, though the file says it afterwards."""
    write(tmp_path, {f"n{i}.py": f"number = {i}\n" for i in range(9)})
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "Begin")
    for i in range(7):
        write(tmp_path, {"jar.py": f"cookies = {i}\n"})
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-m", f"Keep {i}")
    write(tmp_path, {"jar.py": "cookies = None\n"})
    git(tmp_path, "commit", "-am", "Lose no cookies")
    write(tmp_path, {"n8.py": "zebra = 1\n"})
    git(tmp_path, "commit", "-am", "zebra")
    figures = measured(tmp_path, read_past(tmp_path, limit=100) or [], WEIGHTS)
    assert figures["commits"] == 10
    assert figures["questions"] == 2
    assert figures["acc_at_5"] == 50
    assert figures["bm25_acc_at_5"] == 50
    assert figures["better_by"] == 0


@pytest.mark.feature("E5")
def test_training_learns_what_tells_right_from_wrong_and_leaves_what_is_set_by_hand() -> None:
    told, hand = SIGNALS.index("path"), SIGNALS.index("symbols")
    table = np.zeros((2, len(SIGNALS)))
    table[0, [told, hand]] = 1
    weights = trained([(table, np.array([True, False]))] * 20)
    assert weights[told] > 0
    for name, weight, shipped in zip(SIGNALS, weights, WEIGHTS, strict=True):
        if name in SET_BY_HAND:
            assert weight == shipped
        elif name != "path":
            assert weight == 0
