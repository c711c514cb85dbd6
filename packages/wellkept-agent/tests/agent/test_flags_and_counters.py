"""Feature flags and local counters (G11)."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from tests.agent.conftest import MakeSession
from wellkept.core.errors import UsageError
from wellkept.store import open_store
from wellkept_agent.counters import CounterReport, Counters, CountUsage, SkillCount
from wellkept_agent.events import MemoryInjected
from wellkept_agent.settings import FeatureFlags, load

pytestmark = pytest.mark.feature("G11")


def test_flags_come_from_the_environment() -> None:
    flags = load(
        FeatureFlags,
        values={"skills_auto_generate": True},
        environment={
            "WELLKEPT_AGENT_MEMORY_ENABLED": "off",
            "WELLKEPT_AGENT_SKILLS_AUTO_GENERATE": "false",
        },
    )
    assert not flags.memory_enabled
    assert not flags.skills_auto_generate
    with pytest.raises(UsageError, match="WELLKEPT_AGENT_MEMORY_MAX_INJECTED"):
        load(FeatureFlags, environment={"WELLKEPT_AGENT_MEMORY_MAX_INJECTED": "-1"})


def test_counts_outlive_the_process_and_add_up(tmp_path: Path) -> None:
    store = open_store(tmp_path / "wellkept.db")
    first, second = Counters(store), Counters(store)
    first.memories_injected(3)
    first.memories_extracted(2)
    second.memories_injected(4)
    first.skill_matched("release", 0.8)
    second.skill_matched("release", 0.6)
    first.flush()
    first.flush()
    second.flush()
    seen = Counters(store).report()
    assert (seen.memory_injected, seen.memory_extracted, seen.skill_matched) == (7, 2, 2)
    assert seen.skills == {"release": SkillCount(matched=2, mean_score=0.7, used=0)}


def test_many_sessions_at_once_lose_no_count(tmp_path: Path) -> None:
    store = open_store(tmp_path / "wellkept.db")

    def one() -> None:
        counters = Counters(store)
        for _ in range(5):
            counters.memories_injected(1)
            counters.flush()

    threads = [threading.Thread(target=one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counters(store).report().memory_injected == 30


def test_a_skill_was_of_use_when_the_session_took_fewer_steps_than_usual() -> None:
    counters = Counters()
    counters.session_ended(steps=10, skills=frozenset())
    counters.skill_matched("release", 0.9)
    counters.session_ended(steps=4, skills=frozenset({"release"}))
    counters.skill_matched("slow", 0.9)
    counters.session_ended(steps=30, skills=frozenset({"slow"}))
    seen = counters.report()
    assert seen.skill_used == 1
    assert seen.skills["release"].used == 1
    assert seen.skills["slow"].used == 0


def test_a_session_counts_what_it_was_told(make_session: MakeSession, tmp_path: Path) -> None:
    store = open_store(tmp_path / "wellkept.db")
    usage = CountUsage(Counters(store))
    session = make_session(["done"], capabilities=[usage])

    async def run() -> CounterReport:
        async with session:
            session.emit(MemoryInjected("prompt", "text", ("aaaa", "bbbb")))
            usage.matched("release", 0.5)
            await session.run("go")
        return Counters(store).report()

    seen = asyncio.run(run())
    assert (seen.memory_injected, seen.skill_matched, seen.sessions) == (2, 1, 1)
