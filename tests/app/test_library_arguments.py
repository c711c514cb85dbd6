"""The library refuses arguments it does not understand, and says what would fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

import wellkept
from tests.app.opening import open_in
from wellkept.core.ports.models import Vector
from wellkept.memory import arguments as keyword_types
from wellkept.memory import request_builder as requests


@pytest.mark.feature("A3")
def test_the_key_tables_match_the_keyword_types() -> None:
    assert set(keyword_types.FilterArgs.__annotations__) == requests.FILTER_KEYS


@pytest.mark.feature("A3")
@pytest.mark.parametrize(
    ("method", "arguments", "wrong", "close"),
    [
        ("remember", ["x"], "tag", "tags"),
        ("edit", ["x"], "contents", "content"),
        ("recall", ["x"], "type", "types"),
        ("recall", ["x"], "limt", "limit"),
        ("list", [], "tag", "tags"),
        ("list", [], "pined", "pinned"),
        ("iterate", [], "file", "files"),
        ("stats", [], "scope", "scopes"),
        ("export", ["x.jsonl"], "source", "sources"),
        ("export_markdown", ["x"], "source", "sources"),
    ],
)
def test_an_unknown_keyword_is_a_type_error_with_the_close_one(
    tmp_path: Path, method: str, arguments: list[str], wrong: str, close: str
) -> None:
    with open_in(tmp_path) as wk, pytest.raises(TypeError) as caught:
        getattr(wk, method)(*arguments, **{wrong: "a"})
    assert f"'{wrong}'. Did you mean '{close}'?" in str(caught.value)


@pytest.mark.feature("A3")
def test_a_keyword_that_resembles_none_is_answered_with_all(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk, pytest.raises(TypeError, match=r"It takes .*tags"):
        cast("Any", wk).remember("x", zzzzz=1)


@pytest.mark.feature("A3")
def test_several_statements_can_be_plain_strings(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        draft = wellkept.MemoryDraft(content="Tabs are eight wide", type=wellkept.MemoryType.FACT)
        done = wk.remember_many(["The database is called kiwi", draft])
        assert [one.memory.content for one in done] == [
            "The database is called kiwi",
            "Tabs are eight wide",
        ]


@pytest.mark.feature("A3")
def test_one_string_is_not_taken_for_many(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk, pytest.raises(TypeError, match=r"Use remember\(\)"):
        wk.remember_many("one statement")


@pytest.mark.feature("A3")
def test_a_page_can_be_iterated_and_counted(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.remember_many(["The database is called kiwi", "Deploys go through staging"])
        page = wk.list(limit=1)
        assert [memory.id for memory in page] == [page.items[0].id]
        assert (len(page), page.total) == (1, 2)
        assert len(wk.recall("database")) == len(list(wk.recall("database")))


@pytest.mark.feature("F4")
def test_a_selection_of_skills_can_be_iterated_and_counted(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.skills.create("deploy-kiwi", description="Deploy the kiwi service", body="Do it.")
        found = wk.skills.search("deploy the kiwi service")
        assert tuple(found) == found.choices
        assert len(found) == len(found.choices) > 0


@pytest.mark.feature("A3")
def test_stats_count_closed_memories(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        old = wk.remember("The port is 8080", key="port").memory
        wk.remember("The port is 9090", key="port")
        wk.remember("Deploys go through staging", tags=["deploy"])
        assert not wk.get(old.id).is_open
        found = wk.stats()
        assert (found.total, found.closed) == (2, 1)
        assert wk.stats(tags="deploy").closed == 0
        assert (wk.stats(validity="any").total, wk.stats(validity="any").closed) == (3, 1)


@pytest.mark.feature("A1")
@pytest.mark.parametrize("unit", ["login", ("native", "login"), 3])
def test_a_work_unit_that_is_no_reference_is_a_usage_error(tmp_path: Path, unit: object) -> None:
    with open_in(tmp_path) as wk:
        with pytest.raises(wellkept.UsageError, match="must be a WorkUnitRef") as caught:
            wk.remember("x", work_unit=cast("Any", unit))
        assert "wellkept.WorkUnitRef(" in (caught.value.hint or "")


class HalfEmbedder:
    """Has an id and nothing else."""

    model_id = "half"


class LoadingEmbedder:
    """Fails when its model is loaded."""

    @property
    def model_id(self) -> str:
        raise AssertionError("the model was loaded")

    @property
    def dimension(self) -> int:
        raise AssertionError("the model was loaded")

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        raise NotImplementedError

    def embed_query(self, text: str) -> Vector:
        raise NotImplementedError


@pytest.mark.feature("B4")
def test_a_wrong_embedder_fails_at_once_and_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(wellkept.UsageError, match="dimension, embed_documents") as caught:
        wellkept.open(tmp_path / "m.db", embedder=cast("Any", HalfEmbedder()))
    assert "embed_query(text)" in (caught.value.hint or "")
    assert not (tmp_path / "m.db").exists()


@pytest.mark.feature("B4")
def test_an_embedder_class_is_refused(tmp_path: Path) -> None:
    with pytest.raises(wellkept.UsageError, match="is a class, not an object"):
        wellkept.open(tmp_path / "m.db", embedder=cast("Any", LoadingEmbedder))


@pytest.mark.feature("B4")
def test_checking_an_embedder_does_not_load_its_model(tmp_path: Path) -> None:
    wellkept.open(tmp_path / "m.db", embedder=LoadingEmbedder()).close()
