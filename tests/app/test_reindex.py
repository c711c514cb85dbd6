"""Re-indexing: complete, resumable, searchable meanwhile, and idle when there is nothing to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.opening import FailingEmbedder, open_in
from wellkept.api.maintenance.reindex import (
    PAGE,
    has_superseded_vectors,
    index_version,
    reindex,
    set_index_version,
)
from wellkept.core.changes import IndexEntry
from wellkept.core.errors import ProviderError
from wellkept.core.memory import MemoryDraft
from wellkept.core.payloads import Json
from wellkept.core.query import Filter
from wellkept.core.types import MemoryType, Source
from wellkept.memory.engine import INDEX_VERSION
from wellkept.models.embedders.bundled_models import STATIC, SUPERSEDED
from wellkept.observe.ingest.drain import DrainReport
from wellkept.observe.observer.drain import summarize_and_learn
from wellkept.testing.fakes import WordEmbedder

pytestmark = pytest.mark.feature("B4")


def _drafts(count: int) -> list[MemoryDraft]:
    return [MemoryDraft(content=f"fact number {n}", session_id="s", seq=n) for n in range(count)]


def _here(project: str) -> Filter:
    return Filter(project=project)


def _models(folder: Path) -> dict[str, int]:
    with open_in(folder) as wk:
        return {share.model_id: share.count for share in wk.engine.store.vector_models()}


def test_a_store_that_is_up_to_date_is_left_alone(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder=WordEmbedder()) as wk:
        wk.remember_many(_drafts(3))
        assert wk.reindex().indexed == 0


def test_memories_kept_without_a_vector_get_one(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.remember_many(_drafts(PAGE + 3))
    told: list[tuple[int, int]] = []
    with open_in(tmp_path, embedder=WordEmbedder()) as wk:
        done = wk.reindex(progress=lambda now, total: told.append((now, total)))
    assert (done.indexed, done.dropped) == (PAGE + 3, 0)
    assert told[-1] == (PAGE + 3, PAGE + 3)
    assert _models(tmp_path) == {"words-256": PAGE + 3}


def test_a_change_of_model_takes_history_along_and_drops_the_old_vectors_last(
    tmp_path: Path,
) -> None:
    with open_in(tmp_path, embedder=WordEmbedder(model_id="old")) as wk:
        wk.remember("port 8080", key="port")
        wk.remember("port 9090", key="port")
        wk.remember("The vault holds the deploy key")
    with open_in(tmp_path, embedder=WordEmbedder(model_id="new")) as wk:
        done = wk.reindex()
        assert (done.model_id, done.indexed, done.dropped) == ("new", 3, 3)
        assert wk.reindex().indexed == 0
    assert _models(tmp_path) == {"new": 3}


def test_a_stopped_run_keeps_the_old_vectors_and_goes_on_where_it_ended(tmp_path: Path) -> None:
    count = 2 * PAGE + 10
    with open_in(tmp_path, embedder=WordEmbedder(model_id="old")) as wk:
        wk.remember_many(_drafts(count))
    failing = FailingEmbedder(texts=PAGE, model_id="new")
    with open_in(tmp_path, embedder=failing) as wk, pytest.raises(ProviderError):
        wk.reindex()
    assert _models(tmp_path) == {"old": count, "new": PAGE}
    with open_in(tmp_path, embedder=WordEmbedder(model_id="new")) as wk:
        done = wk.reindex()
    assert (done.indexed, done.resumed, done.dropped) == (count - PAGE, True, count)
    assert _models(tmp_path) == {"new": count}


def test_search_by_the_old_vectors_goes_on_meanwhile(tmp_path: Path) -> None:
    count = PAGE + 5
    found: list[int] = []

    def look(done: int, total: int) -> None:
        with open_in(tmp_path, embedder=WordEmbedder(model_id="old")) as other:
            found.append(len(other.recall("fact number", mode="vectors", limit=5)))

    with open_in(tmp_path, embedder=WordEmbedder(model_id="old")) as wk:
        wk.remember_many(_drafts(count))
    with open_in(tmp_path, embedder=WordEmbedder(model_id="new")) as wk:
        wk.reindex(progress=look)
        assert len(wk.recall("fact number", mode="vectors", limit=5)) == 5
    assert found == [5] * len(found)
    assert len(found) >= 2


def test_a_stopped_run_for_another_model_is_not_resumed(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder=WordEmbedder(model_id="old")) as wk:
        wk.remember_many(_drafts(PAGE + 1))
    failing = FailingEmbedder(texts=PAGE, model_id="new")
    with open_in(tmp_path, embedder=failing) as wk, pytest.raises(ProviderError):
        wk.reindex()
    with open_in(tmp_path, embedder=WordEmbedder(model_id="third")) as wk:
        done = wk.reindex()
        assert (done.indexed, done.resumed) == (PAGE + 1, False)
    assert _models(tmp_path) == {"third": PAGE + 1}


def test_a_kept_place_that_no_longer_makes_sense_means_beginning_again(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder=WordEmbedder()) as wk:
        wk.remember_many(_drafts(3))
        place: dict[str, Json] = {"version": INDEX_VERSION, "model": "words-256", "cursor": "?"}
        wk.engine.store.put_value("index", "reindex", place)
        assert wk.reindex().indexed == 3
        assert wk.engine.store.get_value("index", "reindex") is None


def test_texts_of_another_index_version_are_made_anew(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder=WordEmbedder()) as wk:
        memory = wk.remember("nothing telling", tags=["zebra"]).memory
        store = wk.engine.store
        vector = WordEmbedder().embed_query("nothing telling")
        store.put_index_entries([(memory.id, IndexEntry("", "words-256", vector))])
        store.put_value("index", "version", INDEX_VERSION + 7)
        assert wk.list(limit=1).total == 1
        assert store.search_fulltext(["zebra"], _here(wk.project), limit=5) == []
        assert wk.reindex().indexed == 1
        assert [h.id for h in store.search_fulltext(["zebra"], _here(wk.project), limit=5)] == [
            memory.id
        ]
        assert index_version(store) == INDEX_VERSION


def test_a_new_store_knows_its_index_version(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.remember("x")
        assert wk.engine.store.get_value("index", "version") == INDEX_VERSION
        set_index_version(wk.engine.store)
        assert index_version(wk.engine.store) == INDEX_VERSION


def test_what_is_not_embedded_by_rule_stays_without_a_vector(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.remember("commit abc", source=Source.COMMIT_AUTO.value)
        wk.remember("done", type=MemoryType.WORK_UNIT_OUTCOME.value, payload={"succeeded": True})
        wk.remember("plain")
    with open_in(tmp_path, embedder=WordEmbedder()) as wk:
        assert wk.reindex().indexed == 1
        assert wk.reindex(force=True).indexed == 3
        assert reindex(wk.engine).indexed == 0
    assert _models(tmp_path) == {"words-256": 1}


@pytest.mark.parametrize("former", sorted(SUPERSEDED))
def test_vectors_of_a_former_default_are_made_anew_without_asking(
    tmp_path: Path, former: str
) -> None:
    with open_in(tmp_path, embedder=WordEmbedder(model_id=former)) as wk:
        wk.remember("port 8080", key="port")
        wk.remember("port 9090", key="port")
    with open_in(tmp_path, embedder="static") as wk:
        assert has_superseded_vectors(wk.engine.store)
        assert summarize_and_learn(wk, DrainReport()).problems == ()
        assert not has_superseded_vectors(wk.engine.store)
        assert wk.fill_vectors() == 0
    assert _models(tmp_path) == {STATIC.model_id: 2}


def test_a_model_that_the_user_left_is_not_replaced_behind_their_back(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder=WordEmbedder(model_id="theirs")) as wk:
        wk.remember("port 8080")
    with open_in(tmp_path, embedder="static") as wk:
        assert wk.fill_vectors() == 0
    assert _models(tmp_path) == {"theirs": 1}
