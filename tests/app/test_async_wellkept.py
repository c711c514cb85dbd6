"""`AsyncWellkept`: the same verbs, awaited; cancelled calls; closing."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import wellkept
from wellkept import AsyncWellkept, UsageError, Wellkept

pytestmark = pytest.mark.feature("I2")


def verbs(kind: object) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def opened(folder: Path) -> AsyncWellkept:
    return wellkept.open_async(folder / "memory.db", project="shop", embedder="none")


def test_the_two_classes_have_the_same_verbs_with_the_same_signatures(tmp_path: Path) -> None:
    methods = {name for name in verbs(Wellkept) if callable(getattr(Wellkept, name))}
    nouns = {"admin", "config", "graph", "page", "session", "skill"}
    assert methods == verbs(AsyncWellkept) - {"run", "sync", "path", "settings"} - nouns

    wk = opened(tmp_path)
    for noun in nouns:
        assert verbs(getattr(wk, noun)) == verbs(getattr(wk.sync, noun))
    for name in methods - {"close"}:
        mine, theirs = getattr(wk, name), getattr(wk.sync, name)
        bound = inspect.signature(theirs)
        own = [one for one in inspect.signature(mine).parameters if one not in ("self", "wk")]
        assert own == [one for one in bound.parameters if one != "wk"]
        assert mine.__doc__ == theirs.__doc__
    assert inspect.signature(wellkept.open_async) == inspect.signature(wellkept.open)


def test_remember_recall_list_and_forget(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path) as wk:
            kept = await wk.remember("Amounts are in cents", type="convention")
            assert [hit.memory.id for hit in await wk.recall("amounts in cents")] == [
                kept.memory.id
            ]
            assert [one.content for one in await wk.list(types="convention")] == [
                "Amounts are in cents"
            ]
            assert [one.id async for one in wk.iterate()] == [kept.memory.id]
            await wk.forget(kept.memory.id)
            assert (await wk.stats()).total == 0
            assert await wk.run(lambda sync: sync.project_name) == "shop"

    asyncio.run(run())


def test_errors_are_those_of_the_other_class(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path) as wk:
            with pytest.raises(wellkept.NotFoundError):
                await wk.get("nothing")
            with pytest.raises(TypeError, match="Did you mean 'tags'"):
                await wk.remember("x", tag="y")  # pyright: ignore[reportCallIssue]

    asyncio.run(run())


def test_iterating_reads_in_pieces_and_may_stop_early(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path) as wk:
            await wk.remember_many([f"Fact number {n}" for n in range(250)], merge_similar=False)
            assert len([one async for one in wk.iterate()]) == 250
            async for one in wk.iterate():
                assert one.content == "Fact number 0"
                break
            assert (await wk.stats()).total == 250

    asyncio.run(run())


def test_a_cancelled_call_that_has_begun_is_finished_before_closing(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(wk: Wellkept) -> None:
        begun.set()
        go_on.wait(30)
        wk.remember("Written all the same")

    async def run() -> None:
        wk = opened(tmp_path)
        task = asyncio.create_task(wk.run(slow))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await wk.stats()).total == 0
        closing = asyncio.create_task(wk.close())
        await asyncio.sleep(0)
        assert not closing.done()
        go_on.set()
        await closing
        with pytest.raises(UsageError, match="closed"):
            await wk.stats()
        await wk.close()

    asyncio.run(run())
    with wellkept.open(tmp_path / "memory.db", project="shop", embedder="none") as wk:
        assert [one.content for one in wk.iterate()] == ["Written all the same"]


def test_a_cancelled_call_that_waits_never_happens(tmp_path: Path) -> None:
    go_on = threading.Event()

    async def run() -> None:
        async with opened(tmp_path) as wk:
            busy = [asyncio.create_task(wk.run(lambda _: go_on.wait(30))) for _ in range(4)]
            await asyncio.sleep(0)
            waiting = asyncio.create_task(wk.remember("Never written"))
            await asyncio.sleep(0)
            waiting.cancel()
            go_on.set()
            await asyncio.gather(*busy)
            assert (await wk.stats()).total == 0

    asyncio.run(run())


def test_many_calls_at_once_share_one_small_pool(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path) as wk:
            await asyncio.gather(*(wk.remember(f"The port of part {n} is {n}") for n in range(40)))
            names = await asyncio.gather(
                *(wk.run(lambda _: threading.current_thread().name) for _ in range(40))
            )
            assert len(set(names)) <= 4
            assert (await wk.stats()).total == 40

    asyncio.run(run())


def test_a_type_checker_knows_arguments_and_results(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import wellkept\n"
        "async def main() -> None:\n"
        "    async with wellkept.open_async() as wk:\n"
        "        kept = await wk.remember('x', tags=['a'])\n"
        "        reveal_type(kept)\n"
        "        reveal_type(await wk.recall('x', limit=3))\n"
        "        await wk.remember('x', tagz=['a'])\n",
        "utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert 'Type of "kept" is "RememberResult"' in done.stdout, done.stdout
    assert '"RecallResult"' in done.stdout
    assert 'No parameter named "tagz"' in done.stdout
