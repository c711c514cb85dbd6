"""The benchmarks run at tiny sizes and end with one JSON object."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import growth, report, scale
from bench.__main__ import Part, last_object, run_part
from bench.corpus import Corpus
from bench.peers import PlainText, missing
from wellkept.core.codec import Json

pytestmark = pytest.mark.feature("B1")


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own for what benchmarks leave behind."""
    monkeypatch.setattr(report, "OUT", tmp_path / "out")
    return tmp_path / "out"


def test_growth_measures_each_size_and_draws_it(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    growth.main(["--rows", "300", "--queries", "8", "--json"])
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [point["rows"] for point in figures["points"]] == [300]
    assert figures["points"][0]["hybrid"]["count"] > 0
    assert all((out / name).stat().st_size > 1_000 for name in figures["plots"])


def test_growth_steps_end_with_the_size_asked_for() -> None:
    assert growth.steps(20_000) == [1_000, 2_000, 5_000, 10_000, 20_000]
    assert growth.steps(300) == [300]


def test_scale_measures_a_store_in_processes_of_their_own(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--sizes", "400", "--queries", "12", "--cold-rounds", "1", "--chroma-rows", "0"]
    scale.main([*arguments, "--keep", str(tmp_path), "--json"])
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 1
    size = json.loads(printed[0])["sizes"][0]
    assert size["quality_guard"] == {"words_top10_overlap": 1.0, "vectors_top10_overlap": 1.0}
    assert size["wellkept"]["write"]["insert_without_embedding"]["count"] > 0
    assert size["peers"]["chroma"]["status"].startswith(("skipped", "not installed"))
    assert {target["verdict"] for target in json.loads(printed[0])["targets"]} <= {"pass", "fail"}


def test_overlap_forgives_equal_scores_and_counts_what_is_missing(tmp_path: Path) -> None:
    corpus = Corpus()
    plain = PlainText(tmp_path / "plain.db")
    plain.add(corpus.block(0, count=200).memories, first=0)
    queries = corpus.queries(5, rows=200)
    found = [
        sorted((r for r in plain.scores(q) if r % 5), key=lambda r: -plain.scores(q)[r])[:10]
        for q in queries
    ]
    assert scale.words_overlap(found, queries, plain) == 1.0
    assert scale.words_overlap([[] for _ in queries], queries, plain) == 0.0
    assert scale.vectors_overlap([[1, 2]], [{1, 3}]) == 0.5
    plain.close()


def test_a_missing_peer_is_told_and_not_a_crash() -> None:
    assert missing("json") is None
    assert missing("no_such_peer") == {"status": "not installed: no_such_peer"}


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ('progress\n{"a": 1}\n', {"a": 1}),
        ('{\n "a": {\n  "b": 2\n }\n}', {"a": {"b": 2}}),
        ("nothing", None),
        ("[1]", None),
    ],
)
def test_the_last_object_is_found_in_what_a_part_printed(printed: str, found: Json) -> None:
    assert last_object(printed) == found


def test_a_part_without_its_data_is_skipped_and_an_unknown_one_named() -> None:
    assert run_part(Part("commands", data=True), data=None, quick=True).status.startswith("skip")
    assert run_part(Part("nowhere"), data=None, quick=True).status == "no such part"


def test_the_whole_run_says_what_there_is() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--help"], capture_output=True, text=True, check=True
    )
    assert "--locomo" in done.stdout
