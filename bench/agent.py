"""Does memory help an agent? Steps, failed commands and tokens to done, with and without it.

    python -m bench.agent [--only NAME] [--model NAME] [--show]

Twenty small repositories whose way is hidden (`agent_repositories`): the agent finds the way, then
the repository is reset and it gets the same kind of task again, once or three times. Compared are
no memory, a CLAUDE.md that says what the documents say, memory, and, as the upper bound, a
CLAUDE.md in which a careful person has written down the very command that works. Without `--model`
a fixed policy (`agent_policy`) stands in the model's place, so the figures say whether what is told
is usable, not how well a model would use it. Everything is learned by the loop's own events.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import wellkept
from bench.agent_policy import answer
from bench.agent_repositories import Repository, repositories
from wellkept.testing.scripted_model import ScriptedModel
from wellkept_agent import events

if TYPE_CHECKING:
    from wellkept.core.ports.models import AgentModel
    from wellkept_agent.session import AgentSession

CONDITIONS = (
    "nothing",
    "CLAUDE.md",
    "memory, 2nd session",
    "memory, 4th session",
    "CLAUDE.md with the way",
)
_MAX_CORRECTIONS = 2


@dataclass
class Effort:
    """What a session took."""

    steps: int = 0
    failed: int = 0
    tokens: int = 0
    corrections: int = 0
    done: bool = False
    told: str = ""
    last_command: str = ""

    def watch(self, event: events.AgentEvent) -> None:
        """Count one event."""
        if isinstance(event, events.StepStarted):
            self.steps += 1
            self.tokens += event.context_tokens
        elif isinstance(event, events.ToolFinished) and event.name == "Bash":
            self.failed += event.is_error
        elif isinstance(event, events.MemoryInjected):
            self.told += f"[{event.moment}] {event.text}\n"


async def work(session: AgentSession, repository: Repository, root: Path, task: str) -> Effort:
    """One session: the task, and the person's correction when it was done against a rule."""
    effort = Effort()
    session.listen(effort.watch)
    async with session:
        await session.run(task)
        while repository.done(root) and not repository.obeyed(root):
            if effort.corrections == _MAX_CORRECTIONS:
                break
            effort.corrections += 1
            await session.run(repository.correction)
    effort.done = repository.done(root) and repository.obeyed(root)
    for message in session.conversation.turns:
        for call in message.tool_calls:
            if call.name == "Bash":
                effort.last_command = call.arguments
    return effort


def measure(repository: Repository, condition: str, model: AgentModel | None) -> Effort:
    """The second session of a repository under one condition."""
    with tempfile.TemporaryDirectory(prefix="wellkept-bench-") as folder, _home(Path(folder)):
        root = Path(folder) / repository.name
        root.mkdir()
        repository.create(root)
        learned = Effort()
        for _ in range(3 if condition.endswith("4th session") else 1):
            wk, session = _session(repository, condition, root, model, way="")
            learned = asyncio.run(work(session, repository, root, repository.task))
            wk.close()
            _reset(root)
        wk, session = _session(repository, condition, root, model, way=learned.last_command)
        effort = asyncio.run(work(session, repository, root, repository.later_task))
        wk.close()
        return effort


def _session(
    repository: Repository, condition: str, root: Path, model: AgentModel | None, *, way: str
) -> tuple[wellkept.Wellkept, AgentSession]:
    wk = wellkept.open(cwd=root)
    instructions = ""
    if condition == "CLAUDE.md":
        instructions = repository.documents
    elif condition == "CLAUDE.md with the way" and way:
        import json

        command = json.loads(way)["command"]
        instructions = f"{repository.documents}\nTo test, build, lint, check, deploy: `{command}`"
        if repository.correction:
            instructions += f"\n{repository.correction}"
    agent = wk.agent(
        model=model or ScriptedModel(answer),
        permission_mode="bypass",
        memory=condition.startswith("memory"),
        instructions=instructions,
    )
    return wk, agent.session()


def _reset(root: Path) -> None:
    for command in (("checkout", "-q", "."), ("clean", "-qfdx")):
        subprocess.run(["git", *command], cwd=root, check=True)


@contextmanager
def _home(folder: Path) -> Generator[None]:
    """A Wellkept of its own, so that nothing is known from elsewhere."""
    before = os.environ.get("WELLKEPT_HOME")
    os.environ["WELLKEPT_HOME"] = str(folder / "home")
    try:
        yield
    finally:
        if before is None:
            del os.environ["WELLKEPT_HOME"]
        else:
            os.environ["WELLKEPT_HOME"] = before


def main(arguments: list[str] | None = None) -> int:
    """Run the bench and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", help="only repositories of this name or family")
    parser.add_argument("--model", help="a real model in place of the policy")
    parser.add_argument("--show", action="store_true", help="print what memory told")
    given = parser.parse_args(arguments)
    model = _real_model(given.model) if given.model else None
    chosen = [one for one in repositories() if given.only in (None, one.name, one.family)]
    found: dict[str, dict[str, list[Effort]]] = defaultdict(lambda: defaultdict(list))
    for number, repository in enumerate(chosen, 1):
        for condition in CONDITIONS:
            effort = measure(repository, condition, model)
            found[repository.family][condition].append(effort)
            if given.show and effort.told:
                print(f"--- {repository.name}\n{effort.told}")
        print(f"{number}/{len(chosen)} {repository.name}", file=sys.stderr)
    _print(found)
    return 0


def _real_model(name: str) -> AgentModel:
    from wellkept.models.chat.open import open_model

    return open_model(name, environment=os.environ)


def _print(found: dict[str, dict[str, list[Effort]]]) -> None:
    print("| last session | " + " | ".join(CONDITIONS) + " |")
    print("| --- |" + " --- |" * len(CONDITIONS))
    for family, by_condition in found.items():
        _row(family, [by_condition[condition] for condition in CONDITIONS])
    everything = [
        [one for by in found.values() for one in by[condition]] for condition in CONDITIONS
    ]
    _row("all", everything)
    print("\nEach cell: done, steps, failed commands, corrections, tokens read (means).")


def _row(name: str, cells: Iterable[list[Effort]]) -> None:
    shown = [
        f"{sum(e.done for e in efforts)}/{len(efforts)}, {mean(e.steps for e in efforts):.1f}, "
        f"{mean(e.failed for e in efforts):.1f}, {mean(e.corrections for e in efforts):.1f}, "
        f"{mean(e.tokens for e in efforts):,.0f}"
        for efforts in cells
    ]
    print(f"| {name} | " + " | ".join(shown) + " |")


if __name__ == "__main__":
    raise SystemExit(main())
