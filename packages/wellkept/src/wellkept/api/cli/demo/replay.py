"""Lets the demo's sessions happen: hook payloads into the spool, answers of hooks, drains.

The store is written by drains and by the commands in prompts only. The clock of a session is the
time of its events.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import wellkept
from wellkept.api.cli.demo.project import NAME, DemoProject
from wellkept.api.cli.demo.sessions import DAYS, DemoSession, Step, demo_sessions
from wellkept.api.hook_context import HookContextProvider, open_existing
from wellkept.clients.answers.injection_spool import InjectionSpool
from wellkept.clients.answers.responder import HookResponder
from wellkept.clients.answers.shown_items import ShownItems
from wellkept.clients.registry import translate_spooled
from wellkept.core.records import record
from wellkept.observe.observer.ingest import drain_and_learn
from wellkept.observe.observer.spool_folder import SpoolFolder

_BUSY_MS: Final = 5_000
_TOOLS: Final = {"read": "Read", "edit": "Edit", "run": "Bash", "fail": "Bash", "commit": "Bash"}


@record(kw_only=True)
class DemoReport:
    """What was made."""

    project: Path
    home: Path
    sessions: int
    events: int
    memories: int
    lines_given: int


class _Clock:
    """The time of the story."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def make_demo(
    folder: Path,
    *,
    seed: int = 1,
    now: datetime | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> DemoReport:
    """Make the project and its memory in a folder that is empty or missing."""
    now = (now or datetime.now(UTC)).replace(microsecond=0)
    home, project = folder / "home", DemoProject(folder / NAME)
    start = now - timedelta(days=DAYS + 1)
    project.create(at=start)
    replay = _Replay(project, home, _Clock(start))
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


class _Replay:
    """One project, its memory, and the hooks of a client in it."""

    def __init__(self, project: DemoProject, home: Path, clock: _Clock) -> None:
        self._project = project
        self._home = home
        self._clock = clock
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
                cwd=self._project.root, clock=self._clock, environment=self._environment
            )
        return self._wk

    def begin(self) -> None:
        """What a first `wellkept init` does: documents, history, code graph."""
        self.wk.import_repository()
        self.wk.graph.build()

    def session(self, session: DemoSession, *, number: int, seed: int, now: datetime) -> None:
        """One session, event by event, then a drain."""
        day = now - timedelta(days=session.days_ago)
        began = day.replace(hour=session.hour, minute=(number * 7) % 60, second=0)
        if session.days_ago == 0:
            began = now - timedelta(hours=3 if session.ends else 1)
        self._clock.now = began
        self._project.branch(session.branch, at=began)
        name = str(UUID(int=(seed << 64) + number + 1))
        responder = HookResponder(
            self._context,
            shown=ShownItems(self._home),
            log=InjectionSpool(str(self._home)),
            clock=self._clock,
        )

        def hook(event: str, **fields: object) -> None:
            payload = json.dumps(
                {
                    "session_id": name,
                    "cwd": str(self._project.root),
                    "hook_event_name": event,
                    **fields,
                }
            ).encode()
            self._spool.add(
                client=session.client,
                session=name,
                event=event,
                payload=payload,
                at=self._clock.now,
            )
            self._events += 1
            responder(session.client, event, payload)
            self._clock.now += timedelta(seconds=41)

        hook("SessionStart", source="startup", model="demo-model")
        for count, step in enumerate(session.steps):
            for event, fields in self._events_of(step, f"t{number}-{count}", name):
                hook(event, **fields)
        if session.ends:
            hook("SessionEnd", reason="prompt_input_exit")
        drain_and_learn(self.wk, translate=translate_spooled, environment=self._environment)

    def finish(self, now: datetime, *, sessions: int) -> DemoReport:
        """Bring the code graph up to date and count."""
        self._clock.now = now
        self._project.branch("main", at=now)
        self.wk.graph.build()
        self.wk.fill_vectors()
        return DemoReport(
            project=self._project.root,
            home=self._home,
            sessions=sessions,
            events=self._events,
            memories=self.wk.stats().total,
            lines_given=self.wk.injected.totals().lines,
        )

    def close(self) -> None:
        """Close what was opened."""
        self._context.close()
        if self._wk is not None:
            self._wk.close()

    def _keep(self, step: Step, session: str) -> None:
        """What the agent keeps by itself, through the MCP tool."""
        from wellkept.api.operations.inputs import RememberInput
        from wellkept.api.operations.memory import store

        kept = RememberInput(content=step.text, type=step.more, files=[step.given], session=session)
        store(self.wk, kept)

    def _events_of(
        self, step: Step, call: str, session: str
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        if step.kind == "prompt":
            yield "UserPromptSubmit", {"prompt": step.text}
        elif step.kind == "say":
            yield "Stop", {"last_assistant_message": step.text}
        elif step.kind == "browser":
            yield (
                "PostToolUse",
                {
                    "tool_name": f"mcp__playwright__{step.text}",
                    "tool_input": json.loads(step.given),
                    "tool_response": [{"type": "text", "text": step.more}],
                    "tool_use_id": call,
                },
            )
        elif step.kind == "keep":
            self._keep(step, session)
        else:
            yield self._tool(step, call)

    def _tool(self, step: Step, call: str) -> tuple[str, dict[str, Any]]:
        fields: dict[str, Any] = {"tool_name": _TOOLS[step.kind], "tool_use_id": call}
        match step.kind:
            case "read":
                path = self._project.root / step.text
                fields["tool_input"] = {"file_path": str(path)}
                fields["tool_response"] = {"file": {"content": path.read_text("utf-8")}}
            case "edit":
                path = self._project.root / step.text
                last = path.read_text("utf-8").splitlines(keepends=True)[-1]
                self._project.append(step.text, step.more)
                edit = {"old_string": last, "new_string": last + step.more}
                fields["tool_input"] = {"file_path": str(path), **edit}
                fields["tool_response"] = {"filePath": str(path)}
            case "commit":
                sha = self._project.commit(step.text, at=self._clock.now)
                fields["tool_input"] = {"command": f'git commit -am "{step.text}"'}
                fields["tool_response"] = {"stdout": f"[main {sha}] {step.text}", "stderr": ""}
            case "fail":
                fields["tool_input"] = {"command": step.text}
                return "PostToolUseFailure", {**fields, "error": f"Exit code 1\n{step.more}"}
            case _:
                fields["tool_input"] = {"command": step.text}
                fields["tool_response"] = {"stdout": step.more, "stderr": ""}
        return "PostToolUse", fields
