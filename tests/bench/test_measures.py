"""Retrieval measures against figures worked out by hand, and the loaders of both data sets."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import pytest

from bench import cosqa, locomo_data, longmemeval
from bench.baselines import Baselines, fuse
from bench.measures import Answer, measure, ndcg, recall, recall_all, recall_any, reciprocal_rank
from bench.model_ways import Way, add_models, chosen_ways, opened
from wellkept.core.errors import ProviderError
from wellkept.testing.fakes import WordEmbedder

pytestmark = pytest.mark.feature("B1")
WANTED = frozenset({"b", "d"})


def test_recall_counts_what_is_among_the_first() -> None:
    assert recall("abcd", WANTED, 2) == 0.5
    assert (recall_all("abcd", WANTED, 3), recall_all("abcd", WANTED, 4)) == (0.0, 1.0)
    assert (recall_any("abcd", WANTED, 1), recall_any("abcd", WANTED, 2)) == (0.0, 1.0)


def test_rank_and_gain_follow_their_definitions() -> None:
    assert reciprocal_rank("abcd", WANTED) == 0.5
    assert reciprocal_rank("ac", WANTED) == 0.0
    best = 1 + 1 / math.log2(3)
    assert ndcg("abcd", WANTED, 10) == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / best)


def test_a_group_ranks_by_its_best_item() -> None:
    answer = Answer(
        items=list("abc"),
        groups=["x", "y", "x"],
        wanted=frozenset("c"),
        wanted_groups=frozenset("x"),
    )
    assert answer.ranked_groups == ["x", "y"]
    figures = measure([answer])
    assert (figures.recall_5, figures.group_recall_5, figures.group_all_5) == (100, 100, 100)
    assert figures.mrr == pytest.approx(100 / 3)


def test_fusion_by_rank_prefers_what_both_found() -> None:
    assert fuse([["a", "b"], ["b", "c"]])[0] == "b"


def test_plain_methods_find_by_words_and_by_meaning() -> None:
    plain = Baselines({"x": "the red boat", "y": "a green car"}, WordEmbedder())
    assert plain.bm25("what is the boat?") == ["x"]
    assert plain.bm25("what is the?") == []
    assert plain.embedder("green car")[0] == "y"
    assert plain.rrf("boat")[0] == "x"


def test_locomo_evidence_is_split_and_what_names_no_turn_is_left_out(tmp_path: Path) -> None:
    turn = {"speaker": "A", "dia_id": "D1:1", "text": "Look", "blip_caption": "a dog"}
    other = {"speaker": "B", "dia_id": "D1:2", "text": "Nice"}
    entry = {
        "sample_id": "one",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [turn, other],
        },
        "qa": [
            {"question": "q", "evidence": ["D1:1; D1:2, D9:9"], "category": 1},
            {"question": "r", "evidence": ["D"], "category": 2},
            {"question": "s", "evidence": ["D1:1"], "category": 5},
        ],
    }
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([entry]), "utf-8")
    (conversation,) = locomo_data.load(path)
    assert [q.evidence for q in conversation.questions] == [{"D1:1", "D1:2"}]
    assert conversation.turns[0].text == "Look [shares a dog]"
    assert conversation.ends_at.isoformat() == "2023-05-08T13:56:00+00:00"


def test_longmemeval_sessions_are_made_opaque_and_unanswerable_questions_left_out(
    tmp_path: Path,
) -> None:
    def entry(name: str) -> dict[str, object]:
        return {
            "question_id": name,
            "question_type": "multi-session",
            "question": "q",
            "question_date": "2023/05/30 (Tue) 11:49",
            "answer_session_ids": ["answer_1"],
            "haystack_session_ids": ["other", "answer_1"],
            "haystack_dates": ["2023/05/20 (Sat) 01:38", "2023/05/21 (Sun) 01:38"],
            "haystack_sessions": [
                [{"role": "user", "content": "hello"}],
                [{"role": "user", "content": "my fact"}, {"role": "assistant", "content": " "}],
            ],
        }

    path = tmp_path / "lme.json"
    path.write_text(json.dumps([entry("a"), entry("b_abs")]), "utf-8")
    (question,) = longmemeval.load(path)
    assert question.wanted == {"s001"}
    assert [turn.session for turn in question.turns] == ["s000", "s001"]
    assert "answer" not in repr(question.turns)
    outcomes, _ = longmemeval.ask(question, [Way("none")])
    assert [o.method for o in outcomes] == [longmemeval.RECALL, longmemeval.DEEP]
    assert longmemeval.figures_of(outcomes)["recall_any_at_10"] in (0.0, 100.0)
    beside, _ = longmemeval.ask(question, [Way("none"), Way("static")])
    assert [o.method for o in beside][2:] == ["wellkept recall, static"]


def test_models_are_set_side_by_side_and_the_first_is_reranked() -> None:
    options = argparse.ArgumentParser()
    add_models(options)
    asked = options.parse_args(["--models", "static,minilm", "--reranker", "maker/small"])
    assert [way.label for way in chosen_ways(asked)] == [
        "static",
        "minilm",
        "static, reranked by maker/small",
    ]
    assert chosen_ways(options.parse_args([]))[0] == Way("static")
    assert chosen_ways(options.parse_args(["--models", "static", "--reranker", "none"])) == [
        Way("static")
    ]


@pytest.mark.feature("B7")
def test_a_reranker_that_cannot_be_used_ends_a_benchmark() -> None:
    with pytest.raises(ProviderError, match="not on this machine"), opened(Way("none", "no/such")):
        pass


def test_questions_about_code_find_the_functions_that_answer(tmp_path: Path) -> None:
    functions = ["def is_even(n): return n % 2 == 0", "def read_json(path): return load(path)"]
    places = {text: number for number, text in enumerate(functions)}
    (tmp_path / "code_idx_map.txt").write_text(json.dumps(places), "utf-8")
    asked = [{"doc": "python check if number is even", "retrieval_idx": "0"}]
    (tmp_path / "cosqa-retrieval-dev-500.json").write_text(json.dumps(asked), "utf-8")
    texts, questions = cosqa.load(tmp_path, "dev")
    assert questions == [("python check if number is even", functions[0])]
    found = cosqa.ask(texts, questions, [Way("static"), Way("none")])
    assert list(found) == [cosqa.RECALL, "BM25", cosqa.EMBEDDER, "RRF", f"{cosqa.RECALL}, none"]
    assert found["BM25"] == {"in five": 100.0, "mrr": 100.0}
