"""Signals, weights and priors: context counts, priors only break ties, the order is fixed."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.candidate_sets import DAY_MS, NOW, NOW_MS, candidate, memory, plan, pool, setting
from wellkept.core.types import MemoryType, Phase
from wellkept.memory.recall.features import WEIGHTS_FILE, Feature, FeatureTable, load_rankings
from wellkept.memory.recall.ranking import (
    STALE_FACTOR,
    SUPPORT,
    priors,
    priors_of,
    rank_by_weights,
)
from wellkept.memory.recall.retrievers import plan_query
from wellkept.text.dates import DateWindow

pytestmark = pytest.mark.feature("B1")


# -- The plan -------------------------------------------------------------------------------------


def test_names_and_function_words_are_taken_out_of_the_meaning_only() -> None:
    known = plan("When did Melanie's kids paint a sunrise?").with_authors(["Melanie", "Caroline"])
    assert known.meaning == "kids paint sunrise"
    assert known.speakers == {"melanie"}
    assert "melanie" in known.terms
    assert known.asks_when


def test_two_named_speakers_single_out_nobody() -> None:
    known = plan("What do Melanie and Caroline paint?").with_authors(["Melanie", "Caroline"])
    assert known.speakers == frozenset()
    assert known.meaning == "paint"


@pytest.mark.parametrize(
    ("query", "speakers"),
    [
        ("Where did I park my car?", {"user"}),
        ("Can you recommend a garage for my car?", {"user"}),
        ("Remind me what you recommended for my car", set[str]()),
        ("Which user parked the car?", set[str]()),
        ("Where is the car?", set[str]()),
    ],
)
def test_a_question_about_oneself_is_about_the_person(query: str, speakers: set[str]) -> None:
    assert plan(query).with_authors(["user", "assistant"]).speakers == speakers


def test_a_role_is_no_name() -> None:
    known = plan("How does the user interface start?").with_authors(["user", "assistant"])
    assert known.meaning == "user interface start"


def test_a_question_of_names_and_function_words_alone_keeps_its_text() -> None:
    assert plan("Who is Melanie?").with_authors(["Melanie"]).meaning == "Who is Melanie?"


def test_dates_can_be_left_unread() -> None:
    assert plan_query("on 3 May 2025", now=NOW).window is not None
    assert plan_query("on 3 May 2025", now=NOW, read_dates=False).window is None


# -- Signals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("How many retries does the client make?", ("retries", "client", "make")),
        ("Can you remind me which port you recommended?", ("port",)),
        ("What did we settle in our last conversation about caching?", ("settle", "caching")),
        ("How long?", ("long",)),
        ("how far did you", ("far",)),
    ],
)
def test_words_that_only_make_a_question_are_not_looked_up(
    question: str, terms: tuple[str, ...]
) -> None:
    assert plan_query(question, now=NOW).terms == terms


def _session_of_four() -> FeatureTable:
    turns = [candidate(f"t{i}", session_id="s", seq=i) for i in range(4)]
    lone = candidate("lone")
    scores = {"t1": 8.0, "t2": 2.0, "lone": 4.0}
    return FeatureTable(pool(*turns, lone, words=scores), plan())


def test_own_scores_are_shares_of_the_best() -> None:
    table = _session_of_four()
    assert [table[t][Feature.WORDS] for t in ("t0", "t1", "t2", "lone")] == [0.0, 1.0, 0.25, 0.5]


def test_neighbours_and_session_lend_their_scores() -> None:
    table = _session_of_four()
    assert table["t0"][Feature.WORDS_AFTER] == 1.0
    assert table["t2"][Feature.WORDS_BEFORE] == 1.0
    assert table["t3"][Feature.WORDS_TWO_BEFORE] == 1.0
    assert table["t0"][Feature.WORDS_TWO_AFTER] == 0.25
    assert {table[f"t{i}"][Feature.SESSION_WORDS] for i in range(4)} == {1.0}


def test_a_memory_without_a_session_is_a_session_of_its_own() -> None:
    table = _session_of_four()
    assert table["lone"][Feature.SESSION_WORDS] == 0.5
    assert table["lone"][Feature.WORDS_BEFORE] == 0.0


def test_sessions_do_not_reach_into_each_other() -> None:
    one = candidate("one", session_id="s", seq=1)
    other = candidate("other", session_id="t", seq=2)
    table = FeatureTable(pool(one, other, words={"one": 1.0}), plan())
    assert table["other"][Feature.WORDS_BEFORE] == 0.0


def test_a_memory_without_a_vector_is_judged_by_its_words() -> None:
    rows = (candidate("old"), candidate("new"))
    table = FeatureTable(pool(*rows, words={"old": 3.0, "new": 3.0}, meaning={"old": 0.4}), plan())
    assert table["new"][Feature.MEANING] == table["new"][Feature.WORDS] == 1.0


def test_what_the_text_tells_is_added_when_it_is_read() -> None:
    ask = candidate("ask", session_id="s", seq=0)
    reply = candidate("reply", session_id="s", seq=1)
    table = FeatureTable(pool(ask, reply, words={"ask": 2.0}), plan("when did you move?"))
    texts = {
        "ask": "When did you move? [shares a photo of a house]",
        "reply": "Last week!",
    }
    table.read_texts(texts)
    assert table["ask"][Feature.ASKS] == 1.0
    assert table["ask"][Feature.TELLS_WHEN] == 0.0
    assert table["reply"][Feature.ANSWERS_WORDS] == 1.0
    assert table["reply"][Feature.TELLS_WHEN] == 1.0


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Really?", True),
        ("Really? [shares a photo]  ", True),
        ("本当？", True),
        ("Yes. [why?]", False),
        ("]", False),
        ("[" * 100_000, False),
        ("no " * 100_000 + "?", True),
        ("", False),
    ],
)
def test_a_question_is_known_by_its_end_however_long_it_is(text: str, asks: bool) -> None:
    row = candidate("x")
    table = FeatureTable(pool(row), plan())
    table.read_texts({"x": text})
    assert table["x"][Feature.ASKS] == float(asks)


def test_a_text_covers_the_share_of_the_question_that_it_speaks_of_rare_words_first() -> None:
    rows = [candidate(name) for name in ("both", "rare", "common", "none")]
    table = FeatureTable(pool(*rows), plan("where does the importer log retries"))
    table.read_texts(
        {
            "both": "The importer LOGS each retry.",
            "rare": "A retry by hand is fine.",
            "common": "The importer logs to a file; so does the logger of the web server.",
            "none": "Fragments have no bearing here.",
        }
    )
    covered = {row.id: table[row.id][Feature.COVERS] for row in rows}
    assert covered["none"] == 0.0
    assert 0.0 < covered["rare"] < covered["common"] < covered["both"] <= 1.0


def test_what_the_turns_around_have_of_the_question_counts_where_a_turn_lacks_it() -> None:
    rows = [candidate(f"t{seq}", session_id="one", seq=seq) for seq in range(4)]
    table = FeatureTable(pool(*rows), plan("where does the importer log retries"))
    table.read_texts(
        {"t0": "Does the importer log?", "t1": "It logs to a file.", "t3": "The importer retries."}
    )
    beside = {row.id: table[row.id][Feature.COVERS_AROUND] for row in rows}
    assert beside["t1"] > 0.0  # the importer, named before
    assert beside["t0"] == beside["t2"] == beside["t3"] == 0.0


def test_a_question_none_of_whose_words_are_told_is_covered_by_nothing() -> None:
    table = FeatureTable(pool(candidate("x")), plan("where is the cache"))
    table.read_texts({"x": "Deploys happen on Fridays."})
    assert table["x"][Feature.COVERS] == 0.0


def test_the_name_of_who_spoke_is_no_part_of_what_a_text_has_to_cover() -> None:
    asked = plan("what did Mara say about the cache").with_authors({"Mara", "Ola"})
    table = FeatureTable(pool(candidate("x", author="Mara")), asked)
    table.read_texts({"x": "I say the cache must go."})
    assert table["x"][Feature.COVERS] == pytest.approx(1.0)


@given(days=st.integers(-400, 400))
def test_nearness_to_a_window_falls_with_the_days_and_more_gently_afterwards(days: int) -> None:
    start = datetime(2025, 5, 3, tzinfo=UTC)
    window = DateWindow(start, start + timedelta(days=1), "3 May 2025", 1.0)
    asked = replace(plan(), window=window)

    def nearness(offset: int) -> float:
        at = int(start.timestamp() * 1000) + offset * DAY_MS
        row = candidate("x", valid_from_ms=at, session_id="s", seq=1)
        return FeatureTable(pool(row), asked)["x"][Feature.DATE]

    assert 0.0 <= nearness(days) <= nearness(0) == 1.0
    assert nearness(abs(days) + 1) >= nearness(-abs(days))


@pytest.mark.feature("B6")
def test_a_note_that_was_closed_since_matches_the_time_when_it_held() -> None:
    start = datetime(2025, 5, 3, tzinfo=UTC)
    window = DateWindow(start, start + timedelta(days=1), "3 May 2025", 1.0)
    long_before = int(start.timestamp() * 1000) - 200 * DAY_MS
    rows = [
        candidate("closed", valid_from_ms=long_before, closed=True),
        candidate("open", valid_from_ms=long_before),
        candidate("later", valid_from_ms=NOW_MS),
    ]
    table = FeatureTable(pool(*rows), replace(plan(), window=window))
    closed, held, later = (table[row.id][Feature.DATE] for row in rows)
    assert closed == 1.0
    assert later < held < closed


def test_very_long_texts_gain_nothing_over_long_ones() -> None:
    rows = [candidate(str(n), content_chars=n) for n in (10, 100, 1_000, 1_000_000)]
    table = FeatureTable(pool(*rows), plan())
    lengths = [table[row.id][Feature.LENGTH] for row in rows]
    assert lengths[0] < lengths[1] < lengths[2] == lengths[3]


# -- Weights --------------------------------------------------------------------------------------


def test_the_shipped_weights_name_only_known_features_and_kinds_of_support() -> None:
    shipped = json.loads(WEIGHTS_FILE.read_text("utf-8"))
    labels = {signal.label for signal in Feature}
    for learned in shipped["sets"].values():
        assert {*learned["turn"], *learned["chat"], *learned["note"]} <= labels
        for kind in ("turn_answers", "note_answers"):
            assert set(learned[kind]) <= {"constant", *SUPPORT}
    assert {"hybrid", "words", "vectors"} == set(shipped["sets"])
    assert len(load_rankings()["hybrid"].weights.note) == len(Feature)


@pytest.mark.feature("B2")
def test_the_shipped_weights_come_from_texts_that_anyone_may_use() -> None:
    sources = json.loads(WEIGHTS_FILE.read_text("utf-8"))["learned_from"]
    assert sources
    for source in sources:
        assert source["name"]
        assert source["what"]
        assert source["licence"] in {"MIT", "Apache-2.0", "CC-BY-4.0"}
        assert "locomo" not in json.dumps(source).casefold()


@pytest.mark.parametrize("weight_set", ["hybrid", "words", "vectors"])
def test_a_better_match_ranks_higher_whatever_arms_took_part(weight_set: str) -> None:
    good, bad = candidate("good"), candidate("bad")
    found = pool(
        good,
        bad,
        words=None if weight_set == "vectors" else {"good": 5.0, "bad": 1.0},
        meaning=None if weight_set == "words" else {"good": 0.8, "bad": 0.2},
    )
    texts = (memory("good", "the cache is in redis"), memory("bad", "a cache"))
    order = rank_by_weights(found, plan(), setting(*texts, weight_set=weight_set)).order
    assert [ranked.candidate.id for ranked in order] == ["good", "bad"]


def test_no_match_at_all_scores_nothing() -> None:
    row = candidate("x")
    found = pool(row, meaning={"x": 0.0})
    texts = memory("x", "colours")
    ranking = rank_by_weights(found, plan(), setting(texts, weight_set="hybrid"))
    assert ranking.order[0].score == 0.0


def test_equal_candidates_are_ordered_by_id() -> None:
    rows = [candidate(name) for name in "dacb"]
    ranking = rank_by_weights(pool(*rows, words=dict.fromkeys("abcd", 1.0)), plan(), setting())
    assert [ranked.candidate.id for ranked in ranking.order] == list("abcd")


def test_an_empty_pool_has_an_empty_ranking() -> None:
    assert rank_by_weights(pool(), plan(), setting()).order == ()


# -- Priors ---------------------------------------------------------------------------------------

_SHARES = st.floats(0, 1)


@given(
    importance=_SHARES,
    confidence=_SHARES,
    age_days=st.integers(-10, 5_000),
    phase=st.sampled_from([None, *Phase]),
    type=st.sampled_from(list(MemoryType)),
    closed=st.booleans(),
    unreviewed=st.booleans(),
    stale=st.booleans(),
)
def test_priors_are_bounded_and_explain_their_product(
    *,
    importance: float,
    confidence: float,
    age_days: int,
    phase: Phase | None,
    type: MemoryType,
    closed: bool,
    unreviewed: bool,
    stale: bool,
) -> None:
    row = candidate(
        "x",
        importance=importance,
        confidence=confidence,
        valid_from_ms=NOW_MS - age_days * DAY_MS,
        type=type,
        closed=closed,
        needs_review=unreviewed,
        stale=stale,
    )
    asked = setting(phase=phase)
    parts = priors_of(row, asked)
    for part in parts:
        assert (STALE_FACTOR if part.name == "stale" else 2 / 3 - 0.01) <= part.effect <= 1.0
    assert priors([row], asked) == pytest.approx([math.prod(part.effect for part in parts)])


@given(importance=_SHARES, confidence=_SHARES, phase=st.sampled_from([None, *Phase]))
def test_no_prior_buries_a_clear_match(
    importance: float, confidence: float, phase: Phase | None
) -> None:
    clear = candidate("clear", importance=importance, confidence=confidence, needs_review=True)
    faint = candidate("faint", importance=1.0, confidence=1.0, type=MemoryType.GOTCHA)
    found = pool(clear, faint, words={"clear": 10.0, "faint": 2.0})
    texts = (memory("clear", "the cache is in redis"), memory("faint", "a cache"))
    ranking = rank_by_weights(found, plan(), setting(*texts, phase=phase))
    assert ranking.order[0].candidate.id == "clear"


def test_between_equal_matches_the_more_important_comes_first() -> None:
    low, high = candidate("a", importance=0.2), candidate("b", importance=0.9)
    ranking = rank_by_weights(pool(low, high, words={"a": 1.0, "b": 1.0}), plan(), setting())
    assert ranking.order[0].candidate.id == "b"


@pytest.mark.feature("B3")
def test_between_equal_matches_the_phase_decides() -> None:
    trap = candidate("trap", type=MemoryType.GOTCHA)
    choice = candidate("choice", type=MemoryType.DECISION)
    found = pool(trap, choice, words={"trap": 1.0, "choice": 1.0})

    def first(phase: Phase) -> str:
        return rank_by_weights(found, plan(), setting(phase=phase)).order[0].candidate.id

    assert (first(Phase.IMPLEMENT), first(Phase.EXPLORE)) == ("trap", "choice")
