"""`WellkeptStore` as a LangGraph store: held against LangGraph's own `InMemoryStore`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, InvalidNamespaceError, Item, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

import wellkept
from tests.integrations.conftest import FAKE_KEY
from wellkept import UsageError, Wellkept
from wellkept_adapters.langgraph import WellkeptStore

pytestmark = pytest.mark.feature("I2")

LABELS = st.sampled_from(["users", "u1", "u2", "ü/ %", "memories"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["a", "b", "日本/x#y", "with blank"])
VALUES = st.none() | st.dictionaries(
    st.sampled_from(["n", "text", "inner"]),
    st.integers(-3, 3) | st.text("abc ü", max_size=5) | st.lists(st.integers(0, 2), max_size=2)
    | st.dictionaries(st.sampled_from(["x", "y"]), st.booleans(), max_size=2),
    max_size=3,
)  # fmt: skip
PUTS = st.lists(st.tuples(NAMESPACES, KEYS, VALUES), max_size=12)
FILTERS = st.sampled_from(
    [{"n": 1}, {"n": {"$ne": 1}}, {"text": {"$eq": "a"}}, {"inner": {"x": True}}, {"inner": [1]}]
)


def shape(items: Sequence[Item]) -> list[Any]:
    return sorted((item.namespace, item.key, str(item.value)) for item in items)


@given(PUTS, NAMESPACES, FILTERS)
@settings(max_examples=40)
def test_it_agrees_with_the_store_that_langgraph_ships(
    tmp_path_factory: pytest.TempPathFactory, puts: Any, prefix: Any, condition: Any
) -> None:
    folder = tmp_path_factory.mktemp("store")
    with wellkept.open(folder / "m.db", project="shop", cwd=folder, embedder="none") as wk:
        ours, theirs = WellkeptStore(wk), InMemoryStore()
        for namespace, key, value in puts:
            for store in (ours, theirs):
                store.batch([PutOp(namespace, key, value)])
        for namespace, key, _ in puts:
            mine, its = ours.get(namespace, key), theirs.get(namespace, key)
            assert (mine and mine.value) == (its and its.value)
        for many in ((prefix, None), (prefix[:1], None), (prefix[:1], condition), ((), condition)):
            asked: Any = {"filter": many[1], "limit": 100}
            assert shape(ours.search(many[0], **asked)) == shape(theirs.search(many[0], **asked))
        held = {item.namespace for item in theirs.search((), limit=100)}
        assert ours.list_namespaces() == sorted(held)
        assert ours.list_namespaces(suffix=("u1",)) == sorted(n for n in held if n[-1] == "u1")
        assert ours.list_namespaces(max_depth=1) == sorted({n[:1] for n in held})
        assert ours.list_namespaces(prefix=("users", "*")) == sorted(
            n for n in held if n[0] == "users" and len(n) > 1
        )


def test_a_question_finds_the_item_below_its_prefix_only(wk: Wellkept) -> None:
    store = WellkeptStore(wk)
    store.put(("users", "u1"), "food", {"text": "Prefers pizza with mushrooms"})
    store.put(("users", "u2"), "food", {"text": "Prefers pizza with olives"})
    store.put(("users", "u1"), "pet", {"text": "Has a dog called Rex"})
    best, *_ = store.search(("users", "u1"), query="which pizza?")
    assert (best.namespace, best.key) == (("users", "u1"), "food")
    assert best.score is not None
    assert {item.namespace for item in store.search(("users", "u1"), query="pizza")} == {
        ("users", "u1")
    }
    (only,) = store.search(("users",), query="pizza", filter={"text": {"$ne": best.value["text"]}},
                           limit=1)  # fmt: skip
    assert only.value["text"] == "Prefers pizza with olives"


def test_pages_have_no_gaps_and_no_repeats(wk: Wellkept) -> None:
    store = WellkeptStore(wk)
    for n in range(25):
        store.put(("log",), str(n), {"n": n})
    pages = [store.search(("log",), limit=10, offset=at) for at in (0, 10, 20)]
    assert sorted(item.value["n"] for page in pages for item in page) == list(range(25))
    newest = pages[0][0]
    assert newest.value["n"] == 24


def test_index_says_what_an_item_is_found_by(wk: Wellkept) -> None:
    store = WellkeptStore(wk)
    store.put(("a",), "title", {"title": "Kubernetes notes", "body": "about cats"}, index=["title"])
    store.put(("a",), "none", {"body": "about dogs"}, index=False)
    kept = {memory.content for memory in wk.iterate()}
    assert kept == {"Kubernetes notes", "none"}
    item = store.get(("a",), "title")
    assert item is not None
    assert item.value["body"] == "about cats"


def test_a_batch_reads_before_it_writes_and_the_last_write_wins(wk: Wellkept) -> None:
    store = WellkeptStore(wk)
    assert store.batch(
        [
            PutOp(("a",), "k", {"n": 1}),
            GetOp(("a",), "k"),
            PutOp(("a",), "k", {"n": 2}),
            SearchOp(("a",)),
        ]
    ) == [None, None, None, []]
    item = store.get(("a",), "k")
    assert item is not None
    assert item.value == {"n": 2}


def test_the_first_time_stays_when_an_item_is_put_again(wk: Wellkept) -> None:
    store = WellkeptStore(wk)
    store.put(("a",), "k", {"n": 1})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"n": 2})
    store.put(("a",), "k", {"n": 3})
    last = store.get(("a",), "k")
    assert first is not None
    assert last is not None
    assert last.created_at == first.created_at
    assert last.updated_at >= first.updated_at


def test_deleting_removes_every_version_for_good(wk: Wellkept) -> None:
    store = WellkeptStore(wk)
    for n in range(3):
        store.put(("a",), "k", {"n": n})
    store.put(("a",), "other", {"n": 0})
    store.delete(("a",), "k")
    store.delete(("a",), "k")
    assert [item.key for item in store.search(("a",))] == ["other"]
    assert wk.stats(validity="any").total == 1


def test_what_is_kept_names_the_framework_and_holds_no_secret(wk: Wellkept) -> None:
    store = WellkeptStore(wk)
    store.put(("users", "u1"), "k", {"text": f"the key is {FAKE_KEY}", "token": FAKE_KEY})
    (memory,) = wk.iterate()
    assert FAKE_KEY not in repr(memory)
    assert "langgraph" in memory.tags
    assert memory.evidence[0].ref.startswith("langgraph:users/u1#")
    assert memory.project == wk.project
    item = store.get(("users", "u1"), "k")
    assert FAKE_KEY not in str(item)


def test_names_and_values_that_cannot_be_kept_are_refused(wk: Wellkept) -> None:
    store = WellkeptStore(wk)
    with pytest.raises(UsageError, match="looks like a secret"):
        store.put(("a",), FAKE_KEY, {"n": 1})
    with pytest.raises(UsageError, match="is not JSON"):
        store.put(("a",), "k", {"when": object()})
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "k", {"n": 1})])
    store.put(("a",), "k", {"n": 1})
    with pytest.raises(ValueError, match=r"Unknown operator '\$like'"):
        store.search(("a",), filter={"n": {"$like": 1}})
    with pytest.raises(NotImplementedError):
        store.put(("a",), "k", {"n": 1}, ttl=5)


def test_long_names_are_kept_whole(wk: Wellkept) -> None:
    store = WellkeptStore(wk)
    long = ("tenant", "x" * 450, "memories")
    store.put(long, "k" * 600, {"n": 1})
    item = store.get(long, "k" * 600)
    assert item is not None
    assert item.namespace == long
    assert [one.key for one in store.search(long[:2])] == ["k" * 600]
    assert store.list_namespaces() == [long]


def test_upkeep_neither_merges_nor_deletes_items(wk: Wellkept) -> None:
    store = WellkeptStore(wk)
    for name in ("a", "b"):
        store.put(("same",), name, {"text": "Deploys go through staging first"})
    for memory in wk.iterate():
        wk.edit(memory.id, importance=0.001, confidence=0.01)
    wk.compact()
    wk.prune()
    assert len(store.search(("same",))) == 2


def test_projects_do_not_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with (
        wellkept.open(path, project="one") as one,
        wellkept.open(path, project="two") as two,
    ):
        WellkeptStore(one).put(("a",), "k", {"text": "only here"})
        other = WellkeptStore(two)
        assert other.get(("a",), "k") is None
        assert other.search((), query="only here") == []
        assert other.list_namespaces() == []


def test_the_asynchronous_half_works_the_same(wk: Wellkept) -> None:
    async def run() -> None:
        store = WellkeptStore(wk)
        await asyncio.gather(*(store.aput(("a",), str(n), {"n": n}) for n in range(20)))
        assert len(await store.asearch(("a",), limit=50)) == 20
        item = await store.aget(("a",), "7")
        assert item is not None
        assert item.value == {"n": 7}
        await store.adelete(("a",), "7")
        assert await store.aget(("a",), "7") is None
        assert await store.alist_namespaces() == [("a",)]

    asyncio.run(run())


def test_two_processes_write_the_same_keys(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    program = (
        "import sys, wellkept\n"
        "from wellkept_adapters.langgraph import WellkeptStore\n"
        "with wellkept.open(sys.argv[1], project='shop', embedder='none') as wk:\n"
        "    store = WellkeptStore(wk)\n"
        "    for n in range(30):\n"
        "        store.put(('a',), str(n % 10), {'n': n, 'by': sys.argv[2]})\n"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", program, str(path), name], cwd=tmp_path)
        for name in ("x", "y")
    ]
    assert [process.wait(120) for process in both] == [0, 0]
    with wellkept.open(path, project="shop", embedder="none") as wk:
        found = WellkeptStore(wk).search(("a",), limit=100)
        assert sorted(item.key for item in found) == sorted(map(str, range(10)))
        assert {item.value["n"] for item in found} == set(range(20, 30))
