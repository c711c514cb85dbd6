"""`WellkeptSession`, held against the session that the Agents SDK ships, and recall as context."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from agents import Agent, SQLiteSession
from agents.memory import Session, SessionSettings
from agents.run import CallModelData, ModelInputData

import wellkept
from tests.integrations.conftest import FAKE_KEY
from wellkept import UsageError, Wellkept
from wellkept_adapters.openai_agents import WellkeptSession, recall_filter

pytestmark = pytest.mark.feature("I2")

ITEMS: list[Any] = [
    {"role": "user", "content": "Where do we deploy?"},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "docs"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "staging"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "To staging. "}]},
]


def test_it_does_what_the_session_of_the_sdk_does(wk: Wellkept) -> None:
    async def run(session: Session) -> list[Any]:
        seen: list[Any] = [await session.get_items(), await session.pop_item()]
        await session.add_items(ITEMS)
        await session.add_items([])
        seen += [await session.get_items(), await session.get_items(2), await session.get_items(0)]
        seen += [await session.pop_item(), await session.get_items(1)]
        await session.add_items(ITEMS[:1])
        seen.append(await session.get_items())
        await session.clear_session()
        seen.append(await session.get_items())
        return seen

    ours = WellkeptSession("s1", wk)
    assert isinstance(ours, Session)
    assert asyncio.run(run(ours)) == asyncio.run(run(SQLiteSession("s1")))
    assert wk.stats(validity="any").total == 0


def test_sessions_are_apart_and_go_on_in_the_next_process(tmp_path: Path) -> None:
    async def run() -> None:
        for _ in range(2):
            async with wellkept.open_async(tmp_path / "m.db", project="shop") as wk:
                await WellkeptSession("one", wk).add_items(ITEMS[:1])
                await WellkeptSession("two/ü", wk).add_items(ITEMS)
        async with wellkept.open_async(tmp_path / "m.db", project="shop") as wk:
            assert len(await WellkeptSession("one", wk).get_items()) == 2
            assert await WellkeptSession("two/ü", wk).get_items() == ITEMS * 2
            settings = SessionSettings(limit=3)
            limited = WellkeptSession("two/ü", wk, session_settings=settings)
            assert await limited.get_items() == ITEMS[1:]

    asyncio.run(run())


def test_many_writers_lose_nothing(wk: Wellkept) -> None:
    async def run() -> None:
        session = WellkeptSession("s", wk)
        given: list[Any] = [{"role": "user", "content": str(n)} for n in range(30)]
        await asyncio.gather(*(session.add_items([one]) for one in given))
        got = cast("list[Any]", await session.get_items())
        assert sorted(int(one["content"]) for one in got) == list(range(30))

    asyncio.run(run())


def test_what_is_kept_names_the_framework_and_no_secret(wk: Wellkept) -> None:
    async def run() -> None:
        session = WellkeptSession("s", wk)
        await session.add_items([{"role": "user", "content": f"use {FAKE_KEY}"}])
        assert FAKE_KEY not in str(await session.get_items())

    asyncio.run(run())
    (memory,) = wk.iterate()
    assert FAKE_KEY not in repr(memory)
    assert "openai-agents" in memory.tags
    assert memory.session_id == "s"
    with pytest.raises(UsageError, match="looks like a secret"):
        WellkeptSession(FAKE_KEY, wk)
    with pytest.raises(UsageError, match="is an object"):
        asyncio.run(WellkeptSession("s", wk).add_items(cast("Any", ["hello"])))


def test_recall_is_added_to_the_instructions_of_one_call(wk: Wellkept) -> None:
    wk.remember("We deploy to the staging cluster first", type="decision")
    session = WellkeptSession("s", wk)
    given: list[Any] = [{"role": "user", "content": "Where do we deploy?"}]

    async def told(items: list[Any]) -> ModelInputData:
        await session.add_items(items)
        data = CallModelData(ModelInputData(items, "Be brief."), Agent[None](name="a"), None)
        return await recall_filter(wk, session=session)(data)

    answer = asyncio.run(told(given))
    assert answer.input == given
    assert answer.instructions is not None
    assert answer.instructions.startswith("Be brief.")
    assert "We deploy to the staging cluster first" in answer.instructions
    assert "Where do we deploy?" not in answer.instructions
    silent = asyncio.run(told([{"role": "user", "content": "Qxzzv?"}]))
    assert silent.instructions == "Be brief."
