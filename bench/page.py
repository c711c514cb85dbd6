"""The page in a real browser on a large store: size, scrolling, search as you type.

    scripts/page build && python -m bench.page --rows 100000

A store of made-up notes (`bench.corpus`), found by words and by the model that ships, is served by
`wellkept serve`; Chromium opens the page (`bench/page_browser.mjs`) and its own clocks measure.
Beside the frames stands an empty page in the same browser, scrolled the same way. On a busy machine
the processor time of the server and of the page's main thread says more than the clock. Needs
Chromium, and Node with `web/node_modules` (`scripts/page build` installs both).
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import wellkept
from bench.corpus import Corpus
from bench.report import Target, finish, machine, parser, ratio, say, timed
from wellkept.core.changes import IndexEntry, Insert
from wellkept.core.codec import Json
from wellkept.core.records import replace

ROOT: Final = Path(__file__).parent.parent
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
MAX_VIEW_KB: Final = 300
MAX_SEARCH_MS: Final = 100
FRAMES_A_SECOND: Final = 60
_START_S: Final = 60
_RUN_S: Final = 420


def fill(folder: Path, rows: int) -> dict[str, Json]:
    """A project with so many notes, indexed for the model that ships."""
    (folder / "project").mkdir()
    with wellkept.open(folder / "memory.db", cwd=folder / "project", embedder="static") as wk:
        written = 0.0
        for block in Corpus().batches(rows):
            inserts = [
                Insert(replace(one, project=wk.project), IndexEntry("", None, None))
                for one in block.memories
            ]
            written += timed(lambda inserts=inserts: wk.engine.store.apply(inserts))
        indexed = timed(wk.reindex)
    return {"rows": rows, "written_s": round(written, 1), "indexed_s": round(indexed, 1)}


@dataclass(frozen=True, slots=True)
class Served:
    """A running server: where it answers, its token, and its process."""

    address: str
    token: str
    server: int


@contextmanager
def served(folder: Path) -> Generator[Served]:
    """A server on that store."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        **os.environ,
        "WELLKEPT_HOME": str(folder),
        "HOME": str(folder),
        "WELLKEPT_EMBEDDING_PROVIDER": "static",
    }
    command = [str(ROOT / ".venv/bin/wellkept"), "serve", "--port", str(port)]
    server = subprocess.Popen(command, env=env, cwd=folder / "project", stdout=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(f"{address}/api/health", server)
        token = (folder / "server.token").read_text("utf-8").strip()
        yield Served(address, token, server.pid)
    finally:
        server.terminate()
        server.wait(timeout=20)


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise SystemExit("The server did not start.")


def browse(at: Served, *, browser: str, queries: Sequence[str]) -> dict[str, Any]:
    """What the browser measured."""
    own = ROOT / ".venv/node/node"
    program = str(own) if own.exists() else shutil.which("node")
    if not program:
        raise SystemExit("There is no Node. Run `scripts/page build` first.")
    asked = {**asdict(at), "browser": browser, "queries": list(queries)}
    done = subprocess.run(
        [program, str(Path(__file__).with_name("page_browser.mjs")), json.dumps(asked)],
        stdout=subprocess.PIPE,
        text=True,
        timeout=_RUN_S,
        check=True,
    )
    return json.loads(done.stdout)


def targets(seen: Mapping[str, Any]) -> list[Target]:
    """What the page promises."""
    scroll, empty = seen["scroll"], seen["empty"]["scroll"]
    quiet, after = seen["typing"], seen["typing_after_write"]
    return [
        Target("default view, KB over the wire", MAX_VIEW_KB, seen["health"]["kb"]),
        Target("search, ms of the server's processor", MAX_SEARCH_MS, quiet["server_work_ms"]),
        Target("the same after a write", MAX_SEARCH_MS, after["server_work_ms"]),
        Target("search, ms until the answer, p95", MAX_SEARCH_MS, quiet["answer_ms_p95"]),
        Target("the same after a write, p95", MAX_SEARCH_MS, after["answer_ms_p95"]),
        Target("scrolling, ms of work a frame", 1000 / FRAMES_A_SECOND, scroll["work_ms_a_frame"]),
        Target(
            "frames a second, share of an empty page's",
            0.95,
            ratio(scroll["frames_a_second"], empty["frames_a_second"]),
            at_least=True,
        ),
        Target("rows in the document", 40, scroll["rows_in_document"]),
        Target("layout shift", 0.1, seen["health"]["layout_shift"]),
    ]


def main(arguments: Sequence[str] | None = None) -> dict[str, Json]:
    """Measure and print."""
    made = parser(__doc__)
    made.add_argument("--rows", type=int, default=100_000)
    made.add_argument("--queries", type=int, default=8)
    made.add_argument("--folder", type=Path, help="keep the store here and use it again")
    options = made.parse_args(arguments)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit("There is no Chromium; `scripts/page e2e` installs it on Debian.")
    with tempfile.TemporaryDirectory() as own:
        folder = options.folder or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        loaded: dict[str, Json] = {"rows": options.rows}
        if not (folder / "memory.db").exists():
            say(f"Writing {options.rows:,} memories …")
            loaded = fill(folder, options.rows)
        queries = [one.text for one in Corpus().queries(options.queries, rows=options.rows)]
        with served(folder) as at:
            say("Browsing …")
            seen = browse(at, browser=browser, queries=queries)
    goals = targets(seen)
    return finish(
        "page",
        {
            "machine": machine(),
            "store": loaded,
            "browser": seen,
            "targets": [one.as_json() for one in goals],
        },
        as_json=options.json,
        lines=[f"{one.name}: {one.measured} (wanted {one.limit:g})" for one in goals],
    )


if __name__ == "__main__":
    main()
