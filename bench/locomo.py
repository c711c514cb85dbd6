"""Evidence retrieval on LoCoMo, through the shipped `remember` and `recall`.

    python -m bench.locomo --data FILE [--models static,minilm] [--reranker NAME] [--json]

Each conversation is one memory; each turn is remembered with its speaker, session, place and
date; each question (categories 1-4) is recalled as it stands, after the last session, as recall
comes (default limit) and with 100 asked for. A session ranks by its best turn. Plain BM25, the
embedder alone and naive rank fusion run on the same turns. Further models are set beside the first
as recall comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.baselines import Baselines
from bench.locomo_data import CATEGORIES, Conversation, Question, load
from bench.measures import Answer, Measures, measure
from bench.model_ways import Way, add_models, chosen_ways, opened
from bench.report import Target, Timing, finish, machine, parser, say, table
from wellkept.api import Wellkept
from wellkept.core.codec import Json

Method = Callable[[str], list[str]]

DEPTH = 100
RECALL, WORDS_ONLY = "wellkept recall", "wellkept recall, words only"
DEEP = f"wellkept recall, {DEPTH} asked for"
BM25, EMBEDDER, RRF = "BM25 (FTS5, no stop words)", "embedder alone", "naive RRF of both"


@dataclass(slots=True)
class Run:
    """Everything measured so far: answers by method, with the category of each question."""

    answers: dict[str, list[tuple[int, Answer]]] = field(
        default_factory=dict[str, list[tuple[int, Answer]]]
    )
    seconds: list[float] = field(default_factory=list[float])
    turns: int = 0

    def add(self, method: str, category: int, answer: Answer) -> None:
        """Note one answer."""
        self.answers.setdefault(method, []).append((category, answer))

    def measures(self, method: str, *, category: int | None = None) -> Measures:
        """The figures of one method, over all questions or one category."""
        chosen = self.answers[method]
        return measure([a for c, a in chosen if category is None or c == category])


def ask(conversation: Conversation, run: Run, ways: Sequence[Way]) -> None:
    """Remember one conversation and ask its questions, with each choice of models."""
    session_of = {turn.id: turn.session for turn in conversation.turns}
    for number, way in enumerate(ways):
        with opened(way, clock=lambda: conversation.ends_at) as memory:
            drafts = [turn.draft() for turn in conversation.turns]
            kept = memory.remember_many(drafts, merge_similar=False)
            turn_of = {k.memory.id: t.id for k, t in zip(kept, conversation.turns, strict=True)}
            if number:
                methods = {f"{RECALL}, {way.label}": _recall(memory, turn_of)}
            else:
                run.turns += len(kept)
                methods = {
                    **_recalls(memory, turn_of, run),
                    **_plain_methods(memory, conversation),
                }
            for question in conversation.questions:
                for name, method in methods.items():
                    answer = _answer(method(question.text), question, session_of)
                    run.add(name, question.category, answer)


def _recall(memory: Wellkept, turn_of: dict[str, str], **more: Any) -> Method:
    return lambda query: [
        turn_of[hit.memory.id] for hit in memory.recall(query, count_access=False, **more)
    ]


def _recalls(memory: Wellkept, turn_of: dict[str, str], run: Run) -> dict[str, Method]:
    as_it_comes = _recall(memory, turn_of)

    def timed_recall(query: str) -> list[str]:
        started = perf_counter()
        found = as_it_comes(query)
        run.seconds.append(perf_counter() - started)
        return found

    return {
        RECALL: timed_recall,
        DEEP: _recall(memory, turn_of, limit=DEPTH, min_score=0.0),
        WORDS_ONLY: _recall(memory, turn_of, mode="words"),
    }


def _plain_methods(memory: Wellkept, conversation: Conversation) -> dict[str, Method]:
    embedder = memory.engine.embedder()
    if embedder is None:
        return {}
    plain = Baselines({turn.id: turn.text for turn in conversation.turns}, embedder)
    return {BM25: plain.bm25, EMBEDDER: plain.embedder, RRF: plain.rrf}


def _answer(turns: Iterable[str], question: Question, session_of: dict[str, str]) -> Answer:
    items = list(turns)
    return Answer(
        items=items,
        groups=[session_of[turn] for turn in items],
        wanted=question.evidence,
        wanted_groups=frozenset(session_of[turn] for turn in question.evidence),
    )


def main() -> None:
    """Run the benchmark."""
    options = parser(__doc__)
    options.add_argument("--data", type=Path, required=True, help="a LoCoMo file")
    add_models(options)
    asked = options.parse_args()
    run = Run()
    ways = chosen_ways(asked)
    for conversation in load(asked.data):
        say(f"{conversation.name}: {len(conversation.turns)} turns")
        ask(conversation, run, ways)
    finish("locomo", _figures(run, ways[0].embedder), as_json=asked.json, lines=_lines(run))


def _figures(run: Run, embedder: str) -> dict[str, Json]:
    shipped = run.measures(RECALL)
    targets = [
        Target("turn recall@10", 80.0, shipped.recall_10, at_least=True),
        Target("session recall@10", 95.0, shipped.group_recall_10, at_least=True),
    ]
    return {
        "embedder": embedder,
        "questions": len(run.answers[RECALL]),
        "turns": run.turns,
        "methods": {name: run.measures(name).as_json() for name in run.answers},
        "by_category": {
            label: run.measures(RECALL, category=number).as_json()
            for number, label in CATEGORIES.items()
        },
        "recall_time": Timing.of(run.seconds).as_json(),
        "targets": [target.as_json() for target in targets],
        "machine": machine(),
    }


def _lines(run: Run) -> list[str]:
    rows = [(name, *run.measures(name).cells()) for name in run.answers]
    rows += [
        (f"  {label}", *run.measures(RECALL, category=number).cells())
        for number, label in CATEGORIES.items()
    ]
    return table(("LoCoMo", *Measures.HEADER), rows)


if __name__ == "__main__":
    main()
