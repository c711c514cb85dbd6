"""How many of our files one behaviour enters: `python -m scripts.walks [recall|cold|prompt …]`.

A file counts when a function of it runs, not when it is imported. `--files` names them. A walk is a
function that prepares and gives back what is traced. Everything happens in a home of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
_TASK = "Please add a discount for returning customers to the orders module"
_KNOWN = "Discounts are given in cents, never in percent"
_SETTINGS = {"WELLKEPT_EMBEDDING_PROVIDER": "none", "WELLKEPT_HOOK_TIMEOUT_MS": "60000"}
_CHILD = [sys.executable, "-c", "from scripts.walks import main; main()"]


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
    packages = f"{ROOT}/packages"
    return sorted(path.removeprefix(f"{ROOT}/") for path in seen if path.startswith(packages))


def recall(folder: Path) -> Callable[[], object]:
    """A question to an open memory that was asked one before."""
    import wellkept

    wk = wellkept.open(cwd=folder)
    wk.remember(_KNOWN, type="convention")
    wk.recall("how do we deploy")
    return lambda: wk.recall("how are discounts given")


def cold(folder: Path) -> Callable[[], object]:
    """`wellkept recall` in a process that has loaded nothing."""
    return _program(folder, "wellkept.api.cli", "wellkept", "recall", "how are discounts given")


def prompt(folder: Path) -> Callable[[], object]:
    """The hook at a prompt, answered in its own process."""
    told = {"hook_event_name": "UserPromptSubmit", "session_id": "w", "cwd": str(folder)}
    (folder / "payload").write_text(json.dumps({**told, "prompt": _TASK}))
    os.dup2(os.open(folder / "payload", os.O_RDONLY), 0)
    words = ("hook.py", "claude-code", "UserPromptSubmit", "both")
    return _program(folder, "wellkept.clients.hook", *words)


def _program(folder: Path, module: str, *words: str) -> Callable[[], object]:
    """A program of ours in this process: its words, its folder, its end."""
    known = [sys.executable, "-m", "wellkept.cli", "remember", _KNOWN]
    subprocess.run(known, cwd=folder, check=True, capture_output=True)

    def run() -> None:
        os.chdir(folder)
        sys.argv = list(words)
        os._exit = sys.exit
        with suppress(SystemExit):
            __import__(module, fromlist=["main"]).main()

    return run


def agent(folder: Path) -> Callable[[], object]:
    """One turn of an agent with memory, its session begun: a read, then the answer."""
    import wellkept
    from wellkept.testing import ScriptedModel
    from wellkept.testing.scripted_model import call, calls

    wk, loop = wellkept.open(cwd=folder), asyncio.new_event_loop()
    wk.remember(_KNOWN, type="convention")
    answers = ["Hello.", calls(call("Read", file_path="orders.py")), "Done."]
    session = wk.agent(ScriptedModel(answers)).session()
    loop.run_until_complete(session.run("Good morning"))
    return lambda: loop.run_until_complete(session.run(_TASK))


WALKS = {one.__name__: one for one in (recall, cold, prompt, agent)}


def main() -> None:
    """Print how many files each walk enters; several walks run in a process each."""
    names = [one for one in sys.argv[1:] if one in WALKS]
    more = [one for one in sys.argv[1:] if one not in WALKS]
    if len(names) != 1:
        for name in names or WALKS:
            subprocess.run([*_CHILD, name, *more], check=True, cwd=ROOT)
        return
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"WELLKEPT_HOME": home, **_SETTINGS}
        folder = Path(home) / "shop"
        folder.mkdir()
        (folder / "orders.py").write_text("def total(order):\n    return sum(order)\n")
        walk, shown = WALKS[names[0]](folder), os.dup(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        files = entered(walk)
        sys.stdout.flush()
        os.dup2(shown, 1)
        print(f"{names[0]:<8}{len(files):>5} files")
        print("".join(f"  {path}\n" for path in files if "--files" in more), end="")


if __name__ == "__main__":
    main()
