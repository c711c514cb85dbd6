"""Session retrieval on LongMemEval, through the shipped `remember` and `recall`.

    python -m bench.longmemeval --data FILE [--first N] [--models static,minilm] [--reranker NAME]
        [--json]

Each question has a haystack of its own: every turn is remembered with its role, session, place
and date, then the question is recalled as of its own date, as recall comes (default limit) and
with 100 asked for. A session ranks by its best turn.
Session ids are replaced by numbers before anything is stored, because the published ids of the
answers give them away. Questions without an answer (`_abs`) are left out, as in the benchmark.
Further models are set beside the first as recall comes; MiniLM takes hours for all questions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.baselines import Baselines
from bench.measures import ndcg, recall_all, recall_any
from bench.model_ways import Way, add_models, chosen_ways, opened
from bench.report import Target, Timing, finish, machine, parser, say, table
from wellkept.api import Wellkept
from wellkept.core.codec import Json
from wellkept.core.memory import MemoryDraft
from wellkept.core.types import MemoryType

DEPTH = 100
RECALL, DEEP = "wellkept recall", f"wellkept recall, {DEPTH} asked for"
SESSIONS = "BM25 on whole sessions"
BM25, EMBEDDER, RRF = "BM25 (FTS5, no stop words)", "embedder alone", "naive RRF of both"
_MEASURES: dict[str, Callable[[Sequence[str], frozenset[str]], float]] = {
    "recall_all_at_5": lambda found, wanted: recall_all(found, wanted, 5),
    "recall_all_at_10": lambda found, wanted: recall_all(found, wanted, 10),
    "recall_any_at_5": lambda found, wanted: recall_any(found, wanted, 5),
    "recall_any_at_10": lambda found, wanted: recall_any(found, wanted, 10),
    "ndcg_at_10": lambda found, wanted: ndcg(found, wanted, 10),
}


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a haystack, under an opaque name."""

    name: str
    session: str
    draft: MemoryDraft


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its haystack and the (opaque) sessions that answer it."""

    kind: str
    text: str
    asked_at: datetime
    turns: tuple[Turn, ...]
    wanted: frozenset[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The sessions that one method ranked for one question."""

    method: str
    kind: str
    sessions: tuple[str, ...]
    wanted: frozenset[str]


def load(path: Path) -> Iterator[Question]:
    """Every question that has an answer."""
    entries: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    for entry in entries:
        if not str(entry["question_id"]).endswith("_abs"):
            yield _question(entry)


def _question(entry: dict[str, Any]) -> Question:
    opaque = {given: f"s{number:03d}" for number, given in enumerate(entry["haystack_session_ids"])}
    turns = [
        _turn(turn, opaque[given], seq, _moment(date))
        for given, date, session in zip(
            entry["haystack_session_ids"],
            entry["haystack_dates"],
            entry["haystack_sessions"],
            strict=True,
        )
        for seq, turn in enumerate(session)
        if turn["content"].strip()
    ]
    return Question(
        kind=entry["question_type"],
        text=entry["question"],
        asked_at=_moment(entry["question_date"]),
        turns=tuple(turns),
        wanted=frozenset(opaque[given] for given in entry["answer_session_ids"]),
    )


def _turn(turn: dict[str, Any], session: str, seq: int, at: datetime) -> Turn:
    draft = MemoryDraft(
        content=turn["content"],
        type=MemoryType.EPISODE,
        author=turn["role"],
        session_id=session,
        seq=seq,
        valid_from=at,
    )
    return Turn(f"{session}/{seq}", session, draft)


def _moment(text: str) -> datetime:
    """A date as the files write it: 2023/05/30 (Tue) 11:49."""
    return datetime.strptime(text, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)


def ask(question: Question, ways: Sequence[Way]) -> tuple[list[Outcome], float]:
    """Remember one haystack, ask its question by every method; also how long recall took."""
    ranked: dict[str, list[str]] = {}
    seconds = 0.0
    for number, way in enumerate(ways):
        with opened(way, clock=lambda: question.asked_at) as memory:
            kept = memory.remember_many([t.draft for t in question.turns], merge_similar=False)
            turn_of = {k.memory.id: t.name for k, t in zip(kept, question.turns, strict=True)}
            started = perf_counter()
            found = memory.recall(question.text, count_access=False)
            took = perf_counter() - started
            turns = [turn_of[hit.memory.id] for hit in found]
            if number:
                ranked[f"{RECALL}, {way.label}"] = turns
            else:
                seconds = took
                deep = memory.recall(question.text, limit=DEPTH, min_score=0.0, count_access=False)
                ranked[RECALL] = turns
                ranked[DEEP] = [turn_of[hit.memory.id] for hit in deep]
                ranked |= _plain_methods(memory, question)
    outcomes = [
        Outcome(
            method,
            question.kind,
            tuple(dict.fromkeys(name.partition("/")[0] for name in names)),
            question.wanted,
        )
        for method, names in ranked.items()
    ]
    return outcomes, seconds


def _plain_methods(memory: Wellkept, question: Question) -> dict[str, list[str]]:
    model = memory.engine.embedder()
    if model is None:
        return {}
    plain = Baselines({t.name: t.draft.content for t in question.turns}, model)
    whole = Baselines(_sessions(question), model)
    return {
        BM25: plain.bm25(question.text),
        EMBEDDER: plain.embedder(question.text),
        RRF: plain.rrf(question.text),
        SESSIONS: whole.bm25(question.text),
    }


def _sessions(question: Question) -> dict[str, str]:
    texts: dict[str, list[str]] = {}
    for turn in question.turns:
        texts.setdefault(turn.session, []).append(turn.draft.content)
    return {session: "\n".join(parts) for session, parts in texts.items()}


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The means over some outcomes, in percent."""
    return {
        name: round(100 * sum(score(o.sessions, o.wanted) for o in outcomes) / len(outcomes), 2)
        for name, score in _MEASURES.items()
    }


def main() -> None:
    """Run the benchmark."""
    options = parser(__doc__)
    options.add_argument("--data", type=Path, required=True, help="a LongMemEval file")
    add_models(options)
    options.add_argument("--first", type=int, help="only so many questions")
    asked = options.parse_args()
    ways = chosen_ways(asked)
    outcomes: list[Outcome] = []
    seconds: list[float] = []
    for number, question in enumerate(load(asked.data), start=1):
        if asked.first is not None and number > asked.first:
            break
        answered, took = ask(question, ways)
        outcomes += answered
        seconds.append(took)
        if number % 25 == 0:
            say(f"{number} questions")
    if not outcomes:
        raise SystemExit("There is no question with an answer in this file.")
    _report(outcomes, seconds, embedder=ways[0].embedder, as_json=asked.json)


def _report(
    outcomes: Sequence[Outcome], seconds: Sequence[float], *, embedder: str, as_json: bool
) -> None:
    methods = {m: [o for o in outcomes if o.method == m] for m in _distinct(outcomes)}
    shipped = methods[RECALL]
    kinds = {k: [o for o in shipped if o.kind == k] for k in sorted({o.kind for o in shipped})}
    by_method = {name: figures_of(chosen) for name, chosen in methods.items()}
    by_kind = {name: figures_of(chosen) for name, chosen in kinds.items()}
    strict = by_method[RECALL]["recall_all_at_5"]
    figures: dict[str, Json] = {
        "embedder": embedder,
        "questions": len(shipped),
        "methods": {name: {**values} for name, values in by_method.items()},
        "by_type": {name: {**values} for name, values in by_kind.items()},
        "recall_time": Timing.of(seconds).as_json(),
        "targets": [Target("recall_all@5", 90.0, strict, at_least=True).as_json()],
        "machine": machine(),
    }
    rows = [
        (name, *(f"{value:.1f}" for value in values.values()))
        for name, values in [*by_method.items(), *((f"  {k}", v) for k, v in by_kind.items())]
    ]
    finish("longmemeval", figures, as_json=as_json, lines=table(("LongMemEval", *_MEASURES), rows))


def _distinct(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(o.method for o in outcomes))


if __name__ == "__main__":
    main()
