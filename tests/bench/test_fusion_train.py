"""Learning the weights: what tells the evidence gets the weight, what does not gets none."""

from __future__ import annotations

import numpy as np
import pytest

from bench.fusion_train import LEARNED, SETS, Example, cross_validated, fit
from wellkept.memory.recall.features import Feature

pytestmark = pytest.mark.feature("B2")


def made_up(conversation: str, seed: int) -> Example:
    """A pool in which the evidence has the best words and everything else is chance."""
    rows = np.random.default_rng(seed).random((12, len(Feature)))
    best = int(rows[:, Feature.WORDS].argmax())
    names = tuple(f"t{i}" for i in range(12))
    return Example(
        conversation,
        rows,
        (best,),
        names,
        tuple(f"s{i // 3}" for i in range(12)),
        frozenset({names[best]}),
        frozenset({f"s{best // 3}"}),
    )


DATA = [made_up(f"c{n % 3}", n) for n in range(90)]


def test_the_signal_that_tells_gets_by_far_the_largest_weight() -> None:
    weights = fit(DATA, LEARNED)
    others = np.abs(np.delete(weights, Feature.WORDS))
    assert weights[Feature.WORDS] > 4 * others.max()


def test_signals_that_were_not_chosen_weigh_nothing() -> None:
    weights = fit(DATA, SETS["vectors"])
    assert weights[Feature.WORDS] == 0.0


def test_held_out_conversations_are_ranked_well_by_what_the_others_taught() -> None:
    figures = cross_validated(DATA, LEARNED)
    assert figures.recall_5 > 90
    assert cross_validated(DATA, SETS["vectors"]).recall_5 < 70
