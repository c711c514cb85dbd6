"""Opens homes that a power cut left, with the build of Wellkept that it is run with, and tells what
is in them: `python -m bench.disk_judge` reads folders, one a line, and answers each with a line."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import wellkept
from wellkept.clients.registry import translate_spooled
from wellkept.core.codec import Json
from wellkept.core.errors import WellkeptError
from wellkept.core.query import Filter, Validity
from wellkept.core.settings.model import Settings
from wellkept.core.types import MemoryType, Severity
from wellkept.observe.observer.drain import drain_spool
from wellkept.store import spool

_MARK = re.compile(r"\b[ps]\d{7}\b")
_SENT = (MemoryType.PROMPT, MemoryType.FACT)


def main() -> None:
    """Answer until there is nothing more to look at."""
    for line in sys.stdin:
        print(json.dumps(judged(Path(line.rstrip("\n")))), flush=True)


def judged(root: Path) -> dict[str, Json]:
    """What is in the memory and how often, what is in copies beside it, and what is wrong."""
    home = root / "home"
    for path in (home / spool.FOLDER_NAME).glob("*"):
        os.utime(path, (1.0, 1.0))
    try:
        names, wrong = _opened(home)
    except (WellkeptError, sqlite3.Error, OSError) as error:
        names, wrong = Counter[str](), [f"cannot be opened: {error}"]
    copies: list[Json] = []
    for copy in (*home.glob("memory.db.before-*"), *root.glob("backups/*.db")):
        if copy.name.endswith(("-wal", "-journal", ".partial")):
            continue
        try:
            copies += _copied(copy)
        except sqlite3.Error as error:
            wrong.append(f"{copy.name} cannot be read: {error}")
    return {"names": dict(names), "copies": copies, "wrong": [*wrong]}


def _opened(home: Path) -> tuple[Counter[str], list[str]]:
    environment = {"WELLKEPT_HOME": str(home), "HOME": str(home.parent)}
    settings = Settings(embedding_provider="none")
    with wellkept.open(
        home / "memory.db", cwd=home.parent, settings=settings, environment=environment
    ) as wk:
        drained = drain_spool(
            wk.engine, settings, translate=translate_spooled, environment=environment
        )
        wrong = [*drained.problems, *(f"set aside: {one.reason}" for one in drained.set_aside)]
        everything = Filter(project=None, types=_SENT, validity=Validity.ANY, archived=None)
        names = _names(memory.content for memory in wk.engine.store.iterate(everything))
        found = wk.engine.store.check(deep=True)
        wrong += [str(one) for one in found if one.severity is Severity.ERROR]
    return names, wrong


def _copied(path: Path) -> list[Json]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        return [*_names(str(row[0]) for row in db.execute("SELECT content FROM memories"))]


def _names(contents: Iterable[str]) -> Counter[str]:
    return Counter(name for content in contents for name in _MARK.findall(content)[:1])


if __name__ == "__main__":
    main()
