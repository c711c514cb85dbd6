"""Plays `marina.json`: hook payloads into the spool, answers of hooks, drains.

The file has a repository and what was done in it, session by session. A step is a kind (prompt,
read, edit, run, fail, browser, keep, commit or say) and its texts: of a browser's tool the name,
the result and the input; of what the agent keeps the text, the type and the file. The store is
written by drains and by the commands in prompts only. The clock of a session is the time of its
events.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

import wellkept
from wellkept.api.hook_context import HookContextProvider, open_existing
from wellkept.api.learning import drain_and_learn
from wellkept.clients.answers.injection_spool import InjectionSpool, ShownItems
from wellkept.clients.answers.responder import HookResponder
from wellkept.clients.registry import translate_spooled
from wellkept.core.records import record
from wellkept.observe.observer.spool_folder import SpoolFolder

_DAYS: Final = 28
_BUSY_MS: Final = 5_000
_CLIENT: Final = "claude-code"
_TOOLS: Final = {"read": "Read", "edit": "Edit", "run": "Bash", "fail": "Bash", "commit": "Bash"}
_AUTHOR: Final = ("Robin Vester", "robin@harbour.example")


@record(kw_only=True)
class DemoReport:
    """What was made."""

    project: Path
    home: Path
    sessions: int
    events: int
    memories: int
    lines_given: int


class DemoSession(NamedTuple):
    """A session: days before today, hour, branch and steps."""

    days_ago: int
    hour: int
    branch: str
    steps: list[list[str]]
    ends: bool = True


def demo_sessions(*, seed: int) -> list[DemoSession]:
    """The sessions, oldest first; the last one is still open.

    The seed chooses days and hours, never what is true: two demos of one seed and day are alike.
    """
    chance = random.Random(seed)
    work = _story()["sessions"]
    last = len(work) - 1
    days = sorted(chance.sample(range(1, _DAYS), k=min(last - 1, _DAYS - 1)), reverse=True)
    days += [0] * (len(work) - len(days))
    return [
        DemoSession(
            days_ago=day,
            hour=chance.choice((8, 9, 10, 13, 14, 15)) if day else 5 + number - last,
            branch=one["branch"],
            steps=one["steps"],
            ends=number != last,
        )
        for number, (day, one) in enumerate(zip(days, work, strict=True))
    ]


def make_demo(
    folder: Path,
    *,
    seed: int = 1,
    now: datetime | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> DemoReport:
    """Make the project and its memory in a folder that is empty or missing."""
    now = (now or datetime.now(UTC)).replace(microsecond=0)
    replay = _Replay(folder / "harbour", folder / "home", at=now - timedelta(days=_DAYS + 1))
    sessions = demo_sessions(seed=seed)
    try:
        replay.begin()
        for number, one in enumerate(sessions):
            if progress:
                progress(number, len(sessions))
            replay.session(one, number=number, seed=seed, now=now)
        return replay.finish(now, sessions=len(sessions))
    finally:
        replay.close()
        if progress:
            progress(len(sessions), len(sessions))


def _story() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("marina.json").read_text("utf-8"))


class _Replay:
    """One project, its memory, and the hooks of a client in it."""

    def __init__(self, root: Path, home: Path, *, at: datetime) -> None:
        self._root = root
        self._home = home
        self._now = at
        self._environment = {"WELLKEPT_HOME": str(home)}
        self._spool = SpoolFolder.of(self._environment)
        self._events = 0
        self._context = HookContextProvider(
            lambda folder: open_existing(
                folder, environment=self._environment, busy_timeout_ms=_BUSY_MS, with_skills=True
            )
        )
        self._wk: wellkept.Wellkept | None = None

    @property
    def wk(self) -> wellkept.Wellkept:
        """The memory, opened on first use."""
        if self._wk is None:
            self._wk = wellkept.open(
                cwd=self._root, clock=lambda: self._now, environment=self._environment
            )
        return self._wk

    def begin(self) -> None:
        """Write the repository, then what a first `wellkept init` does."""
        self._root.mkdir(parents=True)
        self._git("init", "-q", "-b", "main")
        for name, text in _story()["files"].items():
            path = self._root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self._commit("start: bookings, billing, tides and a web app")
        self.wk.import_repository()
        self.wk.graph.build()

    def session(self, session: DemoSession, *, number: int, seed: int, now: datetime) -> None:
        """One session, event by event, then a drain."""
        day = now - timedelta(days=session.days_ago)
        self._now = day.replace(hour=session.hour, minute=(number * 7) % 60, second=0)
        if session.days_ago == 0:
            self._now = now - timedelta(hours=3 if session.ends else 1)
        self._git("checkout", "-q", "-B", session.branch)
        name = str(UUID(int=(seed << 64) + number + 1))
        responder = HookResponder(
            self._context,
            shown=ShownItems(self._home),
            log=InjectionSpool(str(self._home)),
            clock=lambda: self._now,
        )

        def hook(event: str, **fields: object) -> None:
            common = {"session_id": name, "cwd": str(self._root), "hook_event_name": event}
            payload = json.dumps(common | fields).encode()
            self._spool.add(
                client=_CLIENT, session=name, event=event, payload=payload, at=self._now
            )
            self._events += 1
            responder(_CLIENT, event, payload)
            self._now += timedelta(seconds=41)

        hook("SessionStart", source="startup", model="demo-model")
        for count, step in enumerate(session.steps):
            for event, fields in self._events_of(*step, call=f"t{number}-{count}", session=name):
                hook(event, **fields)
        if session.ends:
            hook("SessionEnd", reason="prompt_input_exit")
        drain_and_learn(self.wk, translate=translate_spooled, environment=self._environment)

    def finish(self, now: datetime, *, sessions: int) -> DemoReport:
        """Bring the code graph up to date and count."""
        self._now = now
        self._git("checkout", "-q", "-B", "main")
        self.wk.graph.build()
        self.wk.fill_vectors()
        return DemoReport(
            project=self._root,
            home=self._home,
            sessions=sessions,
            events=self._events,
            memories=self.wk.health().totals.total,
            lines_given=self.wk.injected.totals().lines,
        )

    def close(self) -> None:
        """Close what was opened."""
        self._context.close()
        if self._wk is not None:
            self._wk.close()

    def _events_of(
        self, kind: str, text: str, more: str = "", given: str = "", *, call: str, session: str
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        if kind == "prompt":
            yield "UserPromptSubmit", {"prompt": text}
        elif kind == "say":
            yield "Stop", {"last_assistant_message": text}
        elif kind == "keep":
            # What the agent keeps by itself, through the MCP tool.
            self.wk.remember(text, type=more, files=[given], session=session)
        elif kind == "fail":
            fields = {"tool_input": {"command": text}, "error": f"Exit code 1\n{more}"}
            yield "PostToolUseFailure", {"tool_name": "Bash", "tool_use_id": call, **fields}
        else:
            name = _TOOLS.get(kind, f"mcp__playwright__{text}")
            asked, answer = self._tool(kind, text, more, given)
            fields = {"tool_input": asked, "tool_response": answer}
            yield "PostToolUse", {"tool_name": name, "tool_use_id": call, **fields}

    def _tool(self, kind: str, text: str, more: str, given: str) -> tuple[object, object]:
        """A tool's input and its answer, after it was done."""
        path = self._root / text
        match kind:
            case "read":
                return {"file_path": str(path)}, {"file": {"content": path.read_text("utf-8")}}
            case "edit":
                before = path.read_text("utf-8")
                path.write_text(before + more, encoding="utf-8")
                last = before.splitlines(keepends=True)[-1]
                edit = {"old_string": last, "new_string": last + more}
                return {"file_path": str(path), **edit}, {"filePath": str(path)}
            case "commit":
                said = f"[main {self._commit(text)}] {text}"
                return {"command": f'git commit -am "{text}"'}, {"stdout": said, "stderr": ""}
            case "browser":
                return json.loads(given), [{"type": "text", "text": more}]
            case _:
                return {"command": text}, {"stdout": more, "stderr": ""}

    def _commit(self, message: str) -> str:
        """Commit everything at this moment; returns the short id."""
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", message)
        return self._git("rev-parse", "--short", "HEAD")

    def _git(self, *arguments: str) -> str:
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self._root.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        for who in ("AUTHOR", "COMMITTER"):
            environment[f"GIT_{who}_NAME"], environment[f"GIT_{who}_EMAIL"] = _AUTHOR
            environment[f"GIT_{who}_DATE"] = self._now.isoformat()
        done = subprocess.run(
            ["git", *arguments], cwd=self._root, env=environment, check=True, capture_output=True
        )
        return done.stdout.decode().strip()
