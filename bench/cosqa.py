"""Questions about code, asked of functions that are remembered as notes.

    python -m bench.cosqa --data FOLDER [--split test] [--models static,minilm] [--reranker NAME]
        [--json]

CoSQA (C-UDA: for measuring, nothing is learned from it): 500 web queries, each with the Python
function that answers it among 6,267. The folder holds `code_idx_map.txt` and
`cosqa-retrieval-{dev,test}-500.json` of its authors' repository. By the shipped recall as it comes,
and by plain methods on the same texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.baselines import Baselines
from bench.measures import recall_any, reciprocal_rank
from bench.model_ways import Way, add_models, chosen_ways, opened
from bench.report import Target, finish, machine, parser, say, table
from wellkept.api import Wellkept
from wellkept.core.codec import Json
from wellkept.core.memory import MemoryDraft

RECALL, EMBEDDER = "wellkept recall", "embedder alone"

Question = tuple[str, str]
Method = Callable[[str], Sequence[str]]


def load(folder: Path, split: str) -> tuple[list[str], list[Question]]:
    """The functions, and each question with the function that answers it."""
    places = json.loads((folder / "code_idx_map.txt").read_text("utf-8"))
    functions = sorted(places, key=places.__getitem__)
    rows = json.loads((folder / f"cosqa-retrieval-{split}-500.json").read_text("utf-8"))
    return functions, [(row["doc"], functions[int(row["retrieval_idx"])]) for row in rows]


def ask(
    functions: Sequence[str], questions: Sequence[Question], ways: Sequence[Way]
) -> dict[str, dict[str, float]]:
    """Recall within five and the mean reciprocal rank of every method, in percent."""
    found: dict[str, dict[str, float]] = {}
    for number, way in enumerate(ways):
        say(f"remembering {len(functions)} functions, {way.label}")
        with opened(way) as memory:
            drafts = [MemoryDraft(content=function) for function in functions]
            kept = memory.remember_many(drafts, merge_similar=False)
            text_of = {k.memory.id: f for k, f in zip(kept, functions, strict=True)}

            def recalled(
                query: str, memory: Wellkept = memory, text_of: dict[str, str] = text_of
            ) -> list[str]:
                hits = memory.recall(query, count_access=False)
                return [text_of[hit.memory.id] for hit in hits]

            name = f"{RECALL}, {way.label}" if number else RECALL
            methods: dict[str, Method] = {name: recalled}
            embedder = memory.engine.embedder()
            if not number and embedder is not None:
                plain = Baselines({text: text for text in functions}, embedder)
                methods |= {"BM25": plain.bm25, EMBEDDER: plain.embedder, "RRF": plain.rrf}
            found |= {name: _figures(method, questions) for name, method in methods.items()}
    return found


def _figures(method: Method, questions: Sequence[Question]) -> dict[str, float]:
    answers = [(list(method(query)), frozenset({right})) for query, right in questions]

    def mean(values: Sequence[float]) -> float:
        return round(100 * sum(values) / len(questions), 1)

    return {
        "in five": mean([recall_any(found, wanted, 5) for found, wanted in answers]),
        "mrr": mean([reciprocal_rank(found, wanted) for found, wanted in answers]),
    }


def main() -> None:
    """Run the benchmark."""
    options = parser(__doc__)
    options.add_argument("--data", type=Path, required=True, help="a folder with its files")
    options.add_argument("--split", choices=("dev", "test"), default="dev")
    add_models(options)
    asked = options.parse_args()
    functions, questions = load(asked.data, asked.split)
    found = ask(functions, questions, chosen_ways(asked))
    targets = [Target("recall in five", 58.0, found[RECALL]["in five"], at_least=True)]
    if EMBEDDER in found:
        by_cosine = found[EMBEDDER]["in five"]
        targets.append(Target("embedder alone in five", 50.0, by_cosine, at_least=True))
    rows = [(name, *(f"{value:g}" for value in of.values())) for name, of in found.items()]
    figures: dict[str, Json] = {
        "split": asked.split,
        "questions": len(questions),
        "methods": {name: {**of} for name, of in found.items()},
        "targets": [target.as_json() for target in targets],
        "machine": machine(),
    }
    finish("cosqa", figures, as_json=asked.json, lines=table(("CoSQA", "in five", "mrr"), rows))


if __name__ == "__main__":
    main()
