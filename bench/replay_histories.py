"""Made-up histories of many sessions on the files of a real repository, with facts planted in them.

Seeded: the same seed and files give the same events. What a session works on is what one commit of
the repository changed, so which files meet in sessions is as in the real project; what else happens
in it is `bench.replay_noise`. Planted are a pair of files that depend on each other, a command that
fails until it is run in another way, an approach that is given up, and a convention that a person
repeats. Some sessions only read, some fail, some end without any proof. Knows nothing of how memory
learns.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from random import Random

from bench.replay_noise import Noise
from bench.replay_writer import Session, Writer

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
SESSIONS = 15
_ELSEWHERE = (4, 9, 10, 12)
_ONLY_READ, _FAILS = (6, 11), (8,)
_MOST_COMMITS = 3_000
_SUFFIXES = (".py", ".ts", ".tsx", ".js", ".go", ".rs", ".java", ".c", ".cpp", ".rb", ".php")
_HUBS = ("README.md", "CHANGELOG.md", "package.json", "pyproject.toml", "src/index.ts")
_WHATS = ("retry", "limit", "header", "timeout", "filter", "export", "paging", "cache", "lock")
_FLAKY = (
    ("npm run build", "Error: Cannot find module 'left-pad'", "npm install", False),
    ("rtk npm run gen", "error: unrecognized subcommand 'npm'", "npm run gen", True),
    ("pip install pkg", "error: externally-managed-environment", "pip install --user pkg", True),
)
_CONVENTIONS = (
    "We never import from the legacy package in new code.",
    "All public functions must carry a docstring that says the units.",
    "Use the project logger instead of print in every module.",
    "We always add a changelog line for a change that people can see.",
)
_WHY_NOT = (
    "RuntimeError: the pool is exhausted",
    "TimeoutError: deadlock between writer and reader",
    "MemoryError: index does not fit",
)


@dataclass(frozen=True, slots=True)
class Planted:
    """The facts of one history."""

    file_a: str
    file_b: str
    command: str
    error: str
    helps: str
    is_instead: bool
    dead_file: str
    convention: str
    module_files: tuple[str, ...]

    @property
    def files(self) -> frozenset[str]:
        """Every file that something is planted in."""
        return frozenset({self.file_a, self.file_b, self.dead_file, *self.module_files})


@dataclass(frozen=True, slots=True)
class Source:
    """A repository: its source files, what its commits changed, and which files go together by
    all of its history."""

    files: tuple[str, ...]
    commits: tuple[tuple[str, ...], ...] = ()
    together: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class History:
    """What was planted, the sessions in their order, and where they come from."""

    planted: Planted
    sessions: tuple[Session, ...]
    source: Source


def read_source(repo: Path) -> Source:
    """A repository as git tells of it."""
    listed = _git(repo, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")
    files = sorted(name for name in listed if name.endswith(_SUFFIXES) and "/" in name)
    told = _git(repo, "log", "--no-merges", "--name-only", "--format=%x01", f"-n{_MOST_COMMITS}")
    known = set(files)
    changed = [
        tuple(sorted({line for line in part.split("\n") if line in known}))
        for part in told.split("\x01")
    ]
    commits = tuple(names for names in reversed(changed) if 2 <= len(names) <= 8)
    return Source(tuple(files), commits, _together(changed))


def _git(repo: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(repo), *words], capture_output=True, check=True)
    return done.stdout.decode("utf-8", errors="replace")


def _together(changed: Sequence[tuple[str, ...]]) -> frozenset[tuple[str, str]]:
    """Pairs of files that commits changed together three times and more, and in half of the
    commits of either."""
    single, pairs = Counter[str](), Counter[tuple[str, str]]()
    for names in changed:
        if len(names) <= 20:
            single.update(names)
            pairs.update(combinations(names, 2))
    return frozenset(
        (a, b) for (a, b), n in pairs.items() if n >= 3 and 2 * n >= min(single[a], single[b])
    )


def make_history(source: Source, *, seed: int, cwd: str) -> History:
    """One history on some of the files."""
    random = Random(seed)
    planted = _plant(source.files, random)
    tasks = _tasks(source, planted, random)
    sessions = tuple(
        _Telling(random, planted, tasks[number - 1], number=number, seed=seed, cwd=cwd).session()
        for number in range(1, SESSIONS + 1)
    )
    return History(planted, sessions, source)


def _plant(files: Sequence[str], random: Random) -> Planted:
    folders: dict[str, list[str]] = {}
    for name in files:
        folders.setdefault(name.rpartition("/")[0], []).append(name)
    large = sorted(folder for folder, names in folders.items() if len(names) >= 6)
    module = random.sample(folders[random.choice(large)], 5)
    file_b, dead = random.sample([name for name in files if name not in module], 2)
    command, error, helps, is_instead = random.choice(_FLAKY)
    return Planted(
        module[0],
        file_b,
        command,
        error,
        helps,
        is_instead,
        dead,
        random.choice(_CONVENTIONS),
        tuple(module),
    )


def _tasks(source: Source, planted: Planted, random: Random) -> list[list[str]]:
    """What the sessions work on: the files of commits that followed each other, without what is
    planted; where the history is too short, any files."""
    free = [[name for name in names if name not in planted.files] for names in source.commits]
    usable = [names for names in free if len(names) >= 2]
    if len(usable) >= SESSIONS:
        start = random.randrange(len(usable) - SESSIONS + 1)
        return usable[start : start + SESSIONS]
    others = [name for name in source.files if name not in planted.files]
    return [random.sample(others, 4) for _ in range(SESSIONS)]


class _Telling:
    """Tells one session, by its number: most hold up, some only read, one fails."""

    def __init__(
        self,
        random: Random,
        planted: Planted,
        task: list[str],
        *,
        number: int,
        seed: int,
        cwd: str,
    ) -> None:
        self._random = random
        self._planted = planted
        self._number = number
        at = START + timedelta(days=number, minutes=random.randrange(120))
        self._w = Writer(f"replay-{seed}-{number:02}", random, at=at, cwd=cwd)
        self._task = task
        self._noise = Noise(self._w, self._task, _HUBS)

    def session(self) -> Session:
        """The session with all its events."""
        self._w.start()
        if self._number in _ONLY_READ:
            self._only_read()
        elif self._number in _FAILS:
            self._fail_for_good()
        elif self._number in _ELSEWHERE:
            self._work([])
        else:
            self._work(self._planted_parts())
        self._w.end()
        return self._w.made

    # -- Kinds of session -------------------------------------------------------------------------

    def _work(self, planted: Sequence[Callable[[], None]]) -> None:
        said = self._number in (1, 3, 7) and planted
        what = self._random.choice(_WHATS)
        where = self._planted.file_a if planted else "the other part"
        self._w.say(f"Add a {what} to {where}.{' ' + self._planted.convention if said else ''}")
        if planted:
            self._begin_in_module()
        parts = [*planted, *self._noise.parts()]
        self._random.shuffle(parts)
        for part in parts:
            part()
        self._close()

    def _only_read(self) -> None:
        self._w.say("How does this part work?")
        self._begin_in_module()
        for name in self._task:
            self._w.read(name)
        self._w.answer("It works like this.")

    def _fail_for_good(self) -> None:
        self._w.say("Rewrite the exporter")
        self._begin_in_module()
        for part in self._noise.parts():
            part()
        self._w.edit(self._task[0])
        self._w.run("pytest -q", "===== 3 failed in 1.20s =====", error="Exit code 1")
        self._w.answer("It does not work yet.")

    def _close(self) -> None:
        """How work ends: tests, a commit, a last line in a changelog, or nothing that proves it."""
        how = self._random.choices(("tests", "commit", "closing edit", "nothing"), (70, 15, 10, 5))[
            0
        ]
        if how in ("tests", "closing edit"):
            passed = f"===== {self._random.randrange(20, 90)} passed in 1.20s ====="
            self._w.run("pytest -q", passed)
        if how == "commit" or (how == "tests" and self._random.random() < 0.5):
            sha = f"{self._random.getrandbits(28):07x}"
            self._w.run('git commit -am "Work"', f"[main {sha}] Work\n 2 files changed")
        if how == "closing edit":
            self._w.edit("CHANGELOG.md")
        if how == "nothing":
            self._w.edit(self._task[0])
        self._w.answer("Done.")

    # -- What is planted --------------------------------------------------------------------------

    def _planted_parts(self) -> list[Callable[[], None]]:
        parts = [self._pair, self._flaky]
        return [*parts, self._dead_end] if self._number in (2, 5) else parts

    def _begin_in_module(self) -> None:
        files = self._planted.module_files
        self._w.made.first_file = files[0]
        for name in files[1:4]:
            if self._random.random() < 0.95:
                self._w.read(name)

    def _pair(self) -> None:
        first, second = self._planted.file_a, self._planted.file_b
        self._w.read(first)
        self._w.edit(first)
        if self._random.random() < 0.5:
            self._w.run("rg -n something", "a:1: x")
        self._w.edit(second)

    def _flaky(self) -> None:
        planted = self._planted
        for _ in range(self._random.choice((1, 1, 2))):
            self._w.run(planted.command, "", error=f"Exit code 2\n{planted.error}")
        self._w.run(planted.helps, "ok")
        if not planted.is_instead:
            self._w.run(planted.command, "ok")

    def _dead_end(self) -> None:
        """A long try that fails in the end, or that a person does not want."""
        name, why = self._planted.dead_file, self._random.choice(_WHY_NOT)
        asked = self._random.random() < 0.3
        self._w.edit(name, before="x = 1", after="x = pooled(workers=8)  # keep them warm")
        for n in range(22):
            if n % 3 or asked:
                self._w.read(self._random.choice(self._task), part=n * 120)
            else:
                failed = f"FAILED tests/test_x.py::test_{n} - {why}"
                self._w.run("pytest -q tests/test_x.py", failed, error="Exit code 1")
        if asked:
            self._w.say("No, do not keep them warm, it costs too much. Please revert that.")
        self._w.run(f"git checkout -- {name}")
