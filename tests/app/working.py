"""Sessions as a client's hooks catch them, from the first prompt to the end, in a real spool."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import wellkept
from wellkept.api.learning import drain_and_learn
from wellkept.clients.registry import translate
from wellkept.core.ports.models import Embedder
from wellkept.core.session.events import Event
from wellkept.core.session.sessions import SpoolEntry
from wellkept.core.settings.model import Settings
from wellkept.core.skills import GeneratedSkill
from wellkept.observe.ingest.drain import DrainReport
from wellkept.store import spool

START_MS = 1_790_000_000_000
PASSED = "===== 3 passed in 0.02s ====="
QUIET = Settings(skills_generated="off")
ROUTE_SKILL = "add-api-route-discount-codes-shop"
FAILED = "E   AssertionError: 3 != 4\n===== 1 failed, 2 passed in 0.02s ====="


def events_of(entry: SpoolEntry, redact: object) -> Sequence[Event]:
    return translate(entry.client, entry.event, entry.payload, event_id=entry.event_id, at=entry.at)


class Desk:
    """A home, a project folder, and the sessions that somebody works in."""

    def __init__(self, folder: Path, *, project: str = "work") -> None:
        self.home, self.work = folder / "home", folder / project
        self.work.mkdir(parents=True, exist_ok=True)
        self.environment = {"WELLKEPT_HOME": str(self.home), "HOME": str(folder / "user")}
        self.now_ms = START_MS

    def open(
        self, *, settings: Settings | None = None, embedder: Embedder | str = "none"
    ) -> wellkept.Wellkept:
        return wellkept.open(
            cwd=self.work,
            embedder=embedder,
            settings=settings or Settings(),
            environment=self.environment,
        )

    def drain(self, wk: wellkept.Wellkept) -> DrainReport:
        return drain_and_learn(wk, translate=events_of, environment=self.environment)

    def session(self, name: str) -> Worker:
        return Worker(self, name)


class Worker:
    """One session of a coding client."""

    def __init__(self, desk: Desk, name: str) -> None:
        self.desk = desk
        self.name = name
        self._calls = 0

    def catch(self, event: str, **payload: object) -> None:
        self.desk.now_ms += 1000
        whole = {
            "session_id": self.name,
            "cwd": str(self.desk.work),
            "hook_event_name": event,
            **payload,
        }
        spool.append(
            str(self.desk.home / spool.FOLDER_NAME),
            client="claude-code",
            session=self.name,
            event=event,
            payload=json.dumps(whole).encode(),
            now_ms=self.desk.now_ms,
        )

    def prompt(self, text: str) -> Worker:
        self.catch("UserPromptSubmit", prompt=text)
        return self

    def read(self, path: str) -> Worker:
        return self._call("Read", {"file_path": str(self.desk.work / path)}, {"content": "x"})

    def edit(self, path: str, before: str, after: str) -> Worker:
        given = {
            "file_path": str(self.desk.work / path),
            "old_string": before,
            "new_string": after,
        }
        return self._call("Edit", given, {"filePath": path})

    def write(self, path: str, text: str) -> Worker:
        given = {"file_path": str(self.desk.work / path), "content": text}
        return self._call("Write", given, {"filePath": path})

    def run(self, command: str, output: str = "", *, fails: bool = False) -> Worker:
        given = {"command": command}
        if fails:
            self._calls += 1
            self.catch(
                "PostToolUseFailure",
                tool_name="Bash",
                tool_input=given,
                tool_use_id=f"{self.name}-{self._calls}",
                error=f"Exit code 1\n{output}",
            )
            return self
        return self._call("Bash", given, {"stdout": output, "stderr": ""})

    def skill(self, name: str) -> Worker:
        return self._call("Skill", {"skill": name}, {"success": True})

    def turn(self, words: str = "Done.") -> Worker:
        self.catch("Stop", last_assistant_message=words)
        return self

    def end(self) -> None:
        self.catch("SessionEnd", reason="exit")

    def _call(self, tool: str, given: dict[str, str], answer: object) -> Worker:
        self._calls += 1
        self.catch(
            "PostToolUse",
            tool_name=tool,
            tool_input=given,
            tool_response=answer,
            tool_use_id=f"{self.name}-{self._calls}",
        )
        return self


def add_route(worker: Worker, noun: str = "discount", *, ends: bool = True) -> Worker:
    """A task as it usually goes: a first try fails, then tests pass, then a commit."""
    worker.prompt(f"Add an API route for {noun} codes to the shop")
    worker.read("docs/routes.md")
    worker.write(f"src/shop/{noun}.py", f"def {noun}(code):\n    return 3\n")
    worker.edit("src/shop/routes.py", "ROUTES = []", f"ROUTES = ['{noun}']")
    worker.write(f"tests/test_{noun}.py", f"def test_{noun}():\n    assert {noun}('a') == 4\n")
    worker.run("python -m pytest -q tests", FAILED, fails=True)
    worker.edit(f"src/shop/{noun}.py", "return 3", "return 4")
    worker.run("python -m pytest -q tests", PASSED)
    worker.run(
        f'git add -A && git commit -m "Add {noun} codes"', f"[main abc1234] Add {noun} codes"
    )
    worker.turn("The route is there.")
    if ends:
        worker.end()
    return worker


def route_skill(desk: Desk, wk: wellkept.Wellkept) -> GeneratedSkill:
    """The skill that is made of one session in which a route was added."""
    add_route(desk.session("session-1"))
    desk.drain(wk)
    (skill,) = wk.skills.generate().made
    return skill
