"""Flips bytes in every page of a memory and uses it: `python -m bench.byte_flips`.

A flip must end in a clear error, be found by `doctor --deep`, or change nothing that is kept: rows
that no checksum covers (counts, scores, logs) and unused space. Nothing may raise anything but the
errors it documents, print a traceback, or take longer than 30 s. After each flip that the deep
check calls damage of a record, a repair must leave no such damage, or name it again.

`--count 2000 --seed 1` flips so many bytes, in turns over all pages, beside which the dumbest check
is reported: SQLite's own. Then every column of every table is spoiled in turn and used.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from time import monotonic
from traceback import format_exception

import wellkept
from bench.report import finish, machine, parser, say, table
from tests.support.conformance.scratchpads import explanation, pad, putting, signal
from wellkept.api.cli import exit_codes
from wellkept.api.cli.root import run
from wellkept.clients.registry import translate_spooled
from wellkept.core.changes import PutExplanation, PutScratchpad
from wellkept.core.codec import Json
from wellkept.core.errors import WellkeptError
from wellkept.core.ports.store import Store
from wellkept.core.query import Finding
from wellkept.core.records import replace
from wellkept.core.settings.model import Settings
from wellkept.core.skills import GeneratedSkill
from wellkept.core.types import Severity
from wellkept.observe.observer.drain import drain_spool
from wellkept.store import open_store, spool

LIMIT_S = 30.0
_SUBJECTS = ("parser", "cache", "ledger", "router", "schema")
_NOW_MS = 1_790_000_000_000
_FORBIDDEN = re.compile(r"Traceback|math domain|sqlite3\.\w+Error|KeyError|ValueError|TypeError")
# What damage leaves behind: text that is no JSON, no UTF-8; numbers that are no date.
GARBAGE: dict[str, tuple[str, ...]] = {
    "TEXT": ("'{oops'", "CAST(x'ff41' AS TEXT)", "NULL"),
    "INTEGER": ("9000000000000000000", "-9000000000000000000", "NULL"),
    "REAL": ("-1e300", "NULL"),
    "BLOB": ("x'00'", "NULL"),
}
_TABLES = "type = 'table' AND sql LIKE '%STRICT%'"
VERBS: tuple[tuple[str, ...], ...] = (
    ("recall", "parser limited"),
    ("context", "Change the cache"),
    ("list",),
    ("stats",),
    ("show", "k7"),
    ("session", "list"),
    ("timeline",),
    ("observer", "status"),
    ("remember", "The widget is new"),
    ("doctor", "--deep"),
    ("maintain", "--dry-run"),
    ("skill", "list"),
    ("injected",),
    ("export", "-"),
)


@dataclass(slots=True)
class Figures:
    """What became of the flips."""

    flips: int = 0
    refused: int = 0
    found_deep: int = 0
    found_by_sqlite: int = 0
    silent: int = 0
    kept_differs_unseen: int = 0
    mended: int = 0
    failures: list[str] = field(default_factory=list[str])


def make_home(folder: Path) -> Path:
    """A home whose memory holds something of everything; the path of its database."""
    home = folder / "home"
    chance = Random(5)
    environment = {"WELLKEPT_HOME": str(home)}
    with _opened(folder) as wk:
        for number in range(80):
            subject = chance.choice(_SUBJECTS)
            wk.remember(
                f"The {subject} number {number} is limited to {chance.randrange(10**6)} items",
                merge_similar=False,
                files=[f"src/{subject}.py"],
                tags=[subject],
                key=f"k{number}",
            )
        for session in range(3):
            for number, (event, body) in enumerate(_events()):
                payload = {"session_id": f"s{session}", "cwd": str(folder), **body}
                spool.append(
                    str(home / spool.FOLDER_NAME),
                    client="claude-code",
                    session=f"s{session}",
                    event=event,
                    payload=json.dumps({**payload, "hook_event_name": event}).encode(),
                    now_ms=_NOW_MS + number * 1_000 + session * 600_000,
                )
        drain_spool(wk.engine, Settings(), translate=translate_spooled, environment=environment)
        wk.observer.learn(["s0", "s1", "s2"])
        _add_records(wk.engine.store, project=wk.project_name, memory_id=wk.get("k7").id)
    path = home / "memory.db"
    with closing(open_store(path)) as store:
        store.compact_storage()
    return path


def _add_records(store: Store, *, project: str, memory_id: str) -> None:
    """A few records of every other kind."""
    start = datetime(2026, 9, 1, tzinfo=UTC)
    skill = GeneratedSkill(
        id="skill-1",
        project=project,
        name="add-a-route",
        text="---\nname: add-a-route\n---\n\n# Add a route\n",
        created_at=start,
        updated_at=start,
    )
    store.put_generated_skill(skill)
    store.put_generated_skill(replace(skill, text=f"{skill.text}1. Go\n", revision=1))
    store.apply([PutScratchpad(pad("s0", project=project))])
    store.apply([putting(replace(signal("src/ledger.py"), project=project))])
    store.apply([PutExplanation(replace(explanation(memory_id), project=project))])


def _events() -> Iterator[tuple[str, dict[str, object]]]:
    yield "SessionStart", {"source": "startup"}
    yield "UserPromptSubmit", {"prompt": "Fix the ledger. Remember that we greet in French."}
    for number, (command, code) in enumerate((("make test", 2), ("make test", 0))):
        yield (
            "PostToolUse",
            {
                "tool_name": "Bash",
                "tool_use_id": f"b{number}",
                "tool_input": {"command": command},
                "tool_response": {"stdout": "1 failed" if code else "9 passed", "exit_code": code},
            },
        )
        yield (
            "PostToolUse",
            {
                "tool_name": "Edit",
                "tool_use_id": f"e{number}",
                "tool_input": {
                    "file_path": "src/ledger.py",
                    "old_string": "total = 1",
                    "new_string": "total = 2",
                },
                "tool_response": {"filePath": "src/ledger.py"},
            },
        )
    yield "Stop", {"last_assistant_message": "Done. The ledger adds up now."}
    yield "SessionEnd", {"reason": "exit"}


def _opened(folder: Path) -> wellkept.Wellkept:
    return wellkept.open(
        folder / "home" / "memory.db",
        project="demo",
        cwd=folder,
        embedder="none",
        settings=Settings(),
        environment={"WELLKEPT_HOME": str(folder / "home")},
    )


def flips(raw: bytes, page: int, count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Offset and bit of each flip; the pages take turns. Most flips are where something is."""
    chance = Random(seed)
    pages = list(range(len(raw) // page))
    order: list[int] = []
    for _ in range(count):
        if not order:
            order = pages.copy()
            chance.shuffle(order)
        start = order.pop() * page
        used = [at for at in range(start, start + page) if raw[at]]
        at = chance.choice(used) if used and chance.random() < 0.9 else start
        yield (at if at > start else start + chance.randrange(page)), chance.randrange(8)


class Flipper:
    """Flips bytes of copies of a home, and uses them."""

    def __init__(self, healthy: Path, folder: Path) -> None:
        self.raw = healthy.read_bytes()
        self._folder = folder
        self._kept = _contents(healthy)
        self.figures = Figures()

    @property
    def page(self) -> int:
        """The size of its pages."""
        size = int.from_bytes(self.raw[16:18], "big")
        return 65_536 if size == 1 else size

    def flip(self, at: int, bit: int, *, verbs: Sequence[Sequence[str]] = ()) -> None:
        """Flip one bit, then look, use, and mend."""
        figures, began_s = self.figures, monotonic()
        figures.flips += 1
        path = self._written(at, bit)
        try:
            self._look(path, f"{at}.{bit}")
        except WellkeptError as error:
            self._require_clear(f"{at}.{bit} look", f"{error.message} {error.hint}")
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            told = "".join(format_exception(error)[-3:])
            figures.failures.append(f"{at}.{bit} look: {told}")
        self._written(at, bit)
        self.use(f"{at}.{bit}", verbs)
        if monotonic() - began_s > LIMIT_S:
            figures.failures.append(f"{at}.{bit}: {monotonic() - began_s:.0f} s")

    def damage(self, statement: str, *, verbs: Sequence[Sequence[str]] = ()) -> None:
        """Change what a statement says behind the engine's back, then use it."""
        path = self._written(0, None)
        with closing(sqlite3.connect(path)) as db:
            known = db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
            for (trigger,) in known:
                db.execute(f"DROP TRIGGER {trigger}")
            db.execute("PRAGMA ignore_check_constraints = 1")
            db.execute("PRAGMA writable_schema = 1")
            kept = db.execute(f"SELECT rowid, sql FROM sqlite_schema WHERE {_TABLES}").fetchall()
            db.execute(
                f"UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE {_TABLES}"
            )
            db.commit()
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA ignore_check_constraints = 1")
            db.execute(statement)
            db.execute("PRAGMA writable_schema = 1")
            db.executemany("UPDATE sqlite_schema SET sql = ?2 WHERE rowid = ?1", kept)
            db.commit()
        self.use(statement, verbs)

    def _written(self, at: int, bit: int | None) -> Path:
        path = self._folder / "home" / "memory.db"
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir(parents=True)
        changed = bytes([self.raw[at] ^ (0 if bit is None else 1 << bit)])
        path.write_bytes(self.raw[:at] + changed + self.raw[at + 1 :])
        path.chmod(0o600)
        return path

    def _look(self, path: Path, name: str) -> None:
        figures = self.figures
        with closing(sqlite3.connect(path)) as db:
            try:
                own = db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]
            except (sqlite3.Error, UnicodeDecodeError):
                own = True
        figures.found_by_sqlite += own
        try:
            store = open_store(path)
        except WellkeptError:
            figures.refused += 1
            return
        with closing(store):
            found = _errors(store.check(deep=True))
            figures.found_deep += bool(found)
            if not found:
                figures.silent += 1
                if _contents(path) != self._kept:
                    figures.kept_differs_unseen += 1
                    figures.failures.append(f"{name}: a text changed and nothing was found")
                return
            if any(check.startswith("checksum") for check in found):
                with suppress(WellkeptError):
                    store.repair()
                    figures.mended += not _errors(store.check(deep=True))

    def use(self, name: str, verbs: Sequence[Sequence[str]]) -> None:
        """Do everything a user does, each thing by itself: one failure must not hide another."""
        for what, act in self._acts():
            try:
                act()
            except WellkeptError as error:
                self._require_clear(f"{name} {what}", f"{error.message} {error.hint}")
            except Exception as error:  # noqa: BLE001 - that is what is looked for
                told = "".join(format_exception(error)[-3:])
                self.figures.failures.append(f"{name} {what}: {told}")
        for words in verbs:
            self._run(name, words)

    def _acts(self) -> Iterator[tuple[str, Callable[[], object]]]:
        try:
            wk = _opened(self._folder)
        except WellkeptError as error:
            self._require_clear("open", f"{error.message} {error.hint}")
            return
        with wk:
            yield "recall", lambda: wk.recall("parser limited to items")
            yield "phrase", lambda: wk.recall('"number 7"')
            yield "context", lambda: wk.context("Change the cache")
            yield "start", wk.context
            yield "iterate", lambda: list(wk.iterate())
            yield "list", lambda: wk.list(limit=20)
            yield "stats", wk.stats
            yield "get", lambda: wk.get("k7")
            yield "sessions", lambda: wk.engine.store.sessions(project=None)
            yield "remember", lambda: wk.remember("The widget is new")
            yield "doctor", lambda: wk.doctor(deep=True)
            yield "maintain", lambda: wk.maintain(dry_run=True)
            yield "learn", lambda: wk.observer.learn(["s0", "s1", "s2"])

    def _run(self, name: str, words: Sequence[str]) -> None:
        out, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(errors):
            code = run(words)
        if code == exit_codes.CRASHED:
            self.figures.failures.append(f"{name} {words[0]}: {errors.getvalue()[-600:]}")
        else:
            self._require_clear(f"{name} {words[0]}", errors.getvalue())

    def _require_clear(self, name: str, message: str) -> None:
        if _FORBIDDEN.search(message):
            self.figures.failures.append(f"{name}: {message[-600:]}")


def _errors(findings: Sequence[Finding]) -> list[str]:
    return [finding.check for finding in findings if finding.severity is Severity.ERROR]


def _contents(path: Path) -> Counter[tuple[object, ...]]:
    """Everything that people and agents are told, as it lies in the file."""
    found: Counter[tuple[object, ...]] = Counter()
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        db.text_factory = bytes
        for query in (
            "SELECT id, content, tags, files, key, payload FROM memories",
            "SELECT id, title, work FROM sessions",
            "SELECT session_id, body FROM scratchpads",
            "SELECT space, key, value FROM key_values",
            "SELECT name, text FROM skills",
        ):
            try:
                found.update((query, *row) for row in db.execute(query))
            except (sqlite3.Error, UnicodeDecodeError):
                found[(query, "cannot be read")] += 1
    return found


def columns(path: Path) -> list[tuple[str, str, str]]:
    """Table, name and type of the columns of tables that hold something, without keys."""
    with closing(sqlite3.connect(path)) as db:
        tables = db.execute(f"SELECT name FROM sqlite_schema WHERE {_TABLES}").fetchall()
        return [
            (table, column[1], column[2])
            for (table,) in tables
            if db.execute(f"SELECT EXISTS (SELECT 1 FROM {table})").fetchone()[0]
            for column in db.execute(f"PRAGMA table_info({table})")
            if not column[5]
        ]


def environment(folder: Path) -> dict[str, str]:
    """What commands must see so that they use the damaged home and nothing else."""
    return {
        "WELLKEPT_HOME": str(folder / "home"),
        "WELLKEPT_PROJECT": "demo",
        "WELLKEPT_EMBEDDING_PROVIDER": "none",
        "HOME": str(folder),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Flip, and report."""
    options = parser(__doc__)
    options.add_argument("--count", type=int, default=2_000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="wellkept-flips-") as made:
        folder = Path(made)
        (folder / "healthy").mkdir()
        healthy = make_home(folder / "healthy")
        work = folder / "work"
        work.mkdir()
        os.chdir(work)
        os.environ.update(environment(work))
        flipper = Flipper(healthy, work)
        for number, (at, bit) in enumerate(
            flips(flipper.raw, flipper.page, given.count, given.seed)
        ):
            verb = VERBS[number % len(VERBS)]
            flipper.flip(at, bit, verbs=(verb,))
            if number % 200 == 199:
                say(f"{number + 1} of {given.count} flips")
        spoiled = [
            f"UPDATE OR IGNORE {table} SET {column} = {value}"
            for table, column, kind in columns(healthy)
            for value in GARBAGE[kind]
        ]
        for number, statement in enumerate(spoiled):
            flipper.damage(statement, verbs=(VERBS[number % len(VERBS)],))
        os.chdir("/")
    figures = flipper.figures
    first: list[Json] = [*figures.failures[:10]]
    report: dict[str, Json] = {
        "seed": given.seed,
        "machine": machine(),
        "flips": figures.flips,
        "pages": len(flipper.raw) // flipper.page,
        "spoiled_columns": len(spoiled),
        "refused": figures.refused,
        "found_by_deep_check": figures.found_deep,
        "found_by_sqlite_alone": figures.found_by_sqlite,
        "nothing_found": figures.silent,
        "text_changed_and_nothing_found": figures.kept_differs_unseen,
        "mended_whole": figures.mended,
        "failures": len(figures.failures),
        "first_failures": first,
    }
    lines = table(["figure", "value"], [[k, json.dumps(v)] for k, v in report.items()])
    finish("byte_flips", report, as_json=given.json, lines=lines)
    return 1 if figures.failures else 0


if __name__ == "__main__":
    sys.exit(main())
