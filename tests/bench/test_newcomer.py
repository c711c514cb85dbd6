"""The keys of `bench.newcomer` are whole, and its baseline finds what it should (I1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.newcomer import bm25, load
from tests.app.git_repositories import GitRepository

pytestmark = pytest.mark.feature("I1")


@pytest.mark.parametrize(
    ("split", "count", "asked"), [("development", 6, 15), ("heldout", 6, 15), ("fresh", 8, 12)]
)
def test_each_split_has_as_many_languages_as_repositories(split: str, count: int, asked: int):
    found = load(split)
    assert len(found) == count
    assert len({one.language for one in found}) == count
    assert all(len(one.questions) == asked for one in found)
    assert all(len(one.commit) == 40 and one.must for one in found)
    assert all(len({q.ask for q in one.questions}) == asked for one in found)


def test_no_key_is_met_by_an_empty_answer():
    for one in load("all"):
        assert not [q.ask for q in one.questions if q.is_useful(["", "x"])]


def test_the_baseline_finds_a_piece_by_its_words(tmp_path: Path):
    repository = GitRepository.create(tmp_path / "repo")
    repository.write("README.md", "# Widget\n\nTurn the handle.\n")
    repository.write("docs/release.md", "# Releasing\n\nTag it and push the tag.\n")
    repository.commit("Begin")
    search = bm25(repository.root, lambda name: name.endswith(".md"))
    assert search("how do I push a tag")[0].startswith("docs/release.md\n")
