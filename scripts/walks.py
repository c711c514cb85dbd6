"""How many of our files one behaviour enters: `python -m scripts.walks [agent|session|recall …]`.

A file counts when a function of it runs, not when it is imported. `--files` names them. A walk is a
function that prepares and gives back what is traced. Everything happens in a home of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = str(ROOT / "packages")
_TASK = "Please add a discount for returning customers to the orders module"


def entered(walk: Callable[[], object]) -> list[str]:
    """The files of ours whose functions ran meanwhile, in any thread."""
    seen: set[str] = set()

    def trace(frame: FrameType, _event: str, _argument: object) -> None:
        if frame.f_code.co_name != "<module>":
            seen.add(frame.f_code.co_filename)

    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        walk()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted(path.removeprefix(f"{ROOT}/") for path in seen if path.startswith(_PACKAGES))


def agent(folder: Path) -> Callable[[], object]:
    """One turn of an agent with memory, its session begun: a read, then the answer."""
    session, loop = _session(folder, ["Hello."])
    loop.run_until_complete(session.run("Good morning"))
    return lambda: loop.run_until_complete(session.run(_TASK))


def session(folder: Path) -> Callable[[], object]:
    """A whole session of an agent with memory: start, one turn, end with what is learned."""
    session, loop = _session(folder, [])

    async def whole() -> None:
        async with session:
            await session.run(_TASK)

    return lambda: loop.run_until_complete(whole())


def _session(folder: Path, first: list[Any]) -> tuple[Any, asyncio.AbstractEventLoop]:
    import wellkept
    from wellkept.testing import ScriptedModel
    from wellkept.testing.scripted_model import call, calls

    wk = wellkept.open(cwd=folder)
    wk.remember("Discounts are given in cents, never in percent", type="convention")
    answers = [*first, calls(call("Read", file_path="orders.py")), "Done."]
    return wk.agent(ScriptedModel(answers)).session(), asyncio.new_event_loop()


def recall(folder: Path) -> Callable[[], object]:
    """A question to an open memory that was asked one before."""
    import wellkept

    wk = wellkept.open(cwd=folder)
    wk.remember("Discounts are given in cents, never in percent", type="convention")
    wk.recall("how do we deploy")
    return lambda: wk.recall("how are discounts given")


WALKS = {one.__name__: one for one in (agent, session, recall)}


def main() -> None:
    """Print how many files each walk enters."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("walks", nargs="*", metavar="WALK", help=", ".join(WALKS))
    parser.add_argument("--files", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"WELLKEPT_HOME": home, "WELLKEPT_EMBEDDING_PROVIDER": "none"}
        for name in given.walks or WALKS:
            folder = Path(home) / name
            folder.mkdir()
            (folder / "orders.py").write_text("def total(order):\n    return sum(order)\n")
            files = entered(WALKS[name](folder))
            print(f"{name:<8}{len(files):>5} files")
            if given.files:
                print(*(f"  {path}" for path in files), sep="\n")


if __name__ == "__main__":
    main()
