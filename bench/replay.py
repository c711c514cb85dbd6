"""Whether learning from sessions helps: made-up histories replayed through the real event path.

    python -m bench.replay [--repo PATH]... [--histories N] [--seed N]
        [--embedder NAME] [--json]

Each history (see `bench.replay_histories`) is caught into a spool, drained and learned from session
by session, as live capture does. Measured: the share of planted facts that are memories after the
third session; promoted memories that do not hold, for each session, and the share of those that do;
the share of redundant reads (files that an earlier session had read) in session 15 whose file
`observer.prefetch` names when it is asked; how many of the moments where a warning would help had
one; and the tokens said for each useful item.

What holds is judged without asking memory: what was planted; two files that the repository's whole
history shows together; what most sessions of a module did use. Everything else is false.
"""

from __future__ import annotations

import pickle
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import wellkept
from bench.replay_histories import History, Planted, make_history, read_source
from bench.replay_writer import Session
from bench.report import Target, finish, machine, parser, say
from wellkept.api.learning import drain_and_learn
from wellkept.api.wellkept import Wellkept
from wellkept.core.clock import to_ms
from wellkept.core.code_modules import module_of
from wellkept.core.codec import Json
from wellkept.core.memory import Memory
from wellkept.core.payloads import PrefetchPattern
from wellkept.core.session.events import Event
from wellkept.core.session.sessions import SpoolEntry
from wellkept.core.text import content_words, jaccard
from wellkept.core.types import MemoryType
from wellkept.observe.observer.spool_folder import SpoolFolder
from wellkept.store import spool
from wellkept.testing.fakes import ManualClock

_FACTS = ("co_dependence", "flaky_command", "dead_end", "convention")
_PAIRS = (MemoryType.CAUSAL_DEPENDENCY, MemoryType.GOTCHA)
_EARLY, _LATE = 3, 15
_SEEN_AGAIN = 5
_SHOWN_BY_REPO = (
    "planted_promoted_by_session_3_percent",
    "false_promotions_per_session",
    "promoted_that_hold_percent",
    "redundant_reads_avoided_percent",
)
_ALIKE = 0.6


@dataclass(slots=True)
class Measured:
    """What one history gave."""

    early: dict[str, bool] = field(default_factory=dict[str, bool])
    in_the_end: dict[str, bool] = field(default_factory=dict[str, bool])
    promoted: int = 0
    false_promotions: list[str] = field(default_factory=list[str])
    redundant: int = 0
    avoided: int = 0
    moments: int = 0
    warned: int = 0
    missed: Counter[str] = field(default_factory=Counter[str])
    tokens: int = 0
    useful: int = 0
    sessions: int = 0


def replay(history: History, folder: Path, *, embedder: str) -> Measured:
    """Take one history in, session by session, and look after each."""
    work = folder / "project"
    work.mkdir(exist_ok=True)
    for name in _files_of(history):
        target = work / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("x = 1\n" * 80, "utf-8")
    env = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_STATE_HOME": str(folder)}
    clock = ManualClock(history.sessions[0].events[0].origin.at)
    result = Measured()
    with wellkept.open(
        folder / "memory.db", cwd=work, clock=clock, environment=env, embedder=embedder
    ) as wk:
        known: set[str] = set()
        for number, session in enumerate(history.sessions, start=1):
            clock.now = session.events[0].origin.at
            _ask(wk, session, history.planted, result, number=number)
            if number == _LATE:
                _count_reads(wk, session, known, result)
            known.update(session.reads)
            clock.now = session.events[-1].origin.at + timedelta(minutes=1)
            _catch(session.events, env)
            drain_and_learn(wk, translate=_translate, environment=env)
            result.sessions += 1
            if number == _EARLY:
                result.early = _found(wk, history.planted)
        result.in_the_end = _found(wk, history.planted)
        _judge(wk, history, result)
    return result


def _files_of(history: History) -> set[str]:
    return set(history.planted.files).union(*(session.uses for session in history.sessions))


def _catch(events: Sequence[Event], env: Mapping[str, str]) -> None:
    folder = SpoolFolder.of(env).folder
    for event in events:
        spool.append(
            str(folder),
            client="replay",
            session=event.origin.session_id,
            event=type(event).__name__,
            payload=pickle.dumps(event),
            now_ms=to_ms(event.origin.at),
        )


def _translate(entry: SpoolEntry, _redact: object) -> Sequence[Event]:
    event: Event = pickle.loads(entry.payload)
    return [event]


# -- What is known --------------------------------------------------------------------------------


def _found(wk: Wellkept, planted: Planted) -> dict[str, bool]:
    memories = [m for m in wk.iterate() if _is_statement(m)]
    return {fact: any(_stands_for(m, fact, planted) for m in memories) for fact in _FACTS}


def _judge(wk: Wellkept, history: History, result: Measured) -> None:
    """What was promoted by rule, and which of it does not hold."""
    why = wk.engine.store.latest_explanations(project=wk.project, limit=1_000)
    memories = [m for m in wk.engine.store.get([one.memory_id for one in why]) if m.is_open]
    result.promoted = len(memories)
    result.false_promotions = [
        f"{memory.type.value}: {memory.content}"
        for memory in memories
        if not _holds(memory, history)
    ]


def _holds(memory: Memory, history: History) -> bool:
    """Whether something holds in the history."""
    planted = history.planted
    if any(_stands_for(memory, fact, planted) for fact in _FACTS):
        return True
    if memory.type is MemoryType.WORKFLOW_RECIPE:
        return bool(memory.files) and set(memory.files) <= planted.files
    if isinstance(memory.payload, PrefetchPattern):
        return all(
            _is_used(name, memory.payload.module_trigger, history)
            for name in memory.payload.always_read_files
        )
    pair = tuple(sorted(memory.files))
    return memory.type in _PAIRS and pair in history.source.together


def _is_used(name: str, module: str, history: History) -> bool:
    """Whether most sessions that use files of a module use a file."""
    there = [s for s in history.sessions if any(module_of(n) == module for n in s.uses)]
    return 2 * sum(name in s.uses for s in there) > len(there)


def _is_statement(memory: Memory) -> bool:
    logs = (MemoryType.OBSERVATION, MemoryType.PROMPT, MemoryType.TIMELINE)
    return memory.type not in logs and memory.type is not MemoryType.WORK_UNIT_OUTCOME


def _stands_for(memory: Memory, fact: str, planted: Planted) -> bool:
    if fact == "co_dependence":
        is_kind = memory.type in (MemoryType.CAUSAL_DEPENDENCY, MemoryType.GOTCHA)
        return is_kind and {planted.file_a, planted.file_b} <= set(memory.files)
    if fact == "flaky_command":
        is_kind = memory.type is MemoryType.ERROR_PATTERN
        return is_kind and planted.command in memory.content and planted.helps in memory.content
    if fact == "dead_end":
        return memory.type is MemoryType.DEAD_END and planted.dead_file in memory.files
    mine = content_words(planted.convention)
    return jaccard(mine, content_words(memory.content)) >= _ALIKE


# -- What is said ---------------------------------------------------------------------------------


def _ask(
    wk: Wellkept, session: Session, planted: Planted, result: Measured, *, number: int
) -> None:
    """Ask for context where a warning would help, once the fact is known. A dead end that one
    session showed is not injected, so it counts from its second session on."""
    known = _found(wk, planted)
    asked = (
        ("co_dependence", wk.context(files=(planted.file_a,), session=session.id)),
        ("dead_end", wk.context(files=(planted.dead_file,), session=session.id)),
        ("flaky_command", wk.context(f"How do I run {planted.command}?", session=session.id)),
    )
    for fact, pack in asked:
        if not known[fact] or (fact == "dead_end" and number <= _SEEN_AGAIN):
            continue
        items = [item.memory for item in (*pack.items, *pack.more)]
        warned = any(_warns_of(memory, fact, planted) for memory in items)
        result.moments += 1
        result.warned += warned
        result.missed[fact] += not warned
        result.tokens += pack.used_tokens
        result.useful += sum(any(_warns_of(m, f, planted) for f in _FACTS) for m in items)


def _warns_of(memory: Memory, fact: str, planted: Planted) -> bool:
    """Whether a memory tells of a fact; of two files that go together, any that names the other."""
    if fact == "co_dependence" and planted.file_b in memory.content:
        return memory.type is not MemoryType.PROMPT
    return _stands_for(memory, fact, planted)


def _count_reads(wk: Wellkept, session: Session, known: set[str], result: Measured) -> None:
    """Reads of files that earlier sessions had read, and how many of them `observer.prefetch` names
    when it is asked. Nothing of it is injected. Each file counts once per session."""
    handed = {one.path for one in wk.observer.prefetch([session.first_file])}
    again = [name for name in dict.fromkeys(session.reads) if name in known]
    result.redundant += len(again)
    result.avoided += sum(name in handed for name in again)


# -- Figures --------------------------------------------------------------------------------------


def figures(results: Sequence[Measured]) -> dict[str, Json]:
    """The figures of all histories together."""
    sessions = sum(r.sessions for r in results)
    early = [found for r in results for found in r.early.values()]
    late = [found for r in results for found in r.in_the_end.values()]
    wrong = [text for r in results for text in r.false_promotions]
    redundant, avoided = sum(r.redundant for r in results), sum(r.avoided for r in results)
    moments, warned = sum(r.moments for r in results), sum(r.warned for r in results)
    useful = sum(r.useful for r in results)
    by_fact: dict[str, Json] = {
        fact: round(100 * sum(r.early[fact] for r in results) / len(results), 1) for fact in _FACTS
    }
    return {
        "histories": len(results),
        "sessions": sessions,
        "planted_promoted_by_session_3_percent": round(100 * sum(early) / len(early), 1),
        "planted_promoted_in_the_end_percent": round(100 * sum(late) / len(late), 1),
        "by_fact_percent": by_fact,
        "false_promotions_per_session": round(len(wrong) / sessions, 3),
        "promoted": sum(r.promoted for r in results),
        "promoted_that_hold_percent": round(
            100 * (1 - len(wrong) / sum(r.promoted for r in results)), 1
        )
        if any(r.promoted for r in results)
        else None,
        "false_promotions": list[Json](wrong[:20]),
        "redundant_reads_in_session_15": redundant,
        "redundant_reads_avoided_percent": round(100 * avoided / redundant, 1)
        if redundant
        else 0.0,
        "warnings_in_time_percent": round(100 * warned / moments, 1) if moments else 0.0,
        "warning_moments": moments,
        "warnings_missed": {fact: sum(r.missed[fact] for r in results) for fact in _FACTS},
        "tokens_per_useful_item": round(sum(r.tokens for r in results) / useful, 1)
        if useful
        else None,
    }


def targets(told: Mapping[str, Json]) -> list[Target]:
    """What was promised."""

    def number(name: str) -> float | None:
        value = told[name]
        return float(value) if isinstance(value, (int, float)) else None

    return [
        Target(
            "planted facts promoted by session 3, %",
            90.0,
            number("planted_promoted_by_session_3_percent"),
            at_least=True,
        ),
        Target("false promotions per session", 0.2, number("false_promotions_per_session")),
        Target(
            "redundant reads avoided in session 15, %",
            30.0,
            number("redundant_reads_avoided_percent"),
            at_least=True,
        ),
    ]


def _name(repo: Path) -> str:
    parts = repo.resolve().parts
    return parts[-2] if parts[-1] == "repo" else parts[-1]


def run(options: Namespace) -> dict[str, Json]:
    """Replay the histories of every repository and put the figures together."""
    results: list[Measured] = []
    by_repo: dict[str, Json] = {}
    began = process_time()
    for repo in options.repo or [Path(__file__).parents[1]]:
        source = read_source(repo)
        mine: list[Measured] = []
        for number in range(options.histories):
            with TemporaryDirectory(prefix="wellkept-replay-") as name:
                work = str(Path(name) / "project")
                history = make_history(source, seed=options.seed + number, cwd=work)
                mine.append(replay(history, Path(name), embedder=options.embedder))
            say(f"{_name(repo)}: history {number + 1} of {options.histories}")
        told = figures(mine)
        by_repo[_name(repo)] = {name: told[name] for name in _SHOWN_BY_REPO}
        results += mine
    told = figures(results)
    told["by_repository"] = by_repo
    told["cpu_s"] = round(process_time() - began, 1)
    told["targets"] = [target.as_json() for target in targets(told)]
    told["machine"] = machine()
    return told


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--repo", type=Path, action="append", help="may be given several times")
    made.add_argument("--histories", type=int, default=6, help="for each repository")
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--embedder", default="none", help="a provider's name; none is quickest")
    options = made.parse_args()
    told = run(options)
    skip = ("targets", "machine")
    lines = [f"{name}: {value}" for name, value in told.items() if name not in skip]
    finish("replay", told, as_json=options.json, lines=lines)


if __name__ == "__main__":
    main()
