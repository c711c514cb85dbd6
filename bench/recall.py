"""Recall at every size: found, told, and silent, against its own retrievers alone.

    python -m bench.recall [--set held_out] [--cases FILE] [--sizes 0,5000,100000] [--mode words]
        [--model static] [--json]

A store holds notes of made-up projects, alone and among other notes up to each size. Asked are
direct questions, questions in other words, in other languages and by identifier, prompts of work
that one note is about, and what no note answers or is about. `--cases` names a file like
`bench/data/notes/harbour.json` instead. Counted for each kind:

- first: the right note first, by BM25 alone, by the vectors alone, by recall whatever the score
  ("order"), and by recall as it comes;
- silent: recall gives nothing; unknown: recall says that nothing is known for sure;
- told: lines at a prompt, the right one among them, or only wrong ones; beside it the first hit
  whatever its score, and every note that shares two words with the prompt.

The run fails when the order of recall is below its best single retriever by more than chance on
any kind with enough questions: the difference of the questions that only one of them has right is
then more than twice its standard error. A retriever alone is never silent, so what silence costs is
the column beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from bench.model_ways import Way, opened
from bench.notes_data import (
    EVERYDAY,
    NONSENSE,
    UNANSWERABLE,
    WORK,
    NoteQuestion,
    NoteSet,
    load_distractors,
    load_harbour,
    prompt_sets,
)
from bench.report import Target, finish, machine, parser, say, table
from wellkept.api import Wellkept
from wellkept.context.moments import MOMENTS, Moment
from wellkept.core.codec import Json
from wellkept.core.memory import MemoryDraft
from wellkept.core.query import Filter
from wellkept.core.text import content_words, stem
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import (
    ANSWERS_FROM,
    DEFAULT_MIN_SCORE,
    RecallHit,
    RecallRequest,
    SearchMode,
)
from wellkept.memory.recall.retrievers import plan_query, vector_of

RETRIEVERS = ("BM25", "vectors")
JUDGES = ("judge", "first hit", "two words")
_FEWEST = 20
_BATCH = 5_000


@dataclass(slots=True)
class Figures:
    """What became of the questions of one kind."""

    asked: int = 0
    first: dict[str, int] = field(default_factory=dict[str, int])
    lost: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    silent: int = 0
    unknown: int = 0
    told_right: dict[str, int] = field(default_factory=dict[str, int])
    told_wrong: dict[str, int] = field(default_factory=dict[str, int])

    def as_json(self) -> Json:
        """For the result."""
        return {
            "asked": self.asked,
            "first": cast("Json", self.first),
            "silent": self.silent,
            "unknown": self.unknown,
            "told_right": cast("Json", self.told_right),
            "told_wrong": cast("Json", self.told_wrong),
        }


@dataclass(frozen=True, slots=True)
class Asking:
    """A filled store and how it is asked."""

    memory: Wellkept
    ids: dict[str, str]
    mode: SearchMode

    def hits(
        self, query: str, *, unasked: bool = False, least: float = DEFAULT_MIN_SCORE
    ) -> list[RecallHit]:
        """What recall finds: as it comes, or as a prompt asks it."""
        row = MOMENTS[Moment.PROMPT]
        where = Filter(project=self.memory.project, stale=False, raw=False)
        request = RecallRequest(
            query=query,
            where=where,
            mode=self.mode,
            count_access=False,
            second_pass=False,
            unasked=unasked,
            min_score=row.least if unasked else least,
        )
        return list(recall(self.memory.engine, request))

    def alone(self, query: str) -> dict[str, str | None]:
        """The first hit of each retriever by itself."""
        engine = self.memory.engine
        where = Filter(project=self.memory.project)
        plan = plan_query(query, now=engine.clock())
        by_words = engine.store.search_fulltext(plan.terms, where, limit=1) if plan.terms else []
        found = {"BM25": by_words[0].id if by_words else None}
        embedder = engine.embedder()
        if embedder is not None and self.mode is not SearchMode.WORDS:
            vector = vector_of(embedder, plan)
            near = vector and engine.store.search_vectors(
                vector.vector, model_id=embedder.model_id, where=where, limit=1
            )
            found["vectors"] = near[0].id if near else None
        return found

    def ask(self, question: NoteQuestion, into: Figures) -> None:
        """Ask one question and count what comes of it."""
        wanted = self.ids[question.note] if question.note else None
        found = self.hits(question.text)
        best = found[0].memory.id if found else None
        into.asked += 1
        into.silent += not found
        into.unknown += not found or found[0].score < ANSWERS_FROM
        if wanted is not None:
            into.first["recall"] = into.first.get("recall", 0) + (best == wanted)
            order = self.hits(question.text, least=0.0)
            best = order[0].memory.id if order else None
            into.first["order"] = into.first.get("order", 0) + (best == wanted)
            for name, first in self.alone(question.text).items():
                into.first[name] = into.first.get(name, 0) + (first == wanted)
                both = into.lost.setdefault(name, [0, 0])
                both[0] += best == wanted != first
                both[1] += first == wanted != best
        told = self.hits(question.text, unasked=True)[: MOMENTS[Moment.PROMPT].items]
        for name, lines in (
            ("judge", told),
            ("first hit", found[:1]),
            ("two words", _two_words(question.text, found)),
        ):
            right = wanted is not None and any(hit.memory.id == wanted for hit in lines)
            into.told_right[name] = into.told_right.get(name, 0) + right
            into.told_wrong[name] = into.told_wrong.get(name, 0) + (bool(lines) and not right)


def _two_words(prompt: str, found: Sequence[RecallHit]) -> list[RecallHit]:
    words = {stem(one) for one in content_words(prompt)}
    shared = ((hit, {stem(one) for one in content_words(hit.memory.content)}) for hit in found)
    return [hit for hit, held in shared if len(words & held) > 1][:3]


def measured(
    sets: Sequence[NoteSet], sizes: Sequence[int], way: Way, mode: SearchMode
) -> Iterator[tuple[int, dict[str, Figures]]]:
    """By size and kind of question."""
    for size in sizes:
        figures: dict[str, Figures] = {}
        for notes in sets:
            texts = [text for _, text in notes.notes]
            say(f"{max(size, len(texts))} notes")
            with opened(way) as memory:
                every = [*texts, *load_distractors(max(0, size - len(texts)))]
                kept: list[str] = []
                for start in range(0, len(every), _BATCH):
                    drafts = [MemoryDraft(content=text) for text in every[start : start + _BATCH]]
                    of = memory.remember_many(drafts, merge_similar=False)
                    kept += [one.memory.id for one in of]
                asking = Asking(memory, dict(zip(texts, kept, strict=False)), mode)
                for question in notes.questions:
                    asking.ask(question, figures.setdefault(question.kind, Figures()))
        yield size, figures


def below(of: Figures) -> list[str]:
    """The retrievers that alone are better than recall by more than chance."""
    if of.asked < _FEWEST:
        return []
    return [
        name
        for name, (only_recall, only_alone) in of.lost.items()
        if only_alone - only_recall > 2 * math.sqrt(only_recall + only_alone)
    ]


def _targets(size: int, figures: dict[str, Figures]) -> Iterator[Target]:
    def share(kind: str, count: int) -> float:
        return count / max(figures[kind].asked, 1)

    for kind, least in (("direct", 0.9), ("paraphrase", 0.33), (WORK, 0.8)):
        if kind in figures:
            told = share(kind, figures[kind].told_right["judge"])
            yield Target(f"{size}: {kind} told, share", least, told, at_least=True)
    if EVERYDAY in figures:
        told = share(EVERYDAY, figures[EVERYDAY].told_wrong["judge"])
        yield Target(f"{size}: everyday prompts told, share", 1 / 60, told)
    if UNANSWERABLE in figures:
        refused = share(UNANSWERABLE, figures[UNANSWERABLE].unknown)
        yield Target(f"{size}: unanswerable refused, share", 0.8, refused, at_least=True)
        unknown = share("direct", figures["direct"].unknown)
        yield Target(f"{size}: direct wrongly refused, share", 0.03, unknown)
    if NONSENSE in figures:
        silent = share(NONSENSE, figures[NONSENSE].silent)
        yield Target(f"{size}: nonsense silent, share", 1.0, silent, at_least=True)
    worse = sum(len(below(of)) for of in figures.values())
    yield Target(f"{size}: kinds where one retriever alone is better", 0, worse)


def main() -> None:
    """Run the benchmark."""
    options = parser(__doc__)
    options.add_argument("--set", choices=["development", "held_out"], default="development")
    options.add_argument("--cases", type=Path, help="a file of notes and questions instead")
    options.add_argument("--sizes", default="0,5000", help="fill each store up to these sizes")
    options.add_argument("--mode", choices=["hybrid", "words"], default="hybrid")
    options.add_argument("--model", default="static", help="the embedder")
    given = options.parse_args()
    sets = [load_harbour(given.cases)] if given.cases else prompt_sets(given.set)
    sizes = [int(size) for size in given.sizes.split(",")]
    by_size = dict(measured(sets, sizes, Way(given.model), SearchMode(given.mode)))
    targets = [one for size, figures in by_size.items() for one in _targets(size, figures)]
    rows = [
        [
            f"{size} {kind}",
            str(of.asked),
            *(str(of.first.get(name, "")) for name in (*RETRIEVERS, "order", "recall")),
            str(of.silent),
            str(of.unknown),
            *(f"{of.told_right[name]} / {of.told_wrong[name]}" for name in JUDGES),
            ", ".join(below(of)),
        ]
        for size, figures in by_size.items()
        for kind, of in figures.items()
    ]
    columns = (
        "asked",
        *RETRIEVERS,
        "order",
        "recall",
        "silent",
        "unknown",
        "told",
        "first hit",
        "two words",
    )
    finish(
        "recall",
        {
            "figures": {
                str(size): {kind: of.as_json() for kind, of in figures.items()}
                for size, figures in by_size.items()
            },
            "targets": [target.as_json() for target in targets],
            "machine": machine(),
        },
        as_json=given.json,
        lines=table(["size, kind", *columns, "below"], rows),
    )
    if any(below(of) for figures in by_size.values() for of in figures.values()):
        raise SystemExit("Recall is below one of its retrievers.")


if __name__ == "__main__":
    main()
