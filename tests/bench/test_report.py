"""The shared parts of the benchmarks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import report

pytestmark = pytest.mark.feature("B1")


def test_percentiles_lie_between_the_nearest_values() -> None:
    timing = report.Timing.of([0.004, 0.001, 0.003, 0.002])
    assert timing.p50_ms == pytest.approx(2.5)
    assert timing.max_ms == pytest.approx(4.0)
    assert report.percentile([7.0], 95) == 7.0


def test_an_empty_series_has_no_figures() -> None:
    assert report.Timing.of([]).count == 0


def test_warm_up_runs_are_not_counted_and_a_budget_ends_the_series() -> None:
    assert report.timed_each(str, range(10), warm_up=4).count == 6
    assert report.timed_each(str, range(10), budget_s=-1.0).count == 1


def test_a_benchmark_of_silence_fails() -> None:
    assert report.timed_each(lambda n: [n] * (n % 2), range(10)).count == 10
    with pytest.raises(RuntimeError, match="4 of 10 were answered"):
        report.timed_each(lambda n: [n] * (n < 4), range(10))
    assert report.timed_each(lambda _: None, range(10)).count == 10


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        (report.Target("fast", 10, 9.5), "pass"),
        (report.Target("fast", 10, 10.5), "fail"),
        (report.Target("ahead", 5, 6, at_least=True), "pass"),
        (report.Target("ahead", 5, 4, at_least=True), "fail"),
        (report.Target("fast", 10, None), "no data"),
    ],
)
def test_a_target_says_whether_it_was_met(target: report.Target, verdict: str) -> None:
    assert target.as_json()["verdict"] == verdict


def test_the_json_object_is_the_last_line_and_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "OUT", tmp_path / "out")
    report.finish("sample", {"figure": 3}, as_json=False, lines=["for people"])
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "for people"
    assert json.loads(printed[-1]) == {"bench": "sample", "figure": 3}
    assert json.loads((tmp_path / "out" / "sample.json").read_text("utf-8"))["figure"] == 3


def test_a_table_lines_its_columns_up() -> None:
    assert report.table(["what", "ms"], [["words", "1"], ["x", "12"]]) == [
        "what   ms",
        "words   1",
        "x      12",
    ]


def test_room_counts_a_database_with_its_log(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"12")
    (tmp_path / "a.db-wal").write_bytes(b"345")
    assert report.room_bytes(tmp_path / "a.db") == 5
    assert report.room_bytes(tmp_path) == 5
    assert report.resident_mb() > 1
