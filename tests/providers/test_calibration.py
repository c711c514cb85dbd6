"""Nominal similarity thresholds and what they are for each model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.errors import ProviderError, UsageError
from wellkept.models import Calibration, calibrate, shipped_calibration
from wellkept.models.embedders.bundled_models import MINILM, STATIC
from wellkept.models.embedders.calibration import labelled_pairs
from wellkept.models.embedders.minilm import MiniLmEmbedder
from wellkept.models.embedders.static import StaticEmbedder
from wellkept.models.embedders.words import pack_unit

pytestmark = pytest.mark.feature("A4", "A5")

_NOMINAL = (0.80, 0.85, 0.88, 0.90)


@pytest.fixture(scope="module")
def measured() -> Calibration:
    return calibrate(StaticEmbedder())


def test_there_are_enough_pairs_of_every_kind_in_several_languages():
    pairs = labelled_pairs()
    labels = Counter((pair.label, pair.split) for pair in pairs)
    assert len(pairs) >= 300
    assert len(labels) == 8
    assert min(labels.values()) >= 40
    assert {pair.language for pair in pairs} >= {"en", "zh", "ja", "fr"}
    assert len({(pair.a, pair.b) for pair in pairs}) == len(pairs)


def test_no_text_is_used_both_to_fit_and_to_report():
    fit, held_out = (
        {text for pair in labelled_pairs() if pair.split == split for text in (pair.a, pair.b)}
        for split in ("fit", "held_out")
    )
    assert not fit & held_out


def test_the_shipped_figures_are_those_of_the_shipped_model(measured: Calibration):
    shipped = shipped_calibration(STATIC.model_id)
    assert shipped is not None
    assert shipped.related_mean == pytest.approx(measured.related_mean, abs=2e-4)
    assert shipped.related_deviation == pytest.approx(measured.related_deviation, abs=2e-4)


@pytest.mark.skipif(MINILM.problem() is not None, reason="the extra `models` is optional")
def test_the_shipped_figures_of_minilm_are_its_own():
    shipped, again = shipped_calibration(MINILM.model_id), calibrate(MiniLmEmbedder())
    assert shipped is not None
    assert shipped.related_mean == pytest.approx(again.related_mean, abs=2e-3)
    assert shipped.related_deviation == pytest.approx(again.related_deviation, abs=2e-3)


def test_merging_is_precise_on_pairs_that_were_held_out(measured: Calibration):
    assert measured.precision >= 0.95
    assert measured.recall >= 0.5


def test_contradictions_pass_any_cosine_so_they_are_reported(measured: Calibration):
    assert 0.2 < measured.near_miss_rate < 0.8


@given(mean=st.floats(-0.2, 0.95), deviation=st.floats(0.001, 0.5))
def test_cut_offs_rise_with_the_nominal_threshold(mean: float, deviation: float):
    some = Calibration("m", mean, deviation, 1.0, 1.0, 0.0)
    cuts = [some.cutoff(nominal / 100) for nominal in range(50, 101)]
    assert all(low <= high + 1e-12 for low, high in pairwise(cuts))
    assert cuts[-1] == 1.0


def test_the_four_thresholds_are_distinct_for_both_bundled_models():
    for model in (STATIC, MINILM):
        shipped = shipped_calibration(model.model_id)
        assert shipped is not None
        assert len({round(shipped.cutoff(nominal), 2) for nominal in _NOMINAL}) == 4


@pytest.mark.parametrize("nominal", [0.49, 1.01, float("nan")])
def test_a_threshold_out_of_range_is_refused(nominal: float):
    with pytest.raises(UsageError, match=r"from 0\.5 to 1"):
        Calibration("m", 0.3, 0.1, 1.0, 1.0, 0.0).cutoff(nominal)


def test_a_kept_calibration_reads_back(measured: Calibration):
    assert Calibration.from_json(measured.as_json()) == measured


@pytest.mark.parametrize(
    "kept", [None, [], {}, {"version": 0, "model_id": "m"}, {"version": 1, "model_id": "m"}]
)
def test_what_is_no_calibration_reads_as_none(kept: object):
    assert Calibration.from_json(kept) is None


def test_unknown_models_have_no_shipped_figures():
    assert shipped_calibration("openai:text-embedding-3-small@1024") is None


def test_a_model_without_any_sense_cannot_be_calibrated():
    class Same:
        model_id = "same"
        dimension = 2

        def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
            return [self.embed_query(text) for text in texts]

        def embed_query(self, text: str) -> bytes:
            return pack_unit([1.0, 0.0])

    with pytest.raises(ProviderError, match="same vector"):
        calibrate(Same())
