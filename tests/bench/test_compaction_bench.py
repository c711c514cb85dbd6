"""The sessions of `bench.compaction` are what they claim, and its figures come from them (G5)."""

from __future__ import annotations

import pytest

from bench import compaction
from bench.compaction_sessions import PLACES, make_session

pytestmark = pytest.mark.feature("G5")


def test_a_session_has_its_length_and_states_each_fact_once() -> None:
    for split in ("development", "heldout"):
        session = make_session(tokens=40_000, facts=24, split=split)
        assert 40_000 <= session.tokens < 50_000
        assert {fact.place for fact in session.facts} == set(PLACES)
        told = "\n".join(
            [t.prompt + "\n" + t.answer for t in session.turns]
            + [s.text + "\n" + s.result for t in session.turns for s in t.steps]
        )
        assert all(told.count(fact.value) == 1 for fact in session.facts)


def test_the_same_seed_gives_the_same_session() -> None:
    assert make_session(tokens=20_000, seed=3) == make_session(tokens=20_000, seed=3)
    assert make_session(tokens=20_000, seed=3) != make_session(tokens=20_000, seed=4)


def test_three_tiers_keep_more_than_summaries_alone() -> None:
    session = make_session(tokens=70_000, facts=24)
    tiers = compaction.run(session, compaction.TIERS, window=40_000)
    alone = compaction.run(session, compaction.ALONE, window=40_000)
    assert tiers.kept >= 0.95 > alone.kept
    assert alone.full > 1
    assert alone.micro == alone.session_memory == alone.background_input == 0
    assert tiers.micro or tiers.session_memory
    assert max(tiers.most_tokens, alone.most_tokens) < 40_000
    assert tiers.problems == alone.problems == 0


def test_a_search_shows_a_line_around_the_words() -> None:
    lines = ["x " * 900 + "the port of ariel7 is 5433 " + "y " * 900, "the port", "nothing"]
    search = compaction._search  # pyright: ignore[reportPrivateUsage]
    assert "5433" in search("ariel7 port", lines)
    assert "nothing" not in search("ariel7 port", lines)
