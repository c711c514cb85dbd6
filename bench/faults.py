"""Power cuts at every moment: what was promised is there once, whatever of the rest arrived.

`python -m bench.faults [--mutants] [--only NAME ...] [--short] [--seed 1]` records what hook,
drain, remember, import, restore, migration and sharing do to a disk (`disk_trace`), makes
every disk that a power cut can leave of it (`disk_images`), opens each (`disk_judge`) and compares
with what was promised. With `--mutants` it does so to builds that are wrong in one line, each of
which must be caught. Needs Linux and `strace`. Exits with 1 when anything is wrong.

What was acknowledged is promised from then on.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from bench.crash_ledger import Kind, Sent, words_of
from bench.crash_scene import CLI, Scene, changed_build, write_export
from bench.disk_images import Image, images
from bench.disk_trace import Promised, Recorder
from bench.report import finish, parser, say, table
from tests.support.samples import Samples
from wellkept.core.clock import system_clock
from wellkept.core.codec import Json
from wellkept.store.memory_rows import COLUMNS, to_row
from wellkept.store.sqlite.database import Database
from wellkept.store.sqlite.migrations import STEPS, migrate

_ROOT = Path(__file__).resolve().parents[1]
_OLD_STEPS = 9
_LONG = "The next line says more. " * 60  # so that an entry is torn inside its payload


class Stage:
    """A home, what is done to it, and what was promised meanwhile."""

    def __init__(self, root: Path, *, package: Path | None = None) -> None:
        self.scene = Scene.set_up(root, package=package)
        self._recorder: Recorder | None = None
        self._number = 0
        self.first = 0

    def quietly(self, *words: str) -> None:
        """Run a command that is not what the scenario is about."""
        done = self.scene.cli(*words)
        if done.code:
            raise RuntimeError(f"{words}: {done.errors}")

    def record(self) -> Recorder:
        """Watch from here on; everything so far had time to settle."""
        self._recorder = Recorder(self.scene.root)
        self.first = len(self._recorder.steps) - 1
        return self._recorder

    @property
    def recorder(self) -> Recorder:
        """What watches."""
        assert self._recorder is not None
        return self._recorder

    def promise(self, *names: str) -> None:
        """These are kept by what was recorded so far."""
        self.recorder.steps.append(Promised(names))

    def cli(self, *words: str, keeps: Sequence[str] = ()) -> None:
        """Run a command that acknowledges these names by its success."""
        self._run(CLI, words, b"", keeps)

    def prompt(self, session: str) -> None:
        """Let a client's hook catch a prompt."""
        name = self.name("p")
        text = f"Please look at {name} in the shop. {_LONG}"
        body = {"session_id": session, "cwd": str(self.scene.work), "prompt": text}
        words = ("claude-code", "UserPromptSubmit")
        self._run(self.scene.hook_words, words, json.dumps(body).encode(), (name,))

    def statement(self) -> tuple[str, str]:
        """A new name, and a statement about it."""
        name = self.name("s")
        return name, words_of(Sent(Kind.STATEMENT, name))

    def name(self, letter: str) -> str:
        """A name that was not used before."""
        self._number += 1
        return f"{letter}{self._number:07}"

    def _run(
        self, program: Sequence[str], words: Sequence[str], given: bytes, keeps: Sequence[str]
    ) -> None:
        done = self.recorder.run(
            *program, *words, cwd=self.scene.work, environment=self.scene.environment, given=given
        )
        if done.returncode or (program is not CLI and done.stderr):
            raise RuntimeError(f"{words}: {done.stderr.decode()}")
        self.promise(*keeps)


# -- Scenarios ------------------------------------------------------------------------------------


def hooks(stage: Stage) -> None:
    """Hooks catch prompts into a new file and an old one."""
    stage.record()
    stage.prompt("one")
    stage.prompt("one")
    stage.prompt("two")


def drains(stage: Stage) -> None:
    """What hooks caught is drained, beside a client that still writes."""
    stage.quietly("remember", "Makes the database")
    stage.record()
    for session in ("one", "one", "two"):
        stage.prompt(session)
    with next((stage.scene.home / "spool").glob("*two.spool")).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        stage.cli("spool", "drain")
    stage.cli("spool", "drain")


def remembering(stage: Stage) -> None:
    """Statements are kept one after the other, the first in a new database."""
    stage.record()
    for _ in range(3):
        name, words = stage.statement()
        stage.cli("remember", words, keeps=(name,))


def importing(stage: Stage) -> None:
    """An export is taken in beside what is there."""
    known, words = stage.statement()
    stage.quietly("remember", words)
    new = [stage.statement() for _ in range(5)]
    path = stage.scene.root / "in.jsonl"
    write_export(path, (words for _, words in new))
    stage.record()
    stage.promise(known)
    stage.cli("import", str(path), keeps=[name for name, _ in new])


def restoring(stage: Stage) -> None:
    """A backup is made, and later restored: what it replaces is kept beside it."""
    former, words = stage.statement()
    stage.quietly("remember", words)
    stage.record()
    stage.promise(former)
    copy = stage.scene.backups / "copy.db"
    stage.cli("backup", str(copy), keeps=("file:backups/copy.db",))
    newer, words = stage.statement()
    stage.cli("remember", words, keeps=(newer,))
    stage.cli("restore", str(copy), "--yes")


def migrating(stage: Stage) -> None:
    """The database of an earlier version is brought up to date by the first command."""
    names = make_older(stage)
    stage.record()
    stage.promise(*names)
    name, words = stage.statement()
    stage.cli("remember", words, keeps=(name,))


def sharing(stage: Stage) -> None:
    """Memories are written into the folder that a team shares through git."""
    name, words = stage.statement()
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.invalid")
    for command in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run([*git, *command], cwd=stage.scene.work, check=True)
    stage.quietly("remember", words)
    stage.quietly("share", "on", "--yes")
    stage.record()
    stage.promise(name)
    stage.cli("share", "add", "--type", "fact")
    stage.cli("share", "update")


def make_older(stage: Stage) -> list[str]:
    """Write a database as an earlier version did; returns what is in it."""
    samples, names = Samples(project="one"), [stage.name("s") for _ in range(4)]
    path = stage.scene.home / "memory.db"
    with closing(Database(path, busy_timeout_ms=1_000)) as database:
        migrate(database, clock=system_clock, steps=STEPS[:_OLD_STEPS])
        with database.writing() as db:
            for name in names:
                row = to_row(samples.memory(words_of(Sent(Kind.STATEMENT, name))))
                places = ", ".join("?" * len(COLUMNS))
                db.execute(f"INSERT INTO memories ({', '.join(COLUMNS)}) VALUES ({places})", row)
    return names


SCENARIOS: Mapping[str, Callable[[Stage], None]] = {
    "hooks": hooks,
    "drain": drains,
    "remember": remembering,
    "import": importing,
    "restore": restoring,
    "migrate": migrating,
    "share": sharing,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A build that is wrong in one place, and the scenario that shows it."""

    scenario: str
    module: str
    before: str
    after: str


_DATABASE, _DRAIN = "store/sqlite/database.py", "observe/ingest/drain.py"
_SPOOL = "store/spool.py"
_LEVEL = "synchronous = FULL"
_TAKEN = "start, mark = mark.offset, self._take(mark, batch)"
_EARLY = "self.spool.remove(mark.source, offset=batch[-1].end)"
_KEPT = "result = wk.remember_many([draft], merge_similar=merge_similar)[0]"
_SYNCED = "            os.fsync(descriptor)\n            sync_folder(os.path.dirname(path))\n"
_ONCE = "self.engine.store.apply([*changes, *map(SaveReadPosition, marks)])"
MUTANTS: Mapping[str, Mutant] = {
    "no-sync": Mutant("remember", _DATABASE, _LEVEL, "synchronous = OFF"),
    "no-sync-before-removal": Mutant("drain", _DATABASE, _LEVEL, "synchronous = NORMAL"),
    "no-sync-in-the-hook": Mutant("hooks", _SPOOL, _SYNCED, ""),
    "no-sync-of-names": Mutant("hooks", _SPOOL, 'os.name == "posix"', "not folder"),
    "early-removal": Mutant("drain", _DRAIN, _TAKEN, f"{_EARLY}\n            {_TAKEN}"),
    "no-guard-against-repeats": Mutant(
        "drain", "observe/ingest/ingest.py", "if key not in known]", "]"
    ),
    "torn-entries-accepted": Mutant(
        "hooks", "store/spool_reader.py",
        'zlib.crc32(payload, zlib.crc32(header["head"])) != int(', "0 > int(",
    ),
    "two-transactions": Mutant(
        "drain", "observe/ingest/ingest.py", _ONCE,
        "self.engine.store.apply([c for c in changes if not isinstance(c, PutSession)])\n        "
        "changes = [c for c in changes if isinstance(c, PutSession)]\n        " + _ONCE,
    ),
    "committed-twice": Mutant(
        "remember", "observe/verbs.py", _KEPT,
        f"{_KEPT}\n    wk.remember_many([draft], merge_similar=False)",
    ),
}  # fmt: skip

# -- Judging --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Outcome:
    """How many disks were looked at, and what was wrong with the first of them."""

    steps: int = 0
    disks: int = 0
    different: int = 0
    wrong: list[str] = field(default_factory=list[str])

    def as_json(self) -> dict[str, Json]:
        """The figures."""
        return {
            "steps": self.steps,
            "disks": self.disks,
            "different": self.different,
            "wrong": len(self.wrong),
            "first": [*self.wrong[:3]],
        }


class Judge:
    """A process that opens disks, each different one once."""

    def __init__(self, folder: Path, package: Path | None) -> None:
        self._folder = folder
        self._known: dict[bytes, dict[str, Json]] = {}
        folders = [str(one) for one in (package, _ROOT) if one is not None]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "bench.disk_judge"],
            env={**os.environ, "PYTHONPATH": ":".join(folders)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    @property
    def different(self) -> int:
        """How many different disks there were."""
        return len(self._known)

    def complaint(self, image: Image) -> str:
        """What is wrong with a disk; empty when nothing is."""
        key = _key(image)
        if key not in self._known:
            self._known[key] = self._ask(image)
        told = self._known[key]
        names, copies, wrong = told["names"], told["copies"], told["wrong"]
        assert isinstance(names, dict)
        assert isinstance(copies, list)
        assert isinstance(wrong, list)
        files = image.disk.files()
        there = {*names, *map(str, copies), *(f"file:{name}" for name in files)}
        lost = sorted({*image.promised} - there)
        twice = sorted(name for name, count in names.items() if count != 1)
        parts = [f"lost {lost}"] * bool(lost) + [f"twice {twice}"] * bool(twice)
        return "; ".join([*parts, *map(str, wrong)])

    def _ask(self, image: Image) -> dict[str, Json]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        root = self._folder / "image"
        image.write(root)
        self._process.stdin.write(f"{root}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        shutil.rmtree(root)
        if not answer:
            raise RuntimeError("the judge ended")
        return json.loads(answer)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def _key(image: Image) -> bytes:
    told = hashlib.blake2b()
    for name, file in sorted(image.disk.names.items()):
        told.update(f"{name}\0{file is None}\0".encode())
    for name, data in sorted(image.disk.files().items()):
        told.update(f"{name}\0{len(data)}\0".encode() + data)
    return told.digest()


def run(
    name: str,
    folder: Path,
    *,
    whole: bool,
    seed: int = 1,
    package: Path | None = None,
    until_wrong: bool = False,
) -> Outcome:
    """Play a scenario, then look at every disk that it can leave."""
    outcome, stage = Outcome(), Stage(folder / "stage", package=package)
    SCENARIOS[name](stage)
    steps = stage.recorder.steps
    outcome.steps = len(steps) - stage.first
    judge = Judge(folder, package)
    with closing(judge):
        for image in images(steps, start=stage.first, whole=whole, seed=seed):
            outcome.disks += 1
            if told := judge.complaint(image):
                outcome.wrong.append(f"after step {image.after}, {image.how}: {told}")
                if until_wrong:
                    break
        outcome.different = judge.different
    return outcome


def caught(name: str, folder: Path, *, whole: bool) -> Outcome:
    """Look for the fault of a mutant."""
    mutant = MUTANTS[name]
    package = changed_build(folder / "build", mutant.module, mutant.before, mutant.after)
    return run(mutant.scenario, folder, whole=whole, package=package, until_wrong=True)


def main() -> int:
    """Play the scenarios, or let the mutants be caught."""
    options = parser(__doc__)
    options.add_argument("--only", action="append", choices=[*SCENARIOS, *MUTANTS])
    options.add_argument("--mutants", action="store_true")
    options.add_argument("--short", action="store_true")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    outcomes: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="wellkept-faults-") as folder:
        for name in given.only or (MUTANTS if given.mutants else SCENARIOS):
            place = Path(folder, name)
            place.mkdir()
            whole = not given.short
            outcomes[name] = (
                caught(name, place, whole=whole)
                if given.mutants
                else run(name, place, whole=whole, seed=given.seed)
            )
            say(f"{name}: {outcomes[name]}")
    as_wanted = [bool(one.wrong) == given.mutants for one in outcomes.values()]
    figures: dict[str, Json] = {name: one.as_json() for name, one in outcomes.items()}
    rows = [[name, str(one.disks), "; ".join(one.wrong[:1])] for name, one in outcomes.items()]
    lines = table(["what", "disks", "first fault"], rows)
    finish("faults", {**figures, "as_wanted": all(as_wanted)}, as_json=given.json, lines=lines)
    return 0 if all(as_wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
