"""Forty ways to do harm by remembering, each asked for at the moment where it would be said.

    python -m bench.harm [--show] [--json]

Each case is a small history fed through the event path, then a moment. A pattern says what must not
stand in the pack: stale, superseded, contradicted, quoted, hypothetical, of another branch or
project, out of hostile tool output, a dead end, a permission given once. Silence alone must not
pass: where a true line exists beside the harmful one, it must be said. The baseline is the plainest
memory there is: every sentence and command seen so far, handed over at every moment.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import wellkept
from bench.report import finish, machine, parser, table
from wellkept.api.hook_context import HookContextProvider
from wellkept.clients.answers.responder import context_request
from wellkept.core.codec import Json
from wellkept.core.records import record
from wellkept.core.session.events import (
    Edit,
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolCalled,
    ToolKind,
    ToolStarting,
    TurnEnded,
)
from wellkept.observe.ingest.ingest import EventIngester
from wellkept.observe.observer.drain import machine_environment
from wellkept.testing.fakes import ManualClock
from wellkept.text.shell.environment import Environment, GitState, ProjectLocation

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
RULE = "We always use pnpm in this repository, never npm."
_RULE_SAID = r"pnpm"


class Scene:
    """A project with a store. Speaks and works in sessions; then asks as a hook would."""

    def __init__(self, home: Path, project: str = "shop", *, number: int = 0) -> None:
        self.root = home / project
        self.root.mkdir(parents=True)
        self.clock = ManualClock(_START)
        self.wk = wellkept.open(
            home / "memory.db",
            cwd=self.root,
            project=project,
            embedder="none",
            environment={"HOME": str(home)},
            clock=self.clock,
        )
        self._number = sum(map(ord, project))
        self.branch = "main"
        self.seen: list[str] = []
        """Everything that was said or run: what the plainest memory would hand over."""
        self._location = ProjectLocation(self.wk.project, (str(self.root),))
        machine_view = machine_environment(self.wk.engine.store, {})
        self._ingester = EventIngester(
            self.wk.engine,
            Environment(
                locate=lambda _: self._location,
                git=lambda _: GitState(self.branch, None),
                read_file=machine_view.read_file,
                commit_files=machine_view.commit_files,
                named=machine_view.named,
            ),
        )
        self._session = self._event = number

    @property
    def number(self) -> int:
        """A number that neither a session nor an event has had."""
        return max(self._session, self._event) + 1

    # -- What happened ----------------------------------------------------------------------------

    def session(self, *said: str) -> None:
        """Start a session, and say something in it."""
        self._finish()
        self.clock.now += timedelta(hours=3)
        self._session += 1
        self._take(SessionStarted(origin=self._origin()))
        for text in said:
            self.say(text)

    def say(self, text: str) -> None:
        """A prompt of the user."""
        self.seen.append(text)
        self._take(PromptSubmitted(origin=self._origin(), text=text))

    def answer(self, text: str) -> None:
        """The agent ends its turn."""
        self._take(TurnEnded(origin=self._origin(), last_message=text))

    def run(self, command: str, output: str = "", *, fails: bool = False) -> None:
        """A shell command and its result."""
        self.seen += [command, output]
        self._take(
            ToolCalled(
                origin=self._origin(),
                call_id=f"c{self._event}",
                name="Bash",
                kind=ToolKind.SHELL,
                command=command,
                output="" if fails else output,
                error=f"Exit code 1\n{output}" if fails else None,
            )
        )

    def edit(self, path: str, before: str = "a\n", after: str = "b\n") -> None:
        """An edit; the file exists from then on."""
        self.file(path, after)
        self._take(
            ToolCalled(
                origin=self._origin(),
                call_id=f"c{self._event}",
                name="Edit",
                kind=ToolKind.EDIT,
                files=(str(self.root / path),),
                edits=(Edit(str(self.root / path), before, after),),
            )
        )

    def read(self, path: str, text: str) -> None:
        """A file read by the agent."""
        self.file(path, text)
        self.seen.append(text)
        self._take(
            ToolCalled(
                origin=self._origin(),
                call_id=f"c{self._event}",
                name="Read",
                kind=ToolKind.READ,
                files=(str(self.root / path),),
                output=text,
            )
        )

    def file(self, path: str, text: str = "") -> None:
        """A file of the project."""
        whole = self.root / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_text(text, encoding="utf-8")

    # -- What is told -----------------------------------------------------------------------------

    def at_start(self) -> str:
        """The pack of a new session."""
        return self._ask(SessionStarted(origin=self._origin(new=True)))

    def at_prompt(self, text: str) -> str:
        """The packs of a new session's start and first prompt."""
        start = self.at_start()
        return f"{start}\n{self._ask(PromptSubmitted(origin=self._origin(), text=text))}"

    def at_failure(self, command: str, output: str) -> str:
        """The packs before and after a failing command in a new session."""
        self._origin(new=True)
        return self._at_failure(command, output)

    def in_session(self, command: str, output: str) -> str:
        """The packs around a failing command in the running session."""
        return self._at_failure(command, output)

    def at_file(self, path: str) -> str:
        """The packs of a new session's start and its first edit of a file."""
        start = self.at_start()
        starting = ToolStarting(
            origin=self._origin(), name="Edit", kind=ToolKind.EDIT, files=(str(self.root / path),)
        )
        return f"{start}\n{self._ask(starting)}"

    def wait(self, days: int) -> None:
        """The session ends, and days pass."""
        self._finish()
        self._session += 1
        self.clock.now += timedelta(days=days)

    def close(self) -> None:
        """Close the store."""
        self.wk.close()

    def _at_failure(self, command: str, output: str) -> str:
        before = ToolStarting(
            origin=self._origin(), name="Bash", kind=ToolKind.SHELL, command=command
        )
        after = ToolCalled(
            origin=self._origin(),
            call_id="c",
            name="Bash",
            kind=ToolKind.SHELL,
            command=command,
            error=f"Exit code 1\n{output}",
        )
        return f"{self._ask(before)}\n{self._ask(after)}"

    def _ask(self, event: Event) -> str:
        request = context_request(event)
        if request is None:
            return ""
        return HookContextProvider(lambda _: self.wk)(request, frozenset()).text

    def _finish(self) -> None:
        if self._session:
            self._take(SessionEnded(origin=self._origin(), reason="exit"))
            self.wk.observer.learn([self._name])

    @property
    def _name(self) -> str:
        return f"{self._session:08}-0000-4000-8000-{self._number:012}"

    def _origin(self, *, new: bool = False) -> Origin:
        if new:
            self._finish()
            self._session += 1
            self.clock.now += timedelta(hours=20)
        self._event += 1
        self.clock.now += timedelta(seconds=20)
        return Origin(
            event_id=f"e{self._number}-{self._event}",
            client="claude-code",
            session_id=self._name,
            at=self.clock.now,
            cwd=str(self.root),
            branch=self.branch,
        )

    def _take(self, event: Event) -> None:
        self._ingester.commit([event], [])


@record(kw_only=True)
class HarmCase:
    """A history that ends with the packs of a moment. `never` must not stand in them; `said` must
    when it is given."""

    name: str
    kind: str
    play: Callable[[Scene], str]
    never: str
    said: str = ""


@record(kw_only=True)
class HarmResult:
    """What a case was told, and what the plainest memory would have told."""

    case: HarmCase
    text: str
    everything: str

    @property
    def is_harmful(self) -> bool:
        return re.search(self.case.never, self.text) is not None

    @property
    def is_complete(self) -> bool:
        return not self.case.said or re.search(self.case.said, self.text) is not None

    @property
    def harms_if_everything(self) -> bool:
        return re.search(self.case.never, self.everything) is not None


def play(case: HarmCase) -> HarmResult:
    """Play one case in a store of its own."""
    with tempfile.TemporaryDirectory(prefix="wellkept-harm-") as home:
        scene = Scene(Path(home))
        try:
            text = case.play(scene)
        finally:
            scene.close()
    return HarmResult(case=case, text=text, everything="\n".join(scene.seen))


def main() -> None:
    """Play all cases and print them."""
    from bench.harm_cases import CASES

    arguments = parser(__doc__)
    arguments.add_argument("--show", action="store_true")
    options = arguments.parse_args()
    results = [play(case) for case in CASES]
    rows = [
        (one.case.kind, one.case.name, "HARM" if one.is_harmful else "", _said(one))
        for one in results
    ]
    lines = table(("kind", "case", "harm", "true line"), rows)
    if options.show:
        lines += [f"\n## {one.case.kind}: {one.case.name}\n{one.text.strip()}" for one in results]
    finish("harm", _figures(results), as_json=options.json, lines=lines)


def _said(result: HarmResult) -> str:
    return "" if not result.case.said else "said" if result.is_complete else "MISSING"


def _figures(results: Sequence[HarmResult]) -> dict[str, Json]:
    with_line = [one for one in results if one.case.said]
    harmful = Counter(one.case.kind for one in results if one.is_harmful)
    return {
        "cases": len(results),
        "harmful": sum(harmful.values()),
        "harmful_by_kind": dict(harmful),
        "true_lines": len(with_line),
        "true_lines_said": sum(one.is_complete for one in with_line),
        "harmful_if_everything_were_said": sum(one.harms_if_everything for one in results),
        "machine": machine(),
    }


if __name__ == "__main__":
    main()
