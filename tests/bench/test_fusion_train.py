"""Learning the weights: what tells the answer gets the weight, what does not gets none."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from bench.fusion_train import NOTE_MATCHES, clarity, cross_validated, fit, fit_answers
from bench.notes_data import (
    DEVELOPMENT,
    HELD_OUT,
    KINDS,
    UNANSWERABLE,
    load_elsewhere,
    load_notes,
    load_pairs_of_questions,
)
from bench.ranking_sources import SOURCES, Example
from wellkept.core.text import content_words, stem
from wellkept.memory.recall.features import Feature, Form
from wellkept.memory.recall.ranking import SUPPORT

pytestmark = pytest.mark.feature("B2")


def made_up(
    group: str, seed: int, *, notes: bool = False, chats: bool = False, answerable: bool = True
) -> Example:
    """Candidates of which the one that answers has the best match; everything else is chance."""
    random = np.random.default_rng(seed)
    rows = random.random((12, len(Feature)))
    rows[:, [Feature.FRAGMENTS, Feature.LINKS, Feature.CAUSAL, Feature.DATE]] = 0.0
    rows[:, Feature.SPEAKER] = 0.0
    rows[:, Feature.NOTE] = float(notes)
    match = Feature.MEANING if notes or chats else Feature.WORDS
    form = Form.NOTE if notes else Form.CHAT if chats else Form.TURN
    best = int(rows[:, match].argmax())
    support = random.random((12, len(SUPPORT))) * 0.5
    support[best, SUPPORT.index("shared")] = 1.0 if answerable else 0.2
    return Example(
        "notes" if notes else "written" if chats else "longmemeval",
        group,
        "",
        rows,
        support,
        tuple(frozenset({f"{group} {n}"}) for n in range(12)),
        np.full(12, form, dtype=np.int8),
        (best,) if answerable else (),
        int(answerable),
        tuple(f"s{i // 3}" for i in range(12)),
    )


TURNS = [made_up(f"c{n % 9}", n) for n in range(90)]
NOTES = [made_up(f"p{n % 9}", 1_000 + n, notes=True) for n in range(90)]
OTHERS = [made_up(f"q{n % 9}", 2_000 + n, notes=bool(n % 2), answerable=False) for n in range(90)]
CHATS = [made_up(f"w{n % 9}", 3_000 + n, chats=True) for n in range(90)]
DATA = [*TURNS, *CHATS, *NOTES, *OTHERS]


def test_turns_and_notes_get_weights_of_their_own() -> None:
    found = fit(DATA)
    others = np.abs(np.delete(found.turn, [Feature.WORDS, Feature.FRAGMENTS, Feature.LINKS]))
    assert found.turn[Feature.WORDS] > 4 * np.delete(others, -1).max() > 0
    assert found.note[Feature.MEANING] == NOTE_MATCHES["hybrid"]["meaning"]
    assert found.note[Feature.COVERS_MOST] == NOTE_MATCHES["hybrid"]["covers_most"]
    assert found.note[Feature.SESSION_WORDS] == 0.0


def test_chats_with_an_assistant_get_weights_of_their_own() -> None:
    found = fit(DATA)
    assert found.chat[Feature.MEANING] > 1 > abs(found.chat[Feature.WORDS])
    assert found.turn[Feature.WORDS] > 1 > abs(found.turn[Feature.MEANING])
    assert fit(DATA, "words").chat[Feature.MEANING] == 0.0


def test_features_of_retrievers_that_are_off_weigh_nothing() -> None:
    assert fit(DATA, "vectors").turn[Feature.WORDS] == 0.0
    assert fit(DATA, "words").note[Feature.MEANING] == 0.0


def test_training_twice_gives_the_same() -> None:
    one, other = fit(DATA), fit(DATA)
    assert one.turn.tolist() == other.turn.tolist()
    assert one.note.tolist() == other.note.tolist()


def test_what_is_left_out_is_ranked_well_by_what_the_others_taught() -> None:
    figures = cross_validated(DATA)
    assert figures["longmemeval"]["recall_at_10"] > 90
    assert figures["notes"]["recall_at_10"] > 90


def test_the_probability_tells_answers_from_others_and_only_support_counts_for_it() -> None:
    weights = fit(DATA)
    answers = {
        "note": fit_answers(DATA, weights, notes=True, without=set()),
        "turn": fit_answers(DATA, weights, notes=False, without=set()),
    }
    for model in answers.values():
        assert all(w >= 0 for name, w in model.items() if name not in {"constant", "wordless"})
    right = np.mean([clarity(e, weights, answers) for e in (*TURNS, *NOTES)])
    wrong = np.mean([clarity(e, weights, answers) for e in OTHERS])
    assert right > 0.5 > wrong


def test_no_source_of_training_is_non_commercial() -> None:
    assert all(licence in {"MIT", "Apache-2.0"} for _, licence in SOURCES.values())
    assert "locomo" not in SOURCES


def test_the_two_sets_of_notes_share_no_project_and_paraphrases_share_no_word() -> None:
    sets = [load_notes(DEVELOPMENT), load_notes(HELD_OUT)]
    for one, other in pairwise(sets):
        assert not {p for p, _ in one.notes} & {p for p, _ in other.notes}
        assert not {t for _, t in one.notes} & {t for _, t in other.notes}
    for notes in sets:
        assert all(notes.of_kind(kind) for kind in (*KINDS.values(), UNANSWERABLE))
        for each in notes.of_kind("paraphrase"):
            asked = {stem(word) for word in content_words(each.text)}
            told = {stem(word) for word in content_words(each.note or "")}
            assert not asked & told, each.text


def test_what_is_measured_is_apart_from_what_was_learned_from() -> None:
    learned, measured = load_elsewhere("development"), load_elsewhere("held out")
    assert len(learned) == len(measured) == 50
    assert not set(learned) & set(measured)
    tuned, asked = load_pairs_of_questions("development"), load_pairs_of_questions("held_out")
    assert tuned.notes == asked.notes
    assert len(tuned.questions) == len(asked.questions) == 64
    assert not {q.note for q in tuned.questions} & {q.note for q in asked.questions}
