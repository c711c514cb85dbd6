"""Made-up histories of many sessions on the files of a real repository, with facts planted in them.

Seeded: the same seed and files give the same events. Each history holds a pair of files that depend
on each other, a command that fails until another is run first, an approach that is given up, and a
convention that a person repeats; around them lie distractors: other files, errors of a day, tests
that fail while they are worked on, small steps back, sessions that only read, and one that fails.
Knows nothing of how memory learns.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from holdfast.core.events import (
    Edit,
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolCalled,
    ToolKind,
    TurnEnded,
)

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
SESSIONS = 15
_ELSEWHERE = (4, 9, 10, 12)
_SUFFIXES = (".py", ".ts", ".tsx", ".js", ".go", ".rs", ".java", ".c", ".cpp", ".rb", ".php")
_WHATS = ("retry", "limit", "header", "timeout", "filter", "export", "paging", "cache", "lock")
_FLAKY = (
    ("make build", "error: stale cache in build/", "make clean"),
    ("npm run build", "Error: cannot find generated types", "npm run codegen"),
    ("cargo build", "error: linking failed: lock file is held", "cargo clean"),
    ("docker compose up -d", "Error: port 5432 is in use", "docker compose down"),
)
_CONVENTIONS = (
    "We never import from the legacy package in new code.",
    "All public functions must carry a docstring that says the units.",
    "Use the project logger instead of print in every module.",
    "We always add a changelog line for a change that people can see.",
)
_WORDS = ("alpha", "beta", "gamma", "delta", "sigma", "omega", "kappa", "lambda", "theta", "zeta")


@dataclass(frozen=True, slots=True)
class Planted:
    """The facts of one history."""

    file_a: str
    file_b: str
    command: str
    error: str
    helps: str
    dead_file: str
    convention: str
    module_files: tuple[str, ...]


@dataclass(slots=True)
class Session:
    """The events of one session, what it reads, and the moments where a warning would help."""

    id: str
    events: list[Event] = field(default_factory=list[Event])
    reads: list[str] = field(default_factory=list[str])
    module: str = ""
    first_file: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """What was planted, and the sessions in their order."""

    planted: Planted
    sessions: tuple[Session, ...]


def source_files(repo: Path) -> list[str]:
    """The source files of a repository, as git lists them."""
    done = subprocess.run(
        ["git", "-C", str(repo), "ls-files", "-z"], capture_output=True, check=True
    )
    names = done.stdout.decode("utf-8", errors="replace").split("\0")
    return sorted(name for name in names if name.endswith(_SUFFIXES) and "/" in name)


def make_history(files: Sequence[str], *, seed: int, cwd: str) -> History:
    """One history on some of the files."""
    random = Random(seed)
    planted = _plant(files, random)
    others = [name for name in files if name not in _names(planted)]
    sessions = tuple(
        _Writer(random, planted, others, number=number, seed=seed, cwd=cwd).session()
        for number in range(1, SESSIONS + 1)
    )
    return History(planted, sessions)


def _plant(files: Sequence[str], random: Random) -> Planted:
    folders: dict[str, list[str]] = {}
    for name in files:
        folders.setdefault(name.rpartition("/")[0], []).append(name)
    large = sorted(folder for folder, names in folders.items() if len(names) >= 6)
    home = random.choice(large)
    module = random.sample(folders[home], 5)
    rest = [name for name in files if name not in module]
    file_b, dead = random.sample(rest, 2)
    command, error, helps = random.choice(_FLAKY)
    return Planted(
        module[0], file_b, command, error, helps, dead, random.choice(_CONVENTIONS), tuple(module)
    )


def _names(planted: Planted) -> set[str]:
    return {planted.file_a, planted.file_b, planted.dead_file, *planted.module_files}


class _Writer:
    """Writes one session."""

    def __init__(
        self,
        random: Random,
        planted: Planted,
        others: Sequence[str],
        *,
        number: int,
        seed: int,
        cwd: str,
    ) -> None:
        self._random = random
        self._planted = planted
        self._others = others
        self._number = number
        self._cwd = cwd
        self._made = Session(f"replay-{seed}-{number:02}")
        self._at = START + timedelta(days=number, minutes=random.randrange(120))
        self._count = 0

    def session(self) -> Session:
        """The session, by its number: some only read, one fails, the others hold up."""
        self._add(lambda o: SessionStarted(origin=o, source="startup", model="m"))
        if self._number in (6, 11):
            self._only_read()
        elif self._number == 8:
            self._fail_for_good()
        elif self._number in _ELSEWHERE:
            self._work_elsewhere()
        else:
            self._work()
        self._add(lambda o: SessionEnded(origin=o, reason="exit"))
        return self._made

    # -- Kinds of session -------------------------------------------------------------------------

    def _work(self) -> None:
        said = f" {self._planted.convention}" if self._number in (1, 3, 7) else ""
        self._say(f"Add a {self._random.choice(_WHATS)} to {self._planted.file_a}.{said}")
        self._begin_in_module()
        parts: list[Callable[[], None]] = [
            self._pair,
            self._flaky,
            self._detour,
            self._error_of_the_day,
            self._work_in_progress,
        ]
        if self._number in (2, 5):
            parts.append(self._dead_end)
        if self._random.random() < 0.4:
            parts.append(self._small_step_back)
        self._random.shuffle(parts)
        for part in parts:
            part()
        self._run("pytest -q", f"===== {self._random.randrange(20, 90)} passed in 1.20s =====")
        if self._random.random() < 0.7:
            sha = f"{self._random.getrandbits(28):07x}"
            self._run('git commit -am "Work"', f"[main {sha}] Work\n 2 files changed")
        self._add(lambda o: TurnEnded(origin=o, last_message="Done."))

    def _only_read(self) -> None:
        self._say("How does this part work?")
        self._begin_in_module()
        for name in self._random.sample(list(self._others), 6):
            self._read(name)
        self._add(lambda o: TurnEnded(origin=o, last_message="It works like this."))

    def _fail_for_good(self) -> None:
        self._say("Rewrite the exporter")
        self._begin_in_module()
        for name in self._random.sample(list(self._others), 2):
            self._edit(name)
        self._run("pytest -q", "===== 3 failed in 1.20s =====", error="Exit code 1")
        self._add(lambda o: TurnEnded(origin=o, last_message="It does not work yet."))

    def _work_elsewhere(self) -> None:
        """Work in another part of the repository, on other files each time."""
        self._say(f"Fix the {self._random.choice(_WHATS)} somewhere else")
        for part in (self._detour, self._error_of_the_day, self._work_in_progress):
            part()
        self._run("pytest -q", "===== 31 passed in 1.20s =====")
        self._add(lambda o: TurnEnded(origin=o, last_message="Done."))

    # -- What is planted --------------------------------------------------------------------------

    def _begin_in_module(self) -> None:
        files = self._planted.module_files
        self._made.module = files[0].rpartition("/")[0]
        self._made.first_file = files[0]
        for name in files[1:4]:
            if self._random.random() < 0.95:
                self._read(name)
        self._look()

    def _pair(self) -> None:
        first, second = self._planted.file_a, self._planted.file_b
        self._look()
        self._read(first)
        self._edit(first)
        if self._random.random() < 0.5:
            self._run("rg -n something", "a:1: x")
        self._edit(second)
        self._look()

    def _flaky(self) -> None:
        planted = self._planted
        for _ in range(self._random.choice((1, 1, 2))):
            self._run(planted.command, "", error=f"Exit code 2\n{planted.error}")
        self._run(planted.helps)
        self._run(planted.command, "ok")

    def _dead_end(self) -> None:
        name = self._planted.dead_file
        self._edit(name)
        for n in range(22):
            if n % 3:
                self._read(self._random.choice(self._others))
            else:
                failed = f"FAILED tests/test_x.py::test_{n} - RuntimeError: the pool is exhausted"
                self._run("pytest -q tests/test_x.py", failed, error="Exit code 1")
        self._run(f"git checkout -- {name}")

    # -- Distractors ------------------------------------------------------------------------------

    def _look(self) -> None:
        """Steps that touch nothing, so that what lies before is not near what comes after."""
        for _ in range(4):
            self._run(self._random.choice(("ls", "git status", "git diff", "rg -n thing")), "x")

    def _detour(self) -> None:
        for name in self._random.sample(list(self._others), self._random.randrange(4, 9)):
            self._read(name)
        name, test = self._random.sample(list(self._others), 2)
        self._edit(name)
        self._edit(test)

    def _error_of_the_day(self) -> None:
        word = self._random.choice(_WORDS)
        mark = f"{word}-{self._number}-{self._random.choice('abcdefgh')}"
        self._run(f"./run {mark}", "", error=f"Exit code 1\nValueError: no {mark} in table")
        self._run(f"./run {word}", "ok")

    def _work_in_progress(self) -> None:
        name = self._random.choice(self._others)
        test = f"test_{self._random.choice(_WORDS)}_{self._number}"
        for _ in range(self._random.randrange(1, 4)):
            failed = f"FAILED tests/t.py::{test} - AssertionError: assert 1 == 2"
            self._run("pytest -q", failed + "\n===== 1 failed in 0.2s =====", error="Exit code 1")
            self._edit(name)
        self._run("pytest -q", "===== 9 passed in 0.40s =====")

    def _small_step_back(self) -> None:
        name = self._random.choice(self._others)
        self._edit(name, before="first = 1", after="first = 2")
        word = f"{self._random.choice(_WORDS)}{self._number}"
        self._run("mypy src", "", error=f"Exit code 1\nsrc/x.py:1: error: {word} has no type")
        self._edit(name, before="first = 2", after="first = 1")

    # -- Events -----------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self._add(lambda o: PromptSubmitted(origin=o, text=text))

    def _read(self, name: str) -> None:
        self._made.reads.append(name)
        self._call("Read", ToolKind.READ, files=(name,), output="x = 1\n" * 80)

    def _edit(self, name: str, *, before: str = "", after: str = "") -> None:
        mark = f"{self._number}_{self._count}"
        edit = Edit(name, before or f"old_{mark} = 0", after or f"new_{mark} = 1")
        self._call("Edit", ToolKind.EDIT, files=(name,), edits=(edit,))

    def _run(self, command: str, output: str = "", *, error: str | None = None) -> None:
        self._call("Bash", ToolKind.SHELL, command=command, output=output, error=error)

    def _call(
        self,
        name: str,
        kind: ToolKind,
        *,
        files: tuple[str, ...] = (),
        edits: tuple[Edit, ...] = (),
        command: str | None = None,
        output: str = "",
        error: str | None = None,
    ) -> None:
        self._add(
            lambda o: ToolCalled(
                origin=o,
                call_id=f"{o.event_id}-call",
                name=name,
                kind=kind,
                files=files,
                edits=edits,
                command=command,
                output=output,
                error=error,
            )
        )

    def _add(self, made: Callable[[Origin], Event]) -> None:
        self._count += 1
        self._at += timedelta(seconds=self._random.randrange(2, 30))
        origin = Origin(
            event_id=f"{self._made.id}-{self._count}",
            client="replay",
            session_id=self._made.id,
            at=self._at,
            cwd=self._cwd,
        )
        self._made.events.append(made(origin))
