"""What the hook process costs a client, against the least that any Python process costs.

`python -m bench.hooks [--memories 10000] [--rounds 40] [--json]` starts, in turns, the reference
`python -I -S -c pass`, a capture, and the context of a session start, of a prompt and before a
command (about which nothing is known, as about most), without (`alone`) and with (`asked`) a live
Wellkept process, on a store of that many memories. Targets are on ratios of median
processor times; a prompt whose answer is stored and that is not answered fails the run.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import wellkept
from bench.corpus import Corpus, is_asked
from bench.report import Target, Timing, finish, machine, parser, ratio, say, table
from wellkept.api.hook_context import HookContextProvider, open_existing
from wellkept.clients import hook
from wellkept.clients.answers.injection_spool import ShownItems
from wellkept.clients.answers.responder import HookResponder
from wellkept.clients.answers.server import AnswerServer
from wellkept.clients.install.native_hook import native_hook
from wellkept.core.changes import Insert
from wellkept.core.codec import Json
from wellkept.core.settings.model import Settings
from wellkept.memory.engine import Engine
from wellkept.project.resolver import resolve_project
from wellkept.store import open_store

HOOK = str(Path(hook.__file__))
PYTHON = [sys.executable, "-I", "-S"]
LIMITS = {
    "native_capture": 0.1,
    "capture": 2.0,
    "alone_session": 5.0,
    "alone_prompt": 5.0,
    "alone_before": 5.0,
    "asked_session": 1.8,
    "asked_prompt": 1.8,
    "asked_before": 1.8,
}
NAMES = ("zephyr", "harrow", "quillon", "brindle", "tansy")
ANSWERED = ("alone_session", "alone_prompt", "asked_session", "asked_prompt")
"""A rule is told at each start, and each prompt is about a decision that is stored: silence there
would measure nothing."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A home with a filled memory, and a checkout that the questions come from."""

    home: Path
    checkout: Path
    prompts: tuple[str, ...]

    @property
    def environment(self) -> dict[str, str]:
        """What the hook processes see."""
        return {"WELLKEPT_HOME": str(self.home), "PATH": os.environ.get("PATH", "")}

    def payload(self, event: str, number: int) -> bytes:
        """What a client would send; each in a session of its own, so that nothing was said yet."""
        body: dict[str, Json] = {
            "session_id": f"bench-{event}-{number}",
            "cwd": str(self.checkout),
            "hook_event_name": event,
        }
        if event == "UserPromptSubmit":
            body["prompt"] = self.prompts[number % len(self.prompts)]
        if event == "PreToolUse":
            body |= {"tool_name": "Bash", "tool_input": {"command": "python -m pytest -q tests"}}
        if event == "PostToolUse":
            body |= {"tool_name": "Bash", "tool_response": {"stdout": "line of output\n" * 100}}
        return json.dumps(body).encode()


def set_stage(folder: Path, memories: int) -> Stage:
    """Make the checkout and fill the memory of its project."""
    checkout, home = folder / "checkout", folder / "home"
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    address = "https://example.com/team/project.git"
    subprocess.run(["git", "-C", str(checkout), "remote", "add", "origin", address], check=True)
    project = resolve_project(checkout).identity
    home.mkdir(mode=0o700)
    corpus = Corpus()
    store = open_store(home / "memory.db")
    engine, row = Engine(store=store), 0
    for batch in corpus.batches(memories):
        part = [
            replace(memory, project=project) if is_asked(row + number) else memory
            for number, memory in enumerate(batch.memories)
        ]
        row += len(part)
        store.apply([Insert(m, c) for m, c in zip(part, engine.index_entries(part), strict=True)])
    store.close()
    environment = {"WELLKEPT_HOME": str(home), "PATH": os.environ.get("PATH", "")}
    with wellkept.open(
        home / "memory.db",
        cwd=checkout,
        embedder="none",
        settings=Settings(),
        environment=environment,
    ) as memory:
        memory.remember(
            "Never push to main directly.", type="convention", importance=0.9, source="user_taught"
        )
        for name in NAMES:
            memory.remember(
                f"Deploys of {name} go through staging first.",
                type="decision",
                importance=0.9,
                source="user_taught",
            )
    asked = (f"how do we deploy {name}?" for name in NAMES)
    return Stage(home, checkout, tuple(asked))


@dataclass(frozen=True, slots=True)
class Run:
    """One process: how long it took, its processor time, and whether it said anything."""

    seconds: float
    cpu_seconds: float
    spoke: bool


def run(command: Sequence[str], payload: bytes, environment: Mapping[str, str]) -> Run:
    """Start a process with the payload on its standard input, and wait for its end."""
    cpu_before, before = _children_cpu_s(), perf_counter()
    done = subprocess.run(command, input=payload, capture_output=True, env=environment, check=False)
    seconds, cpu_seconds = perf_counter() - before, _children_cpu_s() - cpu_before
    if done.returncode or done.stderr:
        raise RuntimeError(f"{command[3:]} failed: {done.stderr[-800:]!r}")
    return Run(seconds, cpu_seconds, bool(done.stdout))


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(stage: Stage, rounds: int) -> dict[str, list[Run]]:
    """Every case in turns, so that a busy machine slows all of them alike."""
    runs: dict[str, list[Run]] = {name: [] for name in ("reference", *LIMITS)}
    native = str(native_hook({**os.environ, **stage.environment}, build=True) or "")
    if not native:
        raise RuntimeError("no C compiler: the native hook cannot be measured")
    context = HookContextProvider(
        lambda folder: open_existing(folder, environment=stage.environment, busy_timeout_ms=1_000)
    )
    answers = HookResponder(context, shown=ShownItems(stage.home))
    for number in range(rounds + 1):
        took = {"reference": run([*PYTHON, "-c", "pass"], b"", stage.environment)}
        took["native_capture"] = _hook(stage, "PostToolUse", "capture", number, native=native)
        took["capture"] = _hook(stage, "PostToolUse", "capture", number)
        took["alone_session"] = _hook(stage, "SessionStart", "both", number)
        took["alone_prompt"] = _hook(stage, "UserPromptSubmit", "both", number)
        took["alone_before"] = _hook(stage, "PreToolUse", "answer", number)
        with AnswerServer(stage.home, answers) as server:
            if not server.wait_until_serving(10.0):
                raise RuntimeError("the answer server did not start")
            far = number + rounds + 1
            took["asked_session"] = _hook(stage, "SessionStart", "both", far)
            took["asked_prompt"] = _hook(stage, "UserPromptSubmit", "both", far)
            took["asked_before"] = _hook(stage, "PreToolUse", "answer", far)
        if number:  # the first round fills the page cache and writes byte code
            for name, one in took.items():
                runs[name].append(one)
    context.close()
    for name in ANSWERED:
        silent = sum(not one.spoke for one in runs[name])
        if silent:
            raise RuntimeError(f"{name} was silent {silent} times: that measures nothing")
    return runs


def _hook(stage: Stage, event: str, mode: str, number: int, *, native: str | None = None) -> Run:
    command = [*([native] if native else []), *PYTHON, HOOK, "claude-code", event, mode]
    return run(command, stage.payload(event, number), stage.environment)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report."""
    options = parser(__doc__)
    options.add_argument("--memories", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=40)
    given = options.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="wellkept-bench-") as folder:
        say(f"loading {given.memories:,} memories")
        stage = set_stage(Path(folder), given.memories)
        say(f"{given.rounds} rounds")
        runs = measure(stage, given.rounds)
    timings = {
        name: Timing.of([r.seconds for r in each], cpu_seconds=[r.cpu_seconds for r in each])
        for name, each in runs.items()
    }
    spoke = {name: sum(one.spoke for one in each) for name, each in runs.items()}
    reference = timings["reference"].cpu_p50_ms or 0.0
    ratios = {name: ratio(timings[name].cpu_p50_ms or 0.0, reference) for name in LIMITS}
    targets = [Target(f"{name}_ratio", LIMITS[name], ratios[name]) for name in LIMITS]
    rows = [
        [
            name,
            f"{timing.p50_ms:.1f}",
            f"{timing.p95_ms:.1f}",
            f"{timing.cpu_p50_ms or 0:.1f}",
            f"{ratios.get(name) or 1.0:.2f}",
            f"{spoke[name]} of {timing.count}",
        ]
        for name, timing in timings.items()
    ]
    finish(
        "hooks",
        {
            "memories": given.memories,
            "machine": machine(),
            "timings": {name: timing.as_json() for name, timing in timings.items()},
            "ratios": {**ratios},
            "answered": {**spoke},
            "targets": [target.as_json() for target in targets],
        },
        as_json=given.json,
        lines=table(["process", "p50 ms", "p95 ms", "CPU ms", "ratio", "answered"], rows),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
