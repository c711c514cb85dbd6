"""The learned numbers of recall: weights of the features, and of the probability of an answer.

Made by `python -m bench.fusion_train --write`; `data/fusion.json` names every set of texts that
they were learned from, with its licence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from wellkept.core.records import record
from wellkept.memory.recall.features import Feature, Weights

WEIGHTS_FILE = Path(__file__).parent / "data" / "fusion.json"


@record
class Clearness:
    """A logistic model of whether a memory answers a question: a constant and a weight for each
    kind of support, by name."""

    constant: float
    weights: Mapping[str, float]


@record
class LearnedRanking:
    """What was learned for one set of retrievers."""

    weights: Weights
    note: Clearness
    turn: Clearness


@lru_cache(maxsize=1)
def load_rankings() -> Mapping[str, LearnedRanking]:
    """The shipped numbers by set of retrievers; a weight that is not listed is 0."""
    return {
        name: _learned(values)
        for name, values in json.loads(WEIGHTS_FILE.read_text("utf-8"))["sets"].items()
    }


def _learned(values: Mapping[str, Any]) -> LearnedRanking:
    return LearnedRanking(
        Weights(
            turn=_in_order(values["turn"]),
            chat=_in_order(values["chat"]),
            note=_in_order(values["note"]),
        ),
        note=_clearness(values["note_answers"]),
        turn=_clearness(values["turn_answers"]),
    )


def _in_order(weights: Mapping[str, float]) -> tuple[float, ...]:
    return tuple(float(weights.get(feature.label, 0.0)) for feature in Feature)


def _clearness(values: Mapping[str, float]) -> Clearness:
    weights = {name: float(value) for name, value in values.items() if name != "constant"}
    return Clearness(float(values["constant"]), weights)
