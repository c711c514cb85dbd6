"""Conformance: counts by facet, label and day."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.conformance.fixtures import ConformanceFixture
from tests.support.conformance.injections import injection, line, verdict
from tests.support.samples import START, Samples
from wellkept.core.changes import Change, PutInjection, PutVerdicts
from wellkept.core.memory import WorkUnitRef
from wellkept.core.ports.injections import LineOutcome
from wellkept.core.ports.reports import DayCount, FileGroupCount, LabelCount, LinesOfDay
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter, Validity
from wellkept.core.types import MemoryType, Source

OPEN = Filter(project="example")
ANY = Filter(project="example", validity=Validity.ANY, archived=None)
_UNIT = WorkUnitRef("tdd", ("login",), "login")


def _some(samples: Samples) -> list[Change]:
    day = timedelta(days=1)
    return [
        samples.insert("one", tags=("a", "b"), files=("src/x.py",), confidence=0.2),
        samples.insert("two", tags=("a",), files=("src/x.py", "src/y.py"), confidence=1.0),
        samples.insert("three", type=MemoryType.GOTCHA, work_unit=_UNIT, modules=("src",)),
        samples.insert("four", source=Source.QA_AUTO, needs_review=True, created_at=START + day),
        samples.insert("five", valid_to=START + day, tags=("old",)),
        samples.insert("six", archived_at=START, user_verified=True),
        samples.insert("seven", stale_at=START, confidence=0.79),
        samples.insert("other", project="elsewhere", tags=("a",)),
    ]


class ReportsConformance(ConformanceFixture):
    """Contract of the `ReportStore` port, and of the filters that go with it."""

    @pytest.mark.feature("H2")
    def test_groups_add_up_to_what_a_listing_has(self, store: Store, samples: Samples) -> None:
        store.apply(_some(samples))
        for where in (OPEN, ANY, Filter(project=None), Filter(project="example", bands=(5,))):
            groups = store.memory_groups(where)
            assert sum(one.count for one in groups) == store.list(where).total
        groups = store.memory_groups(ANY)

        def count(**wanted: object) -> int:
            fits = [g for g in groups if all(getattr(g, n) == v for n, v in wanted.items())]
            return sum(one.count for one in fits)

        assert count(type=MemoryType.GOTCHA) == 1
        assert count(methodology="tdd") == 1
        assert count(methodology=None) == 6
        assert count(needs_review=True, source=Source.QA_AUTO) == 1
        assert (count(closed=True), count(archived=True), count(stale=True)) == (1, 1, 1)
        assert count(band=2) == 1
        five = Filter(project="example", bands=(5,), validity=Validity.ANY, archived=None)
        assert count(band=5) == store.list(five).total

    @pytest.mark.feature("H2")
    def test_methodology_and_dots_of_confidence_are_filters(
        self, store: Store, samples: Samples
    ) -> None:
        store.apply(_some(samples))

        def contents(**where: object) -> set[str]:
            found = store.list(Filter(project="example", **where))  # type: ignore[arg-type]
            return {memory.content for memory in found}

        assert contents(methodologies=("tdd",)) == {"three"}
        assert contents(methodologies=("tdd", "bmad")) == {"three"}
        assert contents(bands=(2,)) == {"one"}
        assert contents(bands=(4,)) == {"seven"}
        assert {"two"} <= contents(bands=(2, 5)) >= {"one"}

    @pytest.mark.feature("H2")
    def test_labels_are_counted_under_a_filter_most_frequent_first(
        self, store: Store, samples: Samples
    ) -> None:
        store.apply(_some(samples))
        assert store.label_counts(OPEN, "tag", limit=9) == [LabelCount("a", 2), LabelCount("b", 1)]
        assert store.label_counts(OPEN, "tag", limit=1) == [LabelCount("a", 2)]
        assert store.label_counts(OPEN, "file", limit=9)[0] == LabelCount("src/x.py", 2)
        assert store.label_counts(OPEN, "module", limit=9) == [LabelCount("src", 1)]
        tagged = Filter(project="example", tags=("b",))
        assert store.label_counts(tagged, "tag", limit=9) == [
            LabelCount("a", 1),
            LabelCount("b", 1),
        ]
        assert LabelCount("old", 1) in store.label_counts(ANY, "tag", limit=9)

    @pytest.mark.feature("H1")
    def test_memories_and_lines_given_are_counted_by_day(
        self, store: Store, samples: Samples
    ) -> None:
        store.apply(_some(samples))
        first, second = store.memories_by_day(ANY)
        assert (first.count, second) == (6, DayCount(first.day + 1, 1))
        assert store.memories_by_day(ANY, since=START + timedelta(hours=1)) == [second]
        # Counted in a zone where the earlier ones fall on the day before.
        hours = START.hour + 1
        assert store.memories_by_day(OPEN, offset_minutes=-60 * hours)[0].day == first.day - 1
        store.apply(
            [
                PutInjection(injection(1, line("l1"), line("l2"))),
                PutInjection(injection(60 * 24, line("l1"))),
                PutInjection(injection(3, line("l1"), project="elsewhere")),
                PutVerdicts((verdict(1, LineOutcome.USED, at_line=1),)),
            ]
        )
        day = LinesOfDay(day=first.day, lines=2, used=1, tokens=20)
        days = store.lines_by_day(project="example")
        assert days == [day, LinesOfDay(day=first.day + 1, lines=1, used=0, tokens=10)]
        assert store.lines_by_day(project="example", since=START + timedelta(hours=2)) == days[1:]
        assert store.lines_by_day(project=None)[0].lines == 3

    @pytest.mark.feature("H1")
    def test_groups_of_files_count_each_memory_once(self, store: Store, samples: Samples) -> None:
        store.apply(_some(samples))
        groups = {"src": ["src/x.py", "src/y.py", "src/z.py"], "empty": ["none.py"], "no": []}
        assert store.count_by_files(OPEN, groups) == {
            "src": FileGroupCount(2, 2),
            "empty": FileGroupCount(0, 0),
            "no": FileGroupCount(0, 0),
        }
        only_x = Filter(project="example", tags=("b",))
        assert store.count_by_files(only_x, groups)["src"] == FileGroupCount(1, 1)
