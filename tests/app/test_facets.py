"""Counts for filters, and search with its reasons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wellkept
from tests.app.opening import open_in
from tests.server.http_serving import served_in
from wellkept.core.errors import UsageError
from wellkept.memory.listing import Facets

pytestmark = pytest.mark.feature("H2")


def _fill(wk: wellkept.Wellkept) -> None:
    wk.remember("Deploys go through staging first", type="convention", tags=["deploy", "ci"])
    wk.remember("The export job needs the old locale", type="gotcha", tags=["deploy"],
                files=["src/export.py"], confidence=0.3, needs_review=True)  # fmt: skip
    wk.remember("Amounts are stored in cents", type="fact", modules=["billing"],
                source="user_taught", confidence=0.95)  # fmt: skip
    gone = wk.remember("Nightly builds run at two", type="fact").memory
    wk.forget(gone.id, keep_history=True)


def counts(wk: wellkept.Wellkept, **filters: Any) -> Facets:
    found = wk.list(count=True, **filters).counts
    assert found is not None
    return found


def _counts(found: Facets, name: str) -> dict[str, int]:
    return {one.value: one.count for one in getattr(found, name) if one.count}


def test_each_filter_is_counted_over_all_memories(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        _fill(wk)
        found = counts(wk)
    assert found.total == 3
    assert _counts(found, "types") == {"convention": 1, "gotcha": 1, "fact": 1}
    assert _counts(found, "badges") == {"CONV": 1, "WARN": 1, "FACT": 1}
    assert _counts(found, "validity") == {"open": 3, "closed": 1}
    assert _counts(found, "review") == {"waiting": 1, "neither": 1, "confirmed": 1}
    assert _counts(found, "tags") == {"deploy": 2, "ci": 1}
    assert _counts(found, "files") == {"src/export.py": 1}
    assert _counts(found, "modules") == {"billing": 1}
    assert [one.value for one in found.confidence] == ["5", "4", "3", "2", "1"]
    assert _counts(found, "confidence")["2"] == 1


def test_a_facet_ignores_its_own_filter_and_obeys_the_others(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        _fill(wk)
        typed = counts(wk, types=["gotcha"])
        tagged = counts(wk, tags=["deploy"], needs_review=True)
    assert typed.total == 1
    assert _counts(typed, "types") == {"convention": 1, "gotcha": 1, "fact": 1}
    assert _counts(typed, "tags") == {"deploy": 1}
    assert _counts(typed, "review") == {"waiting": 1}
    assert tagged.total == 1
    assert _counts(tagged, "review") == {"waiting": 1, "neither": 1}
    assert _counts(tagged, "types") == {"gotcha": 1}


def test_counts_follow_every_write(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        _fill(wk)
        assert counts(wk).total == 3
        memory = wk.remember("A fourth thing is known about queues", tags=["ci"]).memory
        assert (counts(wk).total, _counts(counts(wk), "tags")["ci"]) == (4, 2)
        wk.edit(memory.id, tags=["queue"])
        assert _counts(counts(wk), "tags")["queue"] == 1
        wk.forget(memory.id)
        assert "queue" not in _counts(counts(wk), "tags")


def test_what_cannot_be_a_band_is_refused(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk, pytest.raises(UsageError, match="1 to 5"):
        counts(wk, bands=[9])


def test_facets_and_search_are_served_with_the_parts_of_each_score(tmp_path: Path) -> None:
    with served_in(tmp_path) as web:
        short = web.remember("Deploys go through staging first", tags=["deploy"])
        counted = web.get("list", count=True, types=["fact"], bands=[5, 4])
        assert counted["counts"]["total"] == 1
        found = web.get("recall", query="staging deploys", tags=["deploy"], count_access=False)
        assert web.get("recall", query="staging deploys", tags=["other"])["hits"] == []
        used = web.shown(short)["access_count"]
    (hit,) = found["hits"]
    assert hit["memory"]["short"] == short
    assert {"name", "value", "weight", "effect"} == set(hit["parts"][0])
    assert used == 0
