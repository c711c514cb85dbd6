"""The `Memory` with Mem0's methods: add, search, get, get_all, update, delete, history, reset."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wellkept
from tests.integrations.conftest import FAKE_KEY
from wellkept import UsageError, Wellkept
from wellkept_adapters.mem0 import AsyncMemory, Memory

pytestmark = pytest.mark.feature("I2")

ALICE: dict[str, Any] = {"user_id": "alice"}


@pytest.fixture
def memory(wk: Wellkept) -> Memory:
    return Memory(wellkept=wk)


def added(memory: Memory, text: str, **scope: Any) -> str:
    (one,) = memory.add(text, **(scope or ALICE))["results"]
    return one["id"]


def test_what_is_added_is_found_for_its_user_only(memory: Memory) -> None:
    name = added(memory, "I like pizza with mushrooms", user_id="alice", metadata={"kind": "food"})
    added(memory, "I like pizza with olives", user_id="bob")
    (found,) = memory.search("which pizza?", filters=ALICE)["results"]
    assert found["id"] == name
    assert found["memory"] == "I like pizza with mushrooms"
    assert found["user_id"] == "alice"
    assert found["metadata"] == {"kind": "food"}
    assert 0.1 <= found["score"] <= 1
    assert set(found) == {
        "id", "memory", "hash", "metadata", "score", "created_at", "updated_at", "user_id",
    }  # fmt: skip
    assert memory.search("pizza", filters={"user_id": "carol"})["results"] == []


def test_one_memory_and_all_of_them_have_the_shape_of_mem0(memory: Memory) -> None:
    name = added(memory, "I live in Bern")
    one = memory.get(name)
    assert one is not None
    assert one["score"] is None
    (listed,) = memory.get_all(filters=ALICE)["results"]
    assert listed == {key: value for key, value in one.items() if key != "score"}
    assert memory.get("0198-none") is None


def test_inferring_keeps_equal_statements_once_and_replaces_contradicted_ones(
    memory: Memory,
) -> None:
    name = added(memory, "The deploy branch is main")
    assert memory.add("The deploy branch is main", **ALICE) == {"results": []}
    (changed,) = memory.add("The deploy branch is now release, no longer main", **ALICE)["results"]
    assert (changed["id"], changed["event"]) == (name, "UPDATE")
    assert changed["previous_memory"] == "The deploy branch is main"
    assert memory.add("The deploy branch is main", user_id="bob")["results"][0]["event"] == "ADD"
    assert len(memory.get_all(filters=ALICE)["results"]) == 1


def test_messages_are_kept_as_they_are_without_inferring(memory: Memory) -> None:
    said = [
        {"role": "system", "content": "You are helpful"},
        {"role": "user", "content": "Hello", "name": "ann"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user"},
    ]
    results = memory.add(said, infer=False, run_id="r1", agent_id="a1")["results"]
    assert [(r["memory"], r["event"], r["role"], r["actor_id"]) for r in results] == [
        ("Hello", "ADD", "user", "ann"),
        ("Hi", "ADD", "assistant", None),
    ]
    both = memory.get_all(filters={"run_id": "r1", "agent_id": "a1", "role": "assistant"})
    assert [one["memory"] for one in both["results"]] == ["Hi"]


def test_a_model_can_be_plugged_in(wk: Wellkept) -> None:
    memory = Memory(wellkept=wk, extract=lambda said: [f"Said {len(said)} things", " "])
    assert [r["memory"] for r in memory.add([{"role": "user", "content": "x"}], **ALICE)["results"]]
    assert memory.get_all(filters=ALICE)["results"][0]["memory"] == "Said 1 things"


def test_an_update_keeps_the_id_and_the_history_tells_all(memory: Memory) -> None:
    name = added(memory, "I live in Bern", user_id="alice", metadata={"a": 1})
    assert memory.update(name, text="I live in Basel") == {
        "message": "Memory updated successfully!"
    }
    memory.update(name, metadata={"b": 2, "user_id": "mallory"})
    one = memory.get(name)
    assert one is not None
    assert (one["memory"], one["metadata"], one["user_id"]) == (
        "I live in Basel",
        {"a": 1, "b": 2},
        "alice",
    )
    assert one["created_at"] <= one["updated_at"]
    assert memory.delete(name) == {"message": "Memory deleted successfully!"}
    assert memory.get(name) is None
    rows = memory.history(name)
    assert [(r["event"], r["old_memory"], r["new_memory"]) for r in rows] == [
        ("ADD", None, "I live in Bern"),
        ("UPDATE", "I live in Bern", "I live in Basel"),
        ("UPDATE", "I live in Basel", "I live in Basel"),
        ("DELETE", "I live in Basel", None),
    ]
    assert {row["memory_id"] for row in rows} == {name}
    assert [row["is_deleted"] for row in rows] == [False, False, False, True]
    with pytest.raises(ValueError, match="not found"):
        memory.delete(name)
    with pytest.raises(ValueError, match="not found"):
        memory.update(name, text="x")


def test_without_history_a_deleted_memory_is_gone_for_good(wk: Wellkept) -> None:
    memory = Memory(wellkept=wk, keep_history=False)
    name = added(memory, "I live in Bern")
    memory.update(name, text="I live in Basel")
    memory.delete(name)
    assert memory.history(name) == []
    assert wk.stats(validity="any").total == 0


def test_delete_all_and_reset(memory: Memory, wk: Wellkept) -> None:
    wk.remember("A fact that is not Mem0's")
    for user in ("alice", "bob"):
        added(memory, "I live in Bern", user_id=user)
    memory.delete_all(user_id="alice")
    assert memory.get_all(filters=ALICE)["results"] == []
    assert len(memory.get_all(filters={"user_id": "bob"})["results"]) == 1
    memory.reset()
    assert [one.content for one in wk.iterate(validity="any")] == ["A fact that is not Mem0's"]


def test_filters_with_operators(memory: Memory) -> None:
    for n, text in enumerate(["one apple", "two pears", "three plums"]):
        memory.add(text, user_id="alice", metadata={"n": n, "tags": ["fruit", text.split()[1]]})

    def fitting(**condition: Any) -> list[str]:
        found = memory.get_all(filters={**ALICE, **condition})["results"]
        return [one["memory"] for one in found]

    assert fitting(n=1) == ["two pears"]
    assert fitting(n={"gte": 1}) == ["two pears", "three plums"]
    assert fitting(n={"in": [0, 2]}) == ["one apple", "three plums"]
    assert fitting(tags={"icontains": "PLUM"}) == ["three plums"]
    assert fitting(OR=[{"n": 0}, {"n": 1}]) == ["one apple", "two pears"]
    assert fitting(NOT=[{"n": 0}]) == ["two pears", "three plums"]
    assert fitting(missing="*") == []
    assert memory.search("fruit plums", filters={**ALICE, "n": {"gt": 1}})["results"][0][
        "memory"
    ] == ("three plums")
    with pytest.raises(ValueError, match="Unknown operator 'like'"):
        fitting(n={"like": 1})


def test_a_memory_that_has_ended_is_hidden(memory: Memory) -> None:
    memory.add("Old news about cats", user_id="alice", expiration_date="2001-01-01")
    assert memory.get_all(filters=ALICE)["results"] == []
    assert memory.search("cats", filters=ALICE)["results"] == []
    (shown,) = memory.get_all(filters=ALICE, show_expired=True)["results"]
    assert shown["expiration_date"] == "2001-01-01"
    memory.update(shown["id"], expiration_date=None)
    assert len(memory.get_all(filters=ALICE)["results"]) == 1


WRONG: list[tuple[Callable[[Any], object], str]] = [
    (lambda m: m.add("x"), "At least one of"),
    (lambda m: m.add("x", user_id=" "), "Invalid user_id"),
    (lambda m: m.add("x", user_id="a b"), "whitespace"),
    (lambda m: m.add(7, user_id="a"), "messages must be"),
    (lambda m: m.add("x", user_id="a", memory_type="odd"), "memory_type"),
    (lambda m: m.add("x", user_id="a", timestamp=1), "timestamp"),
    (lambda m: m.add("x", user_id="a", expiration_date="soon"), "YYYY-MM-DD"),
    (lambda m: m.search("x"), "filters must contain"),
    (lambda m: m.search("x", user_id="a"), "Use filters="),
    (lambda m: m.search(" ", filters=ALICE), "Invalid query"),
    (lambda m: m.search("x", filters=ALICE, threshold=2), "Invalid threshold"),
    (lambda m: m.get_all(filters=ALICE, top_k=-1), "Invalid top_k"),
    (lambda m: m.delete_all(), "reset"),
    (lambda m: m.update("x"), "At least one of"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "said"), WRONG)
def test_wrong_arguments_are_refused_as_mem0_refuses_them(
    memory: Memory, call: Any, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        call(memory)


def test_no_secret_is_kept_and_ids_that_look_like_one_are_refused(
    memory: Memory, wk: Wellkept
) -> None:
    memory.add(f"My key is {FAKE_KEY}", user_id="alice", metadata={"token": FAKE_KEY})
    assert FAKE_KEY not in "".join(map(repr, wk.iterate()))
    with pytest.raises(UsageError, match="looks like a secret"):
        memory.add("x", user_id=FAKE_KEY)


def test_an_empty_memory_answers_with_nothing(memory: Memory) -> None:
    assert memory.search("anything", filters=ALICE) == {"results": []}
    assert memory.get_all(filters=ALICE) == {"results": []}
    assert memory.history("nothing") == []
    memory.reset()


def test_the_asynchronous_class_has_the_same_methods(tmp_path: Path) -> None:
    def public(kind: type[object]) -> set[str]:
        return {n for n in dir(kind) if not n.startswith("_")}

    assert public(AsyncMemory) == public(Memory) - {"close"}

    async def run() -> None:
        async with wellkept.open_async(tmp_path / "m.db", project="shop") as wk:
            memory = AsyncMemory(wellkept=wk)
            assert inspect.iscoroutinefunction(memory.add)
            (one,) = (await memory.add("I live in Bern", **ALICE))["results"]
            assert (await memory.get(one["id"]) or {})["memory"] == "I live in Bern"
            await memory.update(one["id"], text="I live in Basel")
            assert len(await memory.history(one["id"])) == 2
            assert len((await memory.search("live in", filters=ALICE))["results"]) == 1
            await memory.delete_all(user_id="alice")
            await memory.reset()

    asyncio.run(run())


def test_a_config_of_mem0_is_taken_and_said_to_be_unused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    with Memory.from_config({"vector_store": {"provider": "qdrant"}}) as memory:
        assert memory.get_all(filters=ALICE) == {"results": []}
    assert "Mem0's config is not used" in caplog.text
