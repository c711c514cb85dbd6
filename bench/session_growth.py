"""Room and time as sessions pile up: `python -m bench.session_growth [--sessions 200] [--json]`.

Each session has 300 events whose tools print 20 KB, all different. After each tenth of them the
database, its log and the drain time are measured, then one maintenance run. What is printed is not
kept: the store grows by what an observation says, not by what tools print. The plot goes to
`bench/out/session_growth.png`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from random import Random
from time import process_time

import wellkept
from bench import report
from bench.growth import draw
from bench.report import finish, machine, parser, resident_mb, say, table
from wellkept.api.learning import drain_and_learn
from wellkept.clients.registry import translate_spooled
from wellkept.core.codec import Json
from wellkept.core.settings.model import Settings
from wellkept.store import spool

_WORDS = ("cache", "parser", "ledger", "token", "worker", "schema", "router", "widget", "buffer")
_POINTS = 10


@dataclass(frozen=True, slots=True)
class Point:
    """What was measured after so many sessions."""

    sessions: int
    printed_mb: float
    database_mb: float
    log_mb: float
    drain_s: float
    maintain_s: float
    resident_mb: float

    def as_json(self) -> dict[str, Json]:
        """The figures."""
        return {name: round(getattr(self, name), 3) for name in self.__slots__}


class Writer:
    """Spools the events of made-up sessions as hooks would."""

    def __init__(self, state: Path, folder: Path, *, events: int, output_bytes: int) -> None:
        self._spool = str(state / spool.FOLDER_NAME)
        self._folder = folder
        self._events = events
        self._output_bytes = output_bytes
        self._random = Random(13)
        self._now_ms = 1_790_000_000_000
        self.printed_bytes = 0

    def session(self, number: int) -> None:
        """One session: prompts, reads, edits, commands that fail and pass."""
        self._session = f"growth-{number:05}"
        self._append("SessionStart", source="startup")
        for at in range(self._events - 2):
            if at % 60 == 0:
                self._append("UserPromptSubmit", prompt=f"Please change the {self._word()} {at}")
            elif at % 60 == 59:
                self._append("Stop", last_assistant_message=f"The {self._word()} is done.")
            else:
                self._tool(at)
        self._append("SessionEnd", reason="exit")

    def _tool(self, at: int) -> None:
        name = f"src/{self._word()}_{self._random.randrange(40)}.py"
        kind = at % 4
        if kind == 0:
            given = {"file_path": str(self._folder / name)}
            self._call("Read", given, {"type": "text", "file": {"content": self._printed()}})
        elif kind == 1:
            edit = {"old_string": self._word(), "new_string": self._word() * 3}
            self._call("Edit", {"file_path": str(self._folder / name), **edit}, {"ok": True})
        else:
            failed = kind == 2 and at % 20 == 2
            command = f"pytest tests/test_{self._word()}.py -k {at}"
            answer: dict[str, object] = {"stdout": self._printed(), "exit_code": int(failed)}
            self._call("Bash", {"command": command}, answer)

    def _printed(self) -> str:
        line = " ".join(self._random.choices(_WORDS, k=8))
        number = self._random.randrange(10**9)
        text = "\n".join(f"{line} {number + at}" for at in range(self._output_bytes // 70))
        self.printed_bytes += len(text)
        return text

    def _word(self) -> str:
        return self._random.choice(_WORDS)

    def _call(self, tool: str, given: dict[str, str], answer: dict[str, object]) -> None:
        self._append("PostToolUse", tool_name=tool, tool_input=given, tool_response=answer)

    def _append(self, event: str, **payload: object) -> None:
        self._now_ms += 1_000
        common = {
            "session_id": self._session,
            "cwd": str(self._folder),
            "hook_event_name": event,
            "tool_use_id": f"t{self._now_ms}",
        }
        spool.append(
            self._spool,
            client="claude-code",
            session=self._session,
            event=event,
            payload=json.dumps({**common, **payload}).encode(),
            now_ms=self._now_ms,
        )


def measure(root: Path, *, sessions: int, events: int, output_bytes: int) -> list[Point]:
    """Pile up sessions in a home of its own."""
    folder, home = root / "project", root / "home"
    folder.mkdir()
    environment = {"WELLKEPT_HOME": str(home), "HOME": str(root), "PATH": os.environ["PATH"]}
    writer = Writer(home, folder, events=events, output_bytes=output_bytes)
    points, done = list[Point](), 0
    with wellkept.open(
        cwd=folder, embedder="none", settings=Settings(), environment=environment
    ) as wk:
        step = max(1, sessions // _POINTS)
        for upto in range(step, sessions + 1, step):
            drained = 0.0
            for number in range(done, upto):
                writer.session(number)
                before = process_time()
                drain_and_learn(wk, translate=translate_spooled, environment=environment)
                drained += process_time() - before
            before = process_time()
            wk.maintain()
            database = wk.path
            log = database.with_name(f"{database.name}-wal")
            points.append(
                Point(
                    upto,
                    writer.printed_bytes / 1e6,
                    database.stat().st_size / 1e6,
                    log.stat().st_size / 1e6 if log.exists() else 0.0,
                    drained / (upto - done),
                    process_time() - before,
                    resident_mb(),
                )
            )
            done = upto
            say(f"session growth: {points[-1].as_json()}")
    return points


def main(arguments: Sequence[str]) -> int:
    """Measure, draw and print."""
    known = parser(__doc__)
    known.add_argument("--sessions", type=int, default=200)
    known.add_argument("--events", type=int, default=300)
    known.add_argument("--output-bytes", type=int, default=20_000)
    given = known.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        points = measure(
            Path(folder),
            sessions=given.sessions,
            events=given.events,
            output_bytes=given.output_bytes,
        )
    names = list(Point.__slots__)
    rows = [[f"{point.as_json()[name]}" for name in names] for point in points]
    report.OUT.mkdir(parents=True, exist_ok=True)
    pictures: list[str] = []
    numbers = [point.sessions for point in points]
    series = {
        "database MB": [point.database_mb for point in points],
        "log MB": [point.log_mb for point in points],
        "drain of a session, processor s": [point.drain_s for point in points],
        "maintenance, processor s": [point.maintain_s for point in points],
    }
    if find_spec("matplotlib") is not None:
        draw("session_growth.png", numbers, series, title="Sessions pile up", unit="MB or s")
        pictures.append("session_growth.png")
    figures: dict[str, Json] = {
        "machine": machine(),
        "points": [point.as_json() for point in points],
        "pictures": list(pictures),
    }
    finish("session_growth", figures, as_json=given.json, lines=table(names, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
