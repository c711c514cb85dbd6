"""Real questions on SQLite and on PostgreSQL: are the answers the same, and as good?

`python -m bench.team_answers [--locomo FILE] [--longmemeval FILE] [--first N]` keeps each haystack
in both engines through the shipped `remember`, asks every question, and compares the ten best. It
starts a PostgreSQL server of its own (extra `postgres-dev`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import wellkept
from bench.locomo_data import load as load_locomo
from bench.longmemeval import load as load_longmemeval
from bench.measures import recall, recall_all
from bench.report import finish, machine, parser, say, table
from bench.team import new_database, same_share, server
from bench.warm import LIMIT
from wellkept.core.codec import Json
from wellkept.core.memory import MemoryDraft


@dataclass(frozen=True, slots=True)
class Haystack:
    """What is kept under which name, when it is asked, and the questions with what answers them."""

    name: str
    asked_at: datetime
    drafts: dict[str, MemoryDraft]
    questions: tuple[tuple[str, frozenset[str]], ...]


def locomo(path: Path) -> Iterator[Haystack]:
    """Conversations, whose evidence is turns."""
    for each in load_locomo(path):
        yield Haystack(
            each.name,
            each.ends_at,
            {turn.id: turn.draft() for turn in each.turns},
            tuple((question.text, question.evidence) for question in each.questions),
        )


def longmemeval(path: Path) -> Iterator[Haystack]:
    """One question each, whose evidence is sessions."""
    for number, each in enumerate(load_longmemeval(path), start=1):
        yield Haystack(
            f"question {number}",
            each.asked_at,
            {turn.name: turn.draft for turn in each.turns},
            ((each.text, each.wanted),),
        )


def answers(location: str, haystack: Haystack) -> list[list[str]]:
    """The names of the ten best for each question."""
    with wellkept.open(
        location, project="asked", embedder="static", clock=lambda: haystack.asked_at
    ) as memory:
        kept = memory.remember_many(list(haystack.drafts.values()), merge_similar=False)
        names = {k.memory.id: name for k, name in zip(kept, haystack.drafts, strict=True)}
        return [
            [names[hit.memory.id] for hit in memory.recall(text, count_access=False)][:LIMIT]
            for text, _ in haystack.questions
        ]


def compared(started: Any, prefix: str, haystacks: Sequence[Haystack]) -> dict[str, Json]:
    """How alike and how good both engines answer."""
    left: list[list[str]] = []
    right: list[list[str]] = []
    for number, haystack in enumerate(haystacks):
        say(f"{haystack.name}: {len(haystack.drafts):,} memories")
        with tempfile.TemporaryDirectory() as folder:
            left += answers(str(Path(folder) / "memory.db"), haystack)
        right += answers(new_database(started, f"{prefix}_{number}"), haystack)
    wanted = [evidence for haystack in haystacks for _, evidence in haystack.questions]
    return {
        **same_share(left, right),
        "sqlite": _good(prefix, left, wanted),
        "postgres": _good(prefix, right, wanted),
    }


def _good(
    prefix: str, found: Sequence[Sequence[str]], wanted: Sequence[frozenset[str]]
) -> dict[str, Json]:
    pairs = list(zip(found, wanted, strict=True))
    if prefix == "locomo":
        name, scores = "turn_recall_at_10", [recall(f, w, LIMIT) for f, w in pairs]
    else:
        name = "all_sessions_in_five"
        scores = [recall_all(_sessions(f), w, 5) for f, w in pairs]
    return {name: round(100 * sum(scores) / len(scores), 2)}


def _sessions(turns: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(turn.partition("/")[0] for turn in turns))


def main() -> None:
    """Run the benchmark."""
    options = parser(__doc__)
    options.add_argument("--locomo", type=Path, help="a LoCoMo file")
    options.add_argument("--longmemeval", type=Path, help="a LongMemEval file")
    options.add_argument("--first", type=int, help="only so many haystacks")
    asked = options.parse_args()
    sets = {
        name: list(load(path))[: asked.first]
        for name, path, load in (
            ("locomo", asked.locomo, locomo),
            ("longmemeval", asked.longmemeval, longmemeval),
        )
        if path is not None
    }
    if not sets:
        options.error("name at least one file: --locomo FILE or --longmemeval FILE")
    figures: dict[str, Any] = {"machine": machine()}
    with server() as started:
        for name, haystacks in sets.items():
            figures[name] = compared(started, name, haystacks)
    finish("team_answers", figures, as_json=asked.json, lines=_lines(figures, list(sets)))


def _lines(figures: dict[str, Any], names: Sequence[str]) -> list[str]:
    rows: list[list[str]] = []
    for name in names:
        one = figures[name]
        ((measure, sqlite),) = one["sqlite"].items()
        same = (f"{100 * one[kind]:.1f}" for kind in ("same_set", "same_order", "shared_hits"))
        rows.append([name, str(one["questions"]), *same, measure, str(sqlite)])
        rows[-1].append(str(one["postgres"][measure]))
    header = ("", "questions", "same ten", "order", "shared", "measure", "SQLite", "PostgreSQL")
    return table(header, rows)


if __name__ == "__main__":
    main()
