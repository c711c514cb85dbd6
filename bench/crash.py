"""Killing every kind of process under load: nothing acknowledged is lost, nothing comes twice.

`python -m bench.crash [--kills 200] [--seed 1] [--clients 32] [--json]` sets up a home of its own,
lets clients' hooks catch events without pause, and kills hooks, detached drains, MCP servers, HTTP
servers, backups and the commands remember, import, compact and reindex with SIGKILL at moments of a
seeded plan. Then it takes in what waits and holds the memory against what was acknowledged.
Restores, which take back what was kept, are killed on a home of their own (`crash_restore`). After
that so many clients of mixed kind work on one memory at once (`--clients 0` leaves that out). Exits
with 1 when anything is wrong.

Only processes that this program started are killed. What is not killed within `--minutes` is left
alive: the report says so and the run counts as failed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from random import Random
from time import monotonic

from bench.crash_clients import run_hook, work_at_once
from bench.crash_ledger import (
    HookEvent,
    Kind,
    Ledger,
    Verdict,
    by_kind,
    settle,
    verdict,
    words_of,
)
from bench.crash_restore import RestoreKiller
from bench.crash_scene import (
    GaveUpError,
    HttpServer,
    Keeper,
    McpServer,
    Process,
    Scene,
    drains_running,
    drains_started,
    finished,
    kill_drain,
    wait_until,
    write_export,
)
from bench.report import finish, machine, parser, say, table
from wellkept.core.codec import Json

SHARES = {
    "hook": 0.38, "drain": 0.22, "mcp": 0.1, "http": 0.1, "backup": 0.05, "remember": 0.06,
    "import": 0.03, "compact": 0.02, "reindex": 0.02, "restore": 0.02,
}  # fmt: skip
_IMPORTED = 20
FEEDERS = 2
_TRIES = 60
# A payload so large that a kill can hit the middle of its one write.
_LARGE_BYTES = 8 << 20
_KILLED = -9
_FIRST_ANSWER_S = 60.0
_LIVES_S = {"drain": 1.5, "mcp": 4.0, "http": 2.0, "backup": 0.02}


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill of the plan: who, when as a share of how long such a one usually lives (or is let
    live once it is up), and for a hook whether its event is a large one."""

    victim: str
    moment: float
    large: bool = False


def plan(kills: int, seed: int) -> list[Kill]:
    """Who is killed and when: the same for the same seed."""
    chance = Random(seed)
    counts = {victim: max(1, round(kills * share)) for victim, share in SHARES.items()}
    counts["hook"] += kills - sum(counts.values())
    made = [
        Kill(victim, chance.random(), victim == "hook" and chance.random() < 0.3)
        for victim, count in counts.items()
        for _ in range(count)
    ]
    chance.shuffle(made)
    return made


@dataclass(slots=True)
class Tally:
    """What happened so far."""

    killed: Counter[str] = field(default_factory=Counter[str])
    missed: Counter[str] = field(default_factory=Counter[str])
    most_drains: int = 0

    def as_json(self) -> dict[str, Json]:
        """By victim: how many were hit, and how many had ended before they could be."""
        return {
            "killed": dict(self.killed),
            "ended_before": dict(self.missed),
            "most_detached_drains_at_once": self.most_drains,
        }


class Feeders:
    """Threads that start hooks without pause, and kill some of them as the plan says."""

    def __init__(self, scene: Scene, ledger: Ledger, tally: Tally, *, seed: int) -> None:
        self.kills: SimpleQueue[Kill] = SimpleQueue()
        self.failed: BaseException | None = None
        self._lives_s = {False: 0.05, True: 0.1}
        self._scene, self._ledger, self._tally = scene, ledger, tally
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(Random(f"{seed}-{number}"),), daemon=True)
            for number in range(FEEDERS)
        ]

    def __enter__(self) -> Feeders:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run(self, chance: Random) -> None:
        try:
            while not self._stopping.is_set():
                self._next(chance)
                now = len(drains_running(self._scene))
                self._tally.most_drains = max(self._tally.most_drains, now)
        except (GaveUpError, OSError) as error:
            self.failed = error

    def _next(self, chance: Random) -> None:
        try:
            kill = self.kills.get_nowait() if chance.random() < 0.3 else None
        except Empty:
            kill = None
        event = self._ledger.hook_event(self._scene, chance)
        if kill is None:
            began_s = monotonic()
            run_hook(self._scene, self._ledger, event)
            self._lived(monotonic() - began_s, large=False)
        elif self._kill(kill, event):
            self._tally.killed["hook"] += 1
        else:
            self._tally.missed["hook"] += 1
            self.kills.put(kill)

    def _kill(self, kill: Kill, event: HookEvent) -> bool:
        more = b', "more": "%b"}' % (b"x" * _LARGE_BYTES)
        payload = event.payload[:-1] + more if kill.large else event.payload
        began_s = monotonic()
        process = self._scene.start_hook(event.client, event.event, payload)
        code = strike(process, kill.moment * self._lives_s[kill.large])
        self._ledger.note(event.sent, sure=code == 0)
        if code != _KILLED:
            self._lived(monotonic() - began_s, large=kill.large)
        return code == _KILLED

    def _lived(self, seconds: float, *, large: bool) -> None:
        """Learn how long hooks live here and now, so that kills hit every part of their lives."""
        self._lives_s[large] += (seconds - self._lives_s[large]) / 8


def strike(process: Process, after_s: float) -> int:
    """Kill a process after a while; returns how it ended, which may have been before."""
    threading.Event().wait(after_s)
    process.kill()
    return finished(process).code


class Killer:
    """Carries out a plan."""

    def __init__(self, scene: Scene, *, seed: int, minutes: float) -> None:
        self.ledger, self.tally = Ledger(), Tally()
        self._scene = scene
        self._chance = Random(seed)
        self._feeders = Feeders(scene, self.ledger, self.tally, seed=seed)
        self.deadline_s = monotonic() + minutes * 60
        self._copies = 0
        self._ways: dict[str, Callable[[Kill], bool]] = {
            "drain": self._kill_drain,
            "mcp": lambda kill: self._kill_server(kill, McpServer),
            "http": lambda kill: self._kill_server(kill, HttpServer),
            "backup": self._kill_backup,
            "remember": self._kill_remember,
            "import": self._kill_import,
            "compact": lambda kill: self._kill_command(kill, "compact", "--yes"),
            "reindex": lambda kill: self._kill_command(kill, "reindex"),
        }
        self._command_lives_s: dict[str, float] = {}
        self._first_answers_s: dict[str, float] = {}

    def run(self, kills: Sequence[Kill]) -> None:
        """Kill everyone of the plan while there is time; hooks are left to those who start them."""
        hooks = 0
        with self._feeders:
            for number, kill in enumerate(kills):
                if self._time_is_over():
                    break
                if kill.victim == "hook":
                    self._feeders.kills.put(kill)
                    hooks += 1
                else:
                    self._until_hit(kill)
                if number % 20 == 19:
                    say(f"{number + 1} of {len(kills)} kills")
            wait_until(lambda: self._is_through(hooks), "the kills of hooks")
        if self._feeders.failed is not None:
            raise self._feeders.failed
        wait_until(lambda: not drains_running(self._scene), "the end of the last drain")

    def _is_through(self, hooks: int) -> bool:
        return self._feeders.failed is not None or self.tally.killed["hook"] >= hooks

    def _time_is_over(self) -> bool:
        return monotonic() > self.deadline_s

    def _until_hit(self, kill: Kill) -> None:
        """Try again, ever earlier, while the victim ends before it can be killed."""
        for number in range(_TRIES):
            if self._ways[kill.victim](replace(kill, moment=kill.moment * 0.7**number)):
                self.tally.killed[kill.victim] += 1
                return
            self.tally.missed[kill.victim] += 1
        raise GaveUpError(f"no {kill.victim} could be killed in {_TRIES} tries")

    def _kill_drain(self, kill: Kill) -> bool:
        known = set(drains_started(self._scene))

        def started() -> bool:
            event = self.ledger.hook_event(self._scene, self._chance, kind=Kind.TURN)
            run_hook(self._scene, self.ledger, event)
            return not known.issuperset(drains_started(self._scene))

        wait_until(started, "the start of a detached drain")
        (pid, *_) = [pid for pid in drains_started(self._scene) if pid not in known]
        threading.Event().wait(kill.moment * _LIVES_S["drain"])
        return kill_drain(pid, self._scene)

    def _kill_server(self, kill: Kill, start: Callable[[Scene], Keeper]) -> bool:
        """Kill a server that keeps statements. The first of its kind shows how long it takes to
        answer here: on a loaded machine all would be killed before they have kept anything."""
        server, began_s, answered = start(self._scene), monotonic(), threading.Event()
        asking = threading.Thread(target=self._ask_on, args=(server, answered), daemon=True)
        asking.start()
        try:
            if kill.victim not in self._first_answers_s:
                answered.wait(_FIRST_ANSWER_S)
                self._first_answers_s[kill.victim] = monotonic() - began_s
            life_s = max(_LIVES_S[kill.victim], 2 * self._first_answers_s[kill.victim])
            threading.Event().wait(kill.moment * life_s)
        finally:
            # Also when the whole run is interrupted: nobody may outlive it.
            server.process.kill()
        asking.join()
        return finished(server.process).code == _KILLED

    def _ask_on(self, server: Keeper, answered: threading.Event) -> None:
        """Have statements kept until the server dies."""
        while True:
            statement = self.ledger.statement()
            try:
                sure = server.keep(words_of(statement))
            except (OSError, ValueError):
                self.ledger.note(statement, sure=False)
                return
            self.ledger.note(statement, sure=sure)
            answered.set()
            if not sure:
                self.ledger.complain(f"{type(server).__name__} refused to keep {statement.name}")

    def _kill_command(self, kill: Kill, *words: str) -> bool:
        """Kill a command somewhere in its life; the first of its kind shows how long that is."""
        life_s = self._command_lives_s.get(kill.victim)
        process, began_s = self._scene.start_cli(*words), monotonic()
        code = finished(process).code if life_s is None else strike(process, kill.moment * life_s)
        if code != _KILLED:
            self._command_lives_s[kill.victim] = monotonic() - began_s
        if code not in (0, _KILLED):
            self.ledger.complain(f"{words[0]} ended with {code}")
        return code == _KILLED

    def _kill_remember(self, kill: Kill) -> bool:
        statement = self.ledger.statement()
        was_killed = self._kill_command(kill, "remember", words_of(statement))
        self.ledger.note(statement, sure=not was_killed)
        return was_killed

    def _kill_import(self, kill: Kill) -> bool:
        statements = [self.ledger.statement() for _ in range(_IMPORTED)]
        self._copies += 1
        path = self._scene.backups.parent / f"in-{self._copies}.jsonl"
        write_export(path, map(words_of, statements))
        was_killed = self._kill_command(kill, "import", str(path))
        for statement in statements:
            self.ledger.note(statement, sure=not was_killed)
        return was_killed

    def _kill_backup(self, kill: Kill) -> bool:
        self._copies += 1
        target = self._scene.backups / f"{self._copies}.db"
        before = set(self._scene.backups.iterdir())
        process = self._scene.start_cli("backup", str(target))
        has_begun = lambda: set(self._scene.backups.iterdir()) != before  # noqa: E731
        wait_until(lambda: has_begun() or process.poll() is not None, "a backup")
        return strike(process, kill.moment * _LIVES_S["backup"]) == _KILLED


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did, and whether the memory is as it should be."""

    figures: dict[str, Json]
    verdict: Verdict

    @property
    def is_complete(self) -> bool:
        """Whether everybody of the plan was killed."""
        return self.figures.get("planned") == self.figures.get("kills")


def kill_run(
    root: Path,
    *,
    kills: Sequence[Kill],
    seed: int,
    minutes: float,
    package: Path | None = None,
) -> Outcome:
    """Carry out a plan below a folder, then look; with another build of `wellkept` if given."""
    scene = Scene.set_up(root, package=package)
    killer = Killer(scene, seed=seed, minutes=minutes)
    ledger, began_s = killer.ledger, monotonic()
    killer.run([kill for kill in kills if kill.victim != "restore"])
    settle(scene)
    if restores := [kill.moment for kill in kills if kill.victim == "restore"]:
        told = RestoreKiller(root / "restored").run(restores, deadline_s=killer.deadline_s)
        killer.tally.killed["restore"] += told.killed
        killer.tally.missed["restore"] += told.missed
        ledger.complaints.extend(told.complaints)
    figures: dict[str, Json] = {
        "planned": len(kills),
        "kills": killer.tally.killed.total(),
        **killer.tally.as_json(),
        "detached_drains_started": len(drains_started(scene)),
        "acknowledged": by_kind(ledger.sure),
        "not_acknowledged": by_kind(ledger.unsure),
        "seconds": round(monotonic() - began_s, 1),
    }
    return Outcome(figures, verdict(scene, ledger))


def crowd_run(root: Path, *, clients: int, rounds: int, seed: int) -> Outcome:
    """Let clients of mixed kind work on one memory at once, then look."""
    scene, ledger, began_s = Scene.set_up(root), Ledger(), monotonic()
    told = work_at_once(scene, ledger, clients=clients, rounds=rounds, seed=seed)
    wait_until(lambda: not drains_running(scene), "the end of the last drain")
    settle(scene)
    figures: dict[str, Json] = {
        "clients": clients,
        "rounds": rounds,
        **told.as_json(),
        "acknowledged": by_kind(ledger.sure),
        "not_acknowledged": by_kind(ledger.unsure),
        "seconds": round(monotonic() - began_s, 1),
    }
    return Outcome(figures, verdict(scene, ledger))


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill, let many work at once, and report."""
    options = parser(__doc__)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--clients", type=int, default=32)
    options.add_argument("--rounds", type=int, default=3, help="what each client does so often")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--minutes", type=float, default=30.0)
    given = options.parse_args(arguments)
    if not hasattr(os, "pidfd_open"):
        options.error("detached drains can be killed safely on Linux only")
    outcomes: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="wellkept-crash-") as folder:
        if given.kills:
            kills = plan(given.kills, given.seed)
            outcomes["killing"] = kill_run(
                Path(folder, "k"), kills=kills, seed=given.seed, minutes=given.minutes
            )
        if given.clients:
            say(f"{given.clients} clients at once")
            outcomes["at_once"] = crowd_run(
                Path(folder, "c"), clients=given.clients, rounds=given.rounds, seed=given.seed
            )
    clean = all(one.verdict.is_clean and one.is_complete for one in outcomes.values())
    figures: dict[str, Json] = {
        name: {**one.figures, "verdict": one.verdict.as_json()} for name, one in outcomes.items()
    }
    report = {"seed": given.seed, "machine": machine(), **figures, "clean": clean}
    finish("crash", report, as_json=given.json, lines=_lines(outcomes))
    return 0 if clean else 1


def _lines(outcomes: Mapping[str, Outcome]) -> list[str]:
    rows = [
        [f"{name}: {key}", json.dumps(value)]
        for name, one in outcomes.items()
        for key, value in {**one.figures, **one.verdict.as_json()}.items()
    ]
    return table(["figure", "value"], rows)


if __name__ == "__main__":
    sys.exit(main())
