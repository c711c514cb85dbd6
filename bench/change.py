"""Which new statements close an older one: changes against different things that look alike.

    python -m bench.change [--split held_out] [--set NAME] [--show] [--json]

Each pair is remembered as a person would say it, the older statement first, in a project of its
own: with the bundled embedder and with none. A change has to close the older statement, anything
else must leave it open. The baseline closes whatever shares enough content words; its threshold
is the best on the development pairs. `strangers` counts how often a new statement would close the
older one of another pair.

The pairs in `bench/data/changes.jsonl` were written and split in halves before the rules. Those in
`changes_sentences.jsonl` are sentences of public repositories with what held before them, in four
batches. Each was measured once and then used to mend the rules; docs/decisions/changes.md has the
figures of the first look. Those in `changes_fresh.jsonl` were written later, by somebody who had
not read the rules: no rule was made from its held-out part. Those in `changes_later.jsonl` were
written by another hand again; the rules were mended after the first look. Those in
`changes_documents.jsonl` are edits of one sentence in documents of seven public repositories, most
of which only word it better, and sentences that stand side by side in one document and share two
fifths of their words. Those in `changes_closed.jsonl` are a stranger's, in free words: they only
measure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.report import Target, finish, machine, parser, table
from wellkept import open as open_memory
from wellkept.core.codec import Json
from wellkept.core.memory import MemoryDraft
from wellkept.core.text import content_words, jaccard, stem
from wellkept.core.types import MemoryType, Source
from wellkept.memory.engine import Engine
from wellkept.memory.remember import RememberOutcome, remember
from wellkept.text.contradictions.supersedes import supersedes

DATA = Path(__file__).parent / "data"
SETS = {
    "pairs": "changes.jsonl",
    "sentences": "changes_sentences.jsonl",
    "fresh": "changes_fresh.jsonl",
    "later": "changes_later.jsonl",
    "documents": "changes_documents.jsonl",
    "closed": "changes_closed.jsonl",
}
PRECISION, RECALL = 97.0, 85.0


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements, and whether the second takes the place of the first."""

    split: str
    kind: str
    change: bool
    old: str
    new: str


Judge = Callable[[Pair], bool]


def load(path: Path) -> list[Pair]:
    """The pairs of a file."""
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines() if line)
    return [
        Pair(r.get("split", "later"), r.get("kind", ""), r["change"], r["old"], r["new"])
        for r in rows
    ]


def remembered(engine: Engine) -> Judge:
    """Whether remembering the second statement closed the first."""
    projects = iter(range(1_000_000))

    def judge(pair: Pair) -> bool:
        project = f"name:pair{next(projects)}"
        for text in (pair.old, pair.new):
            draft = MemoryDraft(content=text, type=MemoryType.FACT, source=Source.USER_TAUGHT)
            done = remember(engine, draft, project=project)
        return done.outcome is RememberOutcome.SUPERSEDED

    return judge


def overlap(pair: Pair) -> float:
    """Shared content words over all of them."""
    return jaccard(map(stem, content_words(pair.old)), map(stem, content_words(pair.new)))


def best_threshold(pairs: Sequence[Pair]) -> float:
    """The overlap above which most development pairs are judged right."""
    scores = sorted({overlap(pair) for pair in pairs})
    return max(scores, key=lambda t: sum((overlap(p) >= t) == p.change for p in pairs))


def figures(pairs: Sequence[Pair], said: Sequence[bool]) -> dict[str, Json]:
    """Precision and recall in percent."""
    right = sum(p.change and s for p, s in zip(pairs, said, strict=True))
    changes = sum(p.change for p in pairs)
    return {
        "precision": round(100 * right / max(1, sum(said)), 1),
        "recall": round(100 * right / max(1, changes), 1),
        "closed": sum(said),
        "changes": changes,
        "pairs": len(pairs),
    }


def strangers(pairs: Sequence[Pair]) -> tuple[list[tuple[str, str]], int]:
    """Older statements of other pairs that a new one would close, and how many were compared."""
    crossed = [(a.old, b.new) for a in pairs for b in pairs if a is not b and a.old != b.old]
    return [(old, new) for old, new in crossed if supersedes(old, new)], len(crossed)


def main() -> None:
    """Run the benchmark."""
    options = parser(__doc__)
    options.add_argument("--split", default="development", help="a split of the set, or all")
    options.add_argument("--set", default="pairs", choices=sorted(SETS), help="which pairs")
    options.add_argument("--embedder", default="static", help="which embedder (default: static)")
    options.add_argument("--show", action="store_true", help="print every wrong answer")
    asked = options.parse_args()
    every = load(DATA / SETS[asked.set])
    pairs = [p for p in every if asked.split in ("all", p.split)]
    tuned = best_threshold([p for p in load(DATA / SETS["pairs"]) if p.split == "development"])
    answers: dict[str, list[bool]] = {}
    for name, embedder in (("wellkept, words only", "none"), ("wellkept, vectors", asked.embedder)):
        with (
            TemporaryDirectory() as folder,
            open_memory(Path(folder) / "m.db", project="change", embedder=embedder) as memory,
        ):
            judge = remembered(memory.engine)
            answers[name] = [judge(pair) for pair in pairs]
    answers[f"word overlap >= {tuned:.2f}"] = [overlap(p) >= tuned for p in pairs]
    found = {name: figures(pairs, said) for name, said in answers.items()}
    crossed, compared = strangers(pairs)
    lines = table(
        ("change", "precision", "recall", "closed", "changes", "pairs"),
        [(name, *map(str, values.values())) for name, values in found.items()],
    )
    lines.append(f"strangers closed: {len(crossed)} of {compared}")
    if asked.show:
        for name, said in list(answers.items())[:2]:
            lines += [
                f"{name}: {'missed' if p.change else 'WRONG'} [{p.kind}] {p.old} -> {p.new}"
                for p, s in zip(pairs, said, strict=True)
                if p.change != s
            ]
        lines += [f"stranger: {old} -> {new}" for old, new in crossed]
    targets = [
        Target(f"{name}: {measure}", limit, float(str(found[name][measure])), at_least=True)
        for name in list(found)[:2]
        for measure, limit in (("precision", PRECISION), ("recall", RECALL))
    ]
    result: dict[str, Json] = {
        "set": asked.set,
        "split": asked.split,
        **found,
        "strangers": {"closed": len(crossed), "compared": compared},
        "targets": [target.as_json() for target in targets],
        "machine": machine(),
    }
    finish("change", result, as_json=asked.json, lines=lines)


if __name__ == "__main__":
    main()
