"""Long coding sessions with planted facts, for `bench.compaction`.

Files are modules of the standard library and prose is the text of their docstrings, so that noise
looks like work: identifiers, paths and numbers everywhere. A fact is stated once: by the person, by
the agent, in a file, or in the output of a command. `heldout` uses other facts in other words.
"""

from __future__ import annotations

import ast
import random
import re
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from wellkept.core.text import estimate_tokens

Place = Literal["person", "agent", "file", "command"]
Split = Literal["development", "heldout"]
PLACES: tuple[Place, ...] = ("person", "agent", "file", "command")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something stated once. `question` holds the words to search for, `value` the answer."""

    place: Place
    statement: str
    question: str
    value: str


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the agent with one call, and what the tool gives back."""

    text: str
    tool: str
    argument: str
    result: str


@dataclass(slots=True)
class Turn:
    """A prompt, the steps of the agent, and its answer."""

    prompt: str
    steps: list[Step] = field(default_factory=list[Step])
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """A whole session with its facts and the files of its project."""

    turns: Sequence[Turn]
    facts: Sequence[Fact]
    files: dict[str, str]
    tokens: int


# -- Facts ----------------------------------------------------------------------------------------

_NAMES = "ariel boreal cobalt dorado ember fjord garnet harbor indigo juniper kestrel lumen".split()
_MORE_NAMES = "quarry raven sable tundra umber violet walnut xenon yarrow zephyr onyx".split()

_DEVELOPMENT: dict[Place, tuple[tuple[str, str], ...]] = {
    "person": (
        ("The staging database of {name} listens on port {value}.", "staging database {name} port"),
        ("Never deploy {name} before ticket {value} is closed.", "deploy {name} ticket"),
        ("Releases of {name} are approved by {value}.", "releases {name} approved"),
        ("We call the nightly job for {name} simply {value}.", "nightly job {name} call"),
    ),
    "agent": (
        ("I decided to pin {name} to {value} because newer builds break the wheel.", "pin {name}"),
        ("The cache of {name} expires after {value} seconds.", "cache {name} expires"),
        ("For {name} we go with the {value} algorithm.", "{name} algorithm"),
    ),
    "file": (("{upper}_RETRY_BUDGET = {value!r}", "{upper}_RETRY_BUDGET"),),
    "command": (
        ("benchmark {name}: {value} requests per second", "benchmark {name} requests"),
        ("FAILED tests/test_{name}.py::test_{value}", "FAILED test_{name}"),
    ),
}
_HELDOUT: dict[Place, tuple[tuple[str, str], ...]] = {
    "person": (
        ("Customers on {name} get a discount code, {value}.", "customers {name} discount code"),
        ("Whoever touches {name} should talk to {value} first.", "touches {name} talk"),
        ("服务 {name} 的密钥轮换窗口是 {value}。", "服务 {name} 窗口"),
        ("my laptop calls the {name} checkout {value}, by the way", "laptop {name} checkout"),
    ),
    "agent": (
        ("Turns out {name} stores its offsets under the key {value}.", "{name} stores offsets key"),
        ("So the culprit in {name} is commit {value}.", "culprit {name} commit"),
        ("Leaving {name} as it is; owner wants {value} there.", "leaving {name} owner wants"),
    ),
    "file": (("    {name}_shard_limit: int = {value!r}  # agreed with ops", "{name}_shard_limit"),),
    "command": (
        ("{name}-worker exited with signal {value}", "{name}-worker exited signal"),
        ("migrated {value} rows into {name}_archive", "migrated rows {name}_archive"),
    ),
}


def _facts(rng: random.Random, count: int, split: Split) -> list[Fact]:
    kinds = _DEVELOPMENT if split == "development" else _HELDOUT
    names = _NAMES if split == "development" else _MORE_NAMES
    used: set[str] = set()
    found: list[Fact] = []
    while len(found) < count:
        place = PLACES[len(found) % len(PLACES)]
        statement, question = rng.choice(kinds[place])
        name = f"{rng.choice(names)}{rng.randrange(100)}"
        value = _value(rng, statement)
        if name in used or value in used:
            continue
        used |= {name, value}
        shown = {"name": name, "upper": name.upper(), "value": value}
        found.append(Fact(place, statement.format(**shown), question.format(**shown), value))
    return found


def _value(rng: random.Random, statement: str) -> str:
    if any(word in statement for word in ("approved", "talk to", "call the", "algorithm", "wants")):
        return "".join(rng.choice(["ka", "ri", "to", "ne", "mu", "sol", "ven"]) for _ in range(4))
    return str(rng.randrange(10_000, 99_999_999))


# -- Noise ----------------------------------------------------------------------------------------


@cache
def _modules() -> tuple[tuple[str, str], ...]:
    """Modules of the standard library: name and source."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    found: list[tuple[str, str]] = []
    for path in sorted(folder.glob("*.py")):
        source = path.read_text("utf-8", "replace")
        if 4_000 < len(source) < 120_000:
            found.append((path.name, source))
    return tuple(found)


@cache
def _sentences() -> tuple[str, ...]:
    """Sentences of docstrings."""
    found: dict[str, None] = {}
    for _name, source in _modules():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                text = " ".join((ast.get_docstring(node) or "").split())
                for sentence in re.split(r"(?<=[.!?])\s+", text):
                    if 30 < len(sentence) < 240:
                        found[sentence] = None
    return tuple(found)


def _prose(rng: random.Random, count: int) -> list[str]:
    return [rng.choice(_sentences()) for _ in range(count)]


def _with(lines: list[str], rng: random.Random, statement: str | None) -> str:
    if statement is not None:
        lines.insert(rng.randrange(len(lines) + 1), statement)
    return " ".join(lines)


def _excerpt(rng: random.Random, source: str, tokens: int) -> list[str]:
    lines = source.splitlines()
    start = rng.randrange(max(1, len(lines) // 2))
    taken: list[str] = []
    size = 0
    for line in lines[start:]:
        taken.append(line)
        size += len(line) + 1
        if size > tokens * 4:
            break
    return taken


# -- Sessions -------------------------------------------------------------------------------------


class _Writer:
    """Writes a session until it is long enough; facts are spread over all of it."""

    def __init__(self, rng: random.Random, facts: Sequence[Fact], tokens: int) -> None:
        self._rng = rng
        self._waiting = {place: [f for f in facts if f.place == place] for place in PLACES}
        self._counts = {place: len(self._waiting[place]) for place in PLACES}
        self._target = tokens
        self.tokens = 0
        self.files: dict[str, str] = {}
        self.turns: list[Turn] = []

    def write(self) -> None:
        while self.tokens < self._target:
            self._turn()

    def _fact(self, place: Place) -> str | None:
        """The next fact of a place, when the session has come far enough for it."""
        waiting = self._waiting[place]
        told = self._counts[place] - len(waiting)
        if waiting and told / self._counts[place] <= self.tokens / (self._target * 0.93):
            return waiting.pop(0).statement
        return None

    def _turn(self) -> None:
        rng = self._rng
        turn = Turn(_with(_prose(rng, rng.randrange(1, 4)), rng, self._fact("person")))
        self.turns.append(turn)
        self.tokens += estimate_tokens(turn.prompt)
        for _ in range(rng.randrange(4, 10)):
            if self.tokens >= self._target:
                break
            turn.steps.append(self._step())
        turn.answer = _with(_prose(rng, rng.randrange(2, 6)), rng, self._fact("agent"))
        self.tokens += estimate_tokens(turn.answer)

    def _step(self) -> Step:
        rng = self._rng
        name, source = rng.choice(_modules())
        size = min(8_000, int(rng.lognormvariate(7.4, 0.8)))
        text = _with(_prose(rng, rng.randrange(0, 3)), rng, None)
        if rng.random() < 0.5:
            lines = _excerpt(rng, source, size)
            fact = self._fact("file")
            if fact is not None:
                lines.insert(rng.randrange(len(lines)), fact)
            path = f"src/{name.removesuffix('.py')}_{len(self.files)}.py"
            self.files[path] = "\n".join(lines)
            step = Step(text, "Read", path, self.files[path])
        else:
            lines = [f"[{n:05}] {s}" for n, s in enumerate(_prose(rng, max(3, size // 25)))]
            fact = self._fact("command")
            if fact is not None:
                lines.insert(rng.randrange(len(lines)), fact)
            step = Step(text, "Bash", f"make check-{len(self.turns)}", "\n".join(lines))
        self.tokens += estimate_tokens(step.text) + estimate_tokens(step.result) + 20
        return step


def make_session(
    *, tokens: int, facts: int = 40, seed: int = 1, split: Split = "development"
) -> Session:
    """A session of about so many tokens with so many facts."""
    rng = random.Random(f"{seed}-{tokens}-{split}")
    planted = _facts(rng, facts, split)
    writer = _Writer(rng, planted, tokens)
    writer.write()
    told = " ".join(
        [
            *(t.prompt + t.answer for t in writer.turns),
            *(s.text + s.result for t in writer.turns for s in t.steps),
        ]
    )
    return Session(
        writer.turns, [f for f in planted if f.statement in told], writer.files, writer.tokens
    )
