"""Make a similarity threshold mean the same for every embedding model.

Raw cosines differ between models, so the design's nominal thresholds (0.80, 0.85, 0.88, 0.90) are
defined by how often they go wrong. Take two notes on the same topic that state different facts:

    nominal 0.80   1 such pair in 100 is as similar as this
            0.85   1 in 200
            0.88   1 in 500
            0.90   1 in 1,000

For each model the cosines of such pairs (label `related` in `data/pairs.jsonl`) are taken as
normally distributed; the cut-off is where their tail has that weight. A better model reaches
more true duplicates at the same risk. In between, the number of standard deviations is
interpolated; 0.50 stands for a typical such pair and 1.00 for identical vectors.
Invariant: cut-offs rise with the nominal value. Half of the pairs are never used to fit, only to
report precision and recall. No cosine tells a contradiction from a paraphrase: the label
`near_miss` is reported, and the caller has to compare such texts in another way.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast

from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.records import fields, record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wellkept.core.ports.models import Embedder

Label = Literal["duplicate", "near_miss", "related", "unrelated"]
Split = Literal["fit", "held_out"]

MERGE_THRESHOLD: Final = 0.85

# Nominal threshold and its distance from the mean of `related` pairs in standard deviations: the
# upper quantiles of the normal distribution for 1/2, 1/100, 1/200, 1/500 and 1/1,000.
_DEVIATIONS: Final = ((0.5, 0.0), (0.80, 2.326), (0.85, 2.576), (0.88, 2.878), (0.90, 3.090))
_HIGHEST_CUTOFF = 0.99
_DATA = Path(__file__).parent / "data"
_VERSION = 1


@record
class LabelledPair:
    """Two notes and their relation."""

    label: Label
    split: Split
    language: str
    a: str
    b: str


@record
class Calibration:
    """A model's cosine distribution, and merge quality at the merge threshold.

    `precision` and `recall` are of duplicates among the held-out pairs without near misses;
    `near_miss_rate` is the share of contradiction-like pairs that pass as well.
    """

    model_id: str
    related_mean: float
    related_deviation: float
    precision: float
    recall: float
    near_miss_rate: float

    def cutoff(self, nominal: float) -> float:
        """Translate a nominal threshold into a raw cosine of this model."""
        return _cutoff(nominal, mean=self.related_mean, deviation=self.related_deviation)

    def as_json(self) -> dict[str, float | str | int]:
        """As JSON for the store."""
        return {"version": _VERSION, **{f.name: getattr(self, f.name) for f in fields(self)}}

    @classmethod
    def from_json(cls, value: object) -> Calibration | None:
        """Read the stored JSON; None when absent, damaged or of another version."""
        if not isinstance(value, dict):
            return None
        stored = cast("dict[str, object]", value)
        model_id = stored.get("model_id")
        found = [stored.get(field.name) for field in fields(cls)[1:]]
        numbers = [float(n) for n in found if isinstance(n, int | float)]
        if stored.get("version") != _VERSION or not isinstance(model_id, str):
            return None
        return cls(model_id, *numbers) if len(numbers) == len(found) else None


def calibrate(embedder: Embedder) -> Calibration:
    """Measure a model on the shipped pairs; a few hundred texts are embedded."""
    pairs = labelled_pairs()
    scored = list(zip(pairs, _cosines(embedder, pairs), strict=True))
    related = [score for pair, score in scored if pair.label == "related" and pair.split == "fit"]
    mean = math.fsum(related) / len(related)
    variance = math.fsum((score - mean) ** 2 for score in related) / (len(related) - 1)
    deviation = math.sqrt(variance)
    if not 0 < deviation < 1:
        raise ProviderError(
            f"{embedder.model_id} gives every text the same vector; it cannot be calibrated.",
            hint="Check that the model is an embedding model.",
        )
    cut = _cutoff(MERGE_THRESHOLD, mean=mean, deviation=deviation)
    held_out: list[tuple[Label, bool]] = [
        (pair.label, score >= cut) for pair, score in scored if pair.split == "held_out"
    ]
    return Calibration(
        model_id=embedder.model_id,
        related_mean=round(mean, 4),
        related_deviation=round(deviation, 4),
        precision=_precision(held_out),
        recall=_share(held_out, "duplicate"),
        near_miss_rate=_share(held_out, "near_miss"),
    )


def shipped_calibration(model_id: str) -> Calibration | None:
    """The shipped figures of a bundled model."""
    return _shipped().get(model_id)


@cache
def labelled_pairs() -> tuple[LabelledPair, ...]:
    """Read the shipped pairs."""
    text = (_DATA / "pairs.jsonl").read_text(encoding="utf-8")
    rows = [cast("dict[str, str]", json.loads(line)) for line in text.splitlines()]
    return tuple(
        LabelledPair(
            label=cast("Label", row["label"]),
            split=cast("Split", row["split"]),
            language=row["language"],
            a=row["a"],
            b=row["b"],
        )
        for row in rows
    )


@cache
def _shipped() -> Mapping[str, Calibration]:
    text = (_DATA / "calibrations.json").read_text(encoding="utf-8")
    rows = cast("list[object]", json.loads(text))
    known = [Calibration.from_json(row) for row in rows]
    return {item.model_id: item for item in known if item is not None}


def _cosines(embedder: Embedder, pairs: Sequence[LabelledPair]) -> list[float]:
    from wellkept.models.embedders.words import cosine

    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.a, pair.b)))
    vectors = dict(zip(texts, embedder.embed_documents(texts), strict=True))
    return [cosine(vectors[pair.a], vectors[pair.b]) for pair in pairs]


def _cutoff(nominal: float, *, mean: float, deviation: float) -> float:
    if not 0.5 <= nominal <= 1.0:
        raise UsageError(
            f"A similarity threshold of {nominal} cannot be calibrated.",
            hint="Use a value from 0.5 to 1.",
        )
    points = [(at, min(_HIGHEST_CUTOFF, mean + z * deviation)) for at, z in _DEVIATIONS]
    points.append((1.0, 1.0))
    index = min(bisect_right([at for at, _ in points], nominal), len(points) - 1)
    (low, low_cut), (high, high_cut) = points[index - 1], points[index]
    share = (nominal - low) / (high - low)
    return low_cut * (1 - share) + high_cut * share


def _precision(outcomes: Sequence[tuple[Label, bool]]) -> float:
    passed = [label for label, passes in outcomes if passes and label != "near_miss"]
    return round(passed.count("duplicate") / len(passed), 3) if passed else 0.0


def _share(outcomes: Sequence[tuple[Label, bool]], label: Label) -> float:
    found = [passes for found, passes in outcomes if found == label]
    return round(sum(found) / len(found), 3)
