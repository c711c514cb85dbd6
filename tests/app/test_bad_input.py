"""What a caller may say that makes no sense: a clear refusal, and nothing kept."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests.app.opening import open_in
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError

pytestmark = pytest.mark.feature("A1")

_FAR_EAST = timezone(timedelta(hours=14))
_FAR_WEST = timezone(timedelta(hours=-12))


@pytest.mark.parametrize(
    "when",
    [
        datetime(1, 1, 1, tzinfo=_FAR_EAST),
        datetime(9999, 12, 31, 23, 59, tzinfo=_FAR_WEST),
        "0001-01-01T00:00+14:00",
        "9999-12-31T23:59:59-12:00",
    ],
)
def test_a_moment_that_no_calendar_holds_in_utc_is_refused(
    tmp_path: Path, when: datetime | str
) -> None:
    with open_in(tmp_path) as memory:
        with pytest.raises(UsageError, match="out of range"):
            memory.remember("The year is out of bounds", at=when)
        with pytest.raises(UsageError, match="out of range"):
            memory.list(as_of=when)
        assert memory.stats().total == 0


@pytest.mark.parametrize("year", [1, 9999])
def test_the_first_and_the_last_year_can_be_kept_and_asked_for(tmp_path: Path, year: int) -> None:
    when = datetime(year, 6, 1, tzinfo=UTC)
    with open_in(tmp_path) as memory:
        kept = memory.remember(f"A comet passed in the year {year}", at=when).memory
        assert memory.get(kept.id).valid_from == when
        assert [hit.memory.id for hit in memory.recall("comet", mode="words")] == [kept.id]
        memory.maintain()


@pytest.mark.parametrize(
    "path",
    ["x\ud800y.py", "a" * 5_000, "deep/" * 2_000 + "x.py", "dir\\" * 2_000 + "x.py"],
    ids=["lone surrogate", "long name", "long path", "long Windows path"],
)
def test_a_path_that_no_file_can_have_is_refused_and_keeps_nothing(
    tmp_path: Path, path: str
) -> None:
    with open_in(tmp_path) as memory:
        with pytest.raises(UsageError):
            memory.remember("The parser is slow", files=[path])
        assert memory.stats().total == 0


@pytest.mark.parametrize("number", [10**400, -(10**400), float("inf"), float("nan")])
@pytest.mark.parametrize("field", ["importance", "confidence", "half_life_days"])
def test_a_number_that_is_no_share_or_span_is_refused(
    tmp_path: Path, field: str, number: float
) -> None:
    with open_in(tmp_path) as memory:
        with pytest.raises(UsageError):
            memory.remember("The parser is slow", **{field: number})  # type: ignore[arg-type]
        assert memory.stats().total == 0


def test_thousands_of_tags_can_be_kept_and_asking_for_all_of_them_says_the_limit(
    tmp_path: Path,
) -> None:
    tags = [f"tag-{number}" for number in range(3_000)]
    with open_in(tmp_path) as memory:
        assert len(memory.remember("The parser is slow", tags=tags).memory.tags) == 3_000
        assert memory.list(tags=tags[:100]).total == 1
        with pytest.raises(UsageError, match="at most 100"):
            memory.list(tags=tags)


@pytest.mark.parametrize("levels", [200, 600, 3_000])
def test_a_value_nested_beyond_reason_is_refused_wherever_it_is_given(
    tmp_path: Path, levels: int
) -> None:
    deep: Json = {}
    for _ in range(levels):
        deep = {"a": deep}
    with open_in(tmp_path) as memory:
        with pytest.raises(UsageError):
            memory.remember("Half done", type="work_state", payload={"methodology_state": deep})
        with pytest.raises(UsageError):
            memory.state().put("project:deep", deep)
        assert memory.stats().total == 0


def test_a_record_with_a_payload_nested_beyond_reason_is_refused_and_the_rest_taken(
    tmp_path: Path,
) -> None:
    with open_in(tmp_path) as memory:
        memory.remember("Half done", type="work_state", payload={"methodology_state": {"a": 1}})
        memory.export(tmp_path / "out.jsonl")
        header, line = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
        record = json.loads(line) | {"id": json.loads(line)["id"][:-4] + "0000"}
        deep = json.dumps(record).replace('{"a": 1}', '{"a":' * 450 + "1" + "}" * 450)
        (tmp_path / "in.jsonl").write_text(f"{header}\n{deep}\n{line}\n", encoding="utf-8")
        report = memory.import_jsonl(tmp_path / "in.jsonl")
        assert [note.line for note in report.refused] == [2]
        assert report.skipped == 1


def test_what_merging_projects_closes_never_ends_before_it_began(tmp_path: Path) -> None:
    with open_in(tmp_path) as memory, open_in(tmp_path, project="other") as other:
        memory.remember("The port is 8080", key="port", at="2090-01-01")
        other.remember("The port is 9090", key="port", at="2091-01-01")
        memory.merge_project(other.project)
        (closed,) = memory.iterate(validity="closed")
        assert closed.valid_to is not None
        assert closed.valid_to >= closed.valid_from
        memory.export(tmp_path / "out.jsonl")
    with open_in(tmp_path / "fresh") as fresh:
        assert fresh.import_jsonl(tmp_path / "out.jsonl").refused == ()


def test_the_home_of_an_unknown_user_is_no_place_to_write_or_read(tmp_path: Path) -> None:
    path = "~no-such-user-here/memory"
    with open_in(tmp_path) as memory:
        for act in (memory.export, memory.export_markdown, memory.import_jsonl, memory.backup):
            with pytest.raises(UsageError, match="home folder"):
                act(path)
