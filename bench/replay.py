"""Whether learning from sessions helps: made-up histories replayed through the real event path.

    python -m bench.replay [--repo PATH] [--histories N] [--seed N]
        [--embedder NAME] [--json]

Each history (see `bench.replay_histories`) is caught into a spool, drained and learned from session
by session, as live capture does. Measured: the share of planted facts that are memories after the
third session; promoted memories that stand for no planted fact, for each session; the share of
redundant reads (files that an earlier session had read) that prefetching at the session's start
would have saved in session 15; how many of the moments where a warning would help had one; and the
tokens said for each useful item.
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

import holdfast
from bench.replay_histories import History, Planted, Session, make_history, source_files
from bench.report import Target, finish, machine, parser, say
from holdfast.app.capture import take_events
from holdfast.app.facade import Holdfast
from holdfast.app.spool_folder import SpoolFolder
from holdfast.core.clock import to_ms
from holdfast.core.codec import Json
from holdfast.core.events import Event
from holdfast.core.memory import Memory
from holdfast.core.payloads import PrefetchPattern
from holdfast.core.sessions import SpoolEntry
from holdfast.core.text import content_words, jaccard
from holdfast.core.types import MemoryType
from holdfast.store import spool
from holdfast.testing.fakes import ManualClock

_FACTS = ("co_dependence", "flaky_command", "dead_end", "convention")
_EARLY, _LATE = 3, 15
_SEEN_AGAIN = 5
_ALIKE = 0.6


@dataclass(slots=True)
class Measured:
    """What one history gave."""

    early: dict[str, bool] = field(default_factory=dict[str, bool])
    in_the_end: dict[str, bool] = field(default_factory=dict[str, bool])
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
    with holdfast.open(
        folder / "memory.db", cwd=work, clock=clock, environment=env, embedder=embedder
    ) as hf:
        known: set[str] = set()
        for number, session in enumerate(history.sessions, start=1):
            clock.now = session.events[0].origin.at
            _ask(hf, session, history.planted, result, number=number)
            if number == _LATE:
                _count_reads(hf, session, known, result)
            known.update(session.reads)
            clock.now = session.events[-1].origin.at + timedelta(minutes=1)
            _catch(session.events, env)
            take_events(hf, translate=_translate, environment=env)
            result.sessions += 1
            if number == _EARLY:
                result.early = _found(hf, history.planted)
        result.in_the_end = _found(hf, history.planted)
        result.false_promotions = _false(hf, history.planted)
    return result


def _files_of(history: History) -> set[str]:
    planted = history.planted
    return {planted.file_a, planted.file_b, planted.dead_file, *planted.module_files}


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


def _translate(entry: SpoolEntry) -> Sequence[Event]:
    event: Event = pickle.loads(entry.payload)
    return [event]


# -- What is known --------------------------------------------------------------------------------


def _found(hf: Holdfast, planted: Planted) -> dict[str, bool]:
    memories = [m for m in hf.iterate() if _is_statement(m)]
    return {fact: any(_stands_for(m, fact, planted) for m in memories) for fact in _FACTS}


def _false(hf: Holdfast, planted: Planted) -> list[str]:
    """What was promoted by rule and stands for nothing that was planted."""
    why = hf.engine.store.explained(project=hf.project, limit=1_000)
    memories = hf.engine.store.get([one.memory_id for one in why])
    return [
        f"{memory.type.value}: {memory.content}"
        for memory in memories
        if memory.is_open and not _holds(memory, planted)
    ]


def _holds(memory: Memory, planted: Planted) -> bool:
    """Whether something holds in the history: what was planted, the way it is always done there,
    and what is always read in the part that it works in."""
    own = {planted.file_a, planted.file_b, planted.dead_file, *planted.module_files}
    if memory.type is MemoryType.WORKFLOW_RECIPE:
        return set(memory.files) <= own
    if isinstance(memory.payload, PrefetchPattern):
        return set(memory.payload.always_read_files) <= own
    return any(_stands_for(memory, fact, planted) for fact in _FACTS)


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
    hf: Holdfast, session: Session, planted: Planted, result: Measured, *, number: int
) -> None:
    """Ask for context where a warning would help, once the fact is known. A dead end that was seen
    once is not pushed at anyone, so it counts from its second sighting on."""
    known = _found(hf, planted)
    asked = (
        ("co_dependence", hf.context(files=(planted.file_a,), session=session.id)),
        ("dead_end", hf.context(files=(planted.dead_file,), session=session.id)),
        ("flaky_command", hf.context(f"How do I run {planted.command}?", session=session.id)),
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


def _count_reads(hf: Holdfast, session: Session, known: set[str], result: Measured) -> None:
    """Reads of files that earlier sessions had read, and those that prefetching names."""
    patterns = [
        m.payload
        for m in hf.iterate()
        if m.type is MemoryType.PREFETCH_PATTERN and isinstance(m.payload, PrefetchPattern)
    ]
    trigger = session.first_file
    listed = {
        name
        for pattern in patterns
        if trigger.startswith(f"{pattern.module_trigger.rstrip('/')}/")
        for name in (*pattern.always_read_files, *pattern.frequently_read_files)
    }
    again = [name for name in session.reads if name in known]
    result.redundant += len(again)
    result.avoided += sum(name in listed for name in again)


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


def run(options: Namespace) -> dict[str, Json]:
    """Replay the histories and put the figures together."""
    files = source_files(options.repo)
    results: list[Measured] = []
    began = process_time()
    for number in range(options.histories):
        with TemporaryDirectory(prefix="holdfast-replay-") as name:
            folder = Path(name)
            history = make_history(files, seed=options.seed + number, cwd=str(folder / "project"))
            results.append(replay(history, folder, embedder=options.embedder))
        say(f"history {number + 1} of {options.histories}")
    told = figures(results)
    told["cpu_s"] = round(process_time() - began, 1)
    told["targets"] = [target.as_json() for target in targets(told)]
    told["machine"] = machine()
    return told


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--repo", type=Path, default=Path(__file__).parents[1])
    made.add_argument("--histories", type=int, default=6)
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--embedder", default="none", help="a provider's name; none is quickest")
    options = made.parse_args()
    told = run(options)
    skip = ("targets", "machine")
    lines = [f"{name}: {value}" for name, value in told.items() if name not in skip]
    finish("replay", told, as_json=options.json, lines=lines)


if __name__ == "__main__":
    main()
