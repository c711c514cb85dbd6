"""Recall of single facts of coding work, asked for in other words.

    python -m bench.facts [--embedder static] [--json]

The facts are the labelled pairs that ship for calibration: every first text is remembered, every
paraphrase ("duplicate") and every related statement is asked as a question. No sessions, no
neighbours, no speakers: what a store of plain notes looks like.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from bench.baselines import Baselines
from bench.measures import recall_any, reciprocal_rank
from bench.report import finish, machine, parser, table
from wellkept import open as open_memory
from wellkept.api import Wellkept
from wellkept.core.memory import MemoryDraft
from wellkept.core.payloads import Json
from wellkept.models.embedders import calibration

PAIRS = Path(calibration.__file__).parent / "data" / "pairs.jsonl"
ASKED = ("duplicate", "related")
_DEPTH = 20
_MEASURES: dict[str, Callable[[list[str], frozenset[str]], float]] = {
    "recall_at_1": lambda found, wanted: recall_any(found, wanted, 1),
    "recall_at_5": lambda found, wanted: recall_any(found, wanted, 5),
    "recall_at_10": lambda found, wanted: recall_any(found, wanted, 10),
    "mrr": reciprocal_rank,
}


def load(path: Path) -> list[tuple[str, str, str]]:
    """Label, fact and question of each pair."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
    return [(row["label"], row["a"], row["b"]) for row in rows]


def measured(pairs: list[tuple[str, str, str]], memory: Wellkept) -> dict[str, Json]:
    """The figures of every method for each kind of question, in percent."""
    facts = list(dict.fromkeys(fact for _, fact, _ in pairs))
    drafts = [MemoryDraft(content=fact) for fact in facts]
    kept = memory.remember_many(drafts, merge_similar=False)
    fact_of = {k.memory.id: fact for k, fact in zip(kept, facts, strict=True)}
    return {
        label: {
            name: _figures(method, [(f, q) for kind, f, q in pairs if kind == label])
            for name, method in _methods(memory, fact_of).items()
        }
        for label in ASKED
    }


def _methods(memory: Wellkept, fact_of: dict[str, str]) -> dict[str, Callable[[str], list[str]]]:
    def recalled(mode: Literal["hybrid", "words"]) -> Callable[[str], list[str]]:
        return lambda query: [
            fact_of[hit.memory.id]
            for hit in memory.recall(query, limit=_DEPTH, mode=mode, count_access=False)
        ]

    methods = {"wellkept recall": recalled("hybrid"), "words only": recalled("words")}
    embedder = memory.engine.embedder()
    if embedder is not None:
        plain = Baselines({fact: fact for fact in fact_of.values()}, embedder)
        methods |= {"BM25": plain.bm25, "embedder": plain.embedder, "RRF": plain.rrf}
    return methods


def _figures(method: Callable[[str], list[str]], asked: list[tuple[str, str]]) -> Json:
    answers = [(method(question), frozenset({fact})) for fact, question in asked]
    return {
        name: round(100 * sum(score(f, wanted) for f, wanted in answers) / len(answers), 1)
        for name, score in _MEASURES.items()
    }


def main() -> None:
    """Run the benchmark."""
    options = parser(__doc__)
    options.add_argument("--embedder", default="static", help="which embedder (default: static)")
    asked = options.parse_args()
    pairs = load(PAIRS)
    with (
        TemporaryDirectory() as folder,
        open_memory(Path(folder) / "memory.db", project="facts", embedder=asked.embedder) as memory,
    ):
        figures = measured(pairs, memory)
    rows = [
        (f"{label}: {name}", *(str(value) for value in values.values()))
        for label, methods in figures.items()
        if isinstance(methods, dict)
        for name, values in methods.items()
        if isinstance(values, dict)
    ]
    finish(
        "facts",
        {"embedder": asked.embedder, **figures, "machine": machine()},
        as_json=asked.json,
        lines=table(("facts", *_MEASURES), rows),
    )


if __name__ == "__main__":
    main()
