"""Plain notes: direct questions, other words, other languages, identifiers; and silence.

    python -m bench.notes [--set heldout] [--models static,minilm] [--reranker NAME] [--json]

One store holds the notes of six made-up projects. Found: where the note that answers stands, by the
shipped recall (as it comes: default limit and least score; and with every score), by BM25, by the
embedder alone and by naive rank fusion; and by recall with further models, as it comes. The second
set (`pairs`, `pairs-development`) has 64 notes with a direct question and one in other words each.

Calm: how well the score tells questions that a note answers from those that none does (AUC), how
often recall says that nothing is known, and how often a prompt about something else is told a note.
Questions that nothing answers are a third about these projects, the others about different ones;
those about no software at all are counted apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, cast

from bench.baselines import Baselines
from bench.measures import recall_any, reciprocal_rank
from bench.model_ways import Way, add_models, chosen_ways, opened
from bench.notes_data import (
    DEVELOPMENT,
    ELSEWHERE_PARTS,
    FOLDER,
    HELD_OUT,
    KINDS,
    UNANSWERABLE,
    NoteQuestion,
    NoteSet,
    load_elsewhere,
    load_notes,
    load_pairs_of_questions,
)
from bench.report import Target, finish, machine, parser, table
from wellkept.api import Wellkept
from wellkept.core.codec import Json

PROMPTS = FOLDER / "prompts.txt"
SETS = {"development": DEVELOPMENT, "heldout": HELD_OUT}
PAIRS = {"pairs-development": "development", "pairs": "held_out"}
RECALL = "wellkept recall"
EACH = 150  # questions with an answer, and without
_SHARES = {"direct": 0.5, "paraphrase": 0.3, "other language": 0.08, "identifier": 0.12}
_MEASURES: dict[str, Callable[[list[str], frozenset[str]], float]] = {
    "first": lambda found, wanted: recall_any(found, wanted, 1),
    "in three": lambda found, wanted: recall_any(found, wanted, 3),
    "in ten": lambda found, wanted: recall_any(found, wanted, 10),
    "mrr": reciprocal_rank,
}

Method = Callable[[str], list[str]]
Found = dict[str, dict[str, dict[str, float]]]


def remember(memory: Wellkept, notes: NoteSet) -> dict[str, str]:
    """The texts of the notes by the ids they got."""
    kept = memory.remember_many(notes.drafts(), merge_similar=False)
    return {k.memory.id: text for k, (_, text) in zip(kept, notes.notes, strict=True)}


def recalled(memory: Wellkept, text_of: dict[str, str], **more: Any) -> Method:
    """Recall as it comes, or otherwise as asked for."""
    return lambda query: [
        text_of[hit.memory.id] for hit in memory.recall(query, count_access=False, **more)
    ]


def methods(memory: Wellkept, notes: NoteSet, text_of: dict[str, str]) -> dict[str, Method]:
    """Every way to find a note."""
    found = {
        RECALL: recalled(memory, text_of),
        "recall, every score": recalled(memory, text_of, min_score=0.0),
        "recall, words only": recalled(memory, text_of, mode="words"),
    }
    embedder = memory.engine.embedder()
    if embedder is not None:
        plain = Baselines({text: text for _, text in notes.notes}, embedder)
        found |= {"BM25": plain.bm25, "embedder alone": plain.embedder, "RRF": plain.rrf}
    return found


def figures_of(method: Method, asked: Sequence[NoteQuestion]) -> dict[str, float]:
    """How well one method finds the notes, in percent."""
    answers = [(method(each.text), frozenset({each.note or ""})) for each in asked]
    return {
        name: round(100 * sum(score(found, wanted) for found, wanted in answers) / len(asked), 1)
        for name, score in _MEASURES.items()
    }


def calm_questions(notes: NoteSet, others: NoteSet) -> tuple[list[NoteQuestion], list[str]]:
    """Questions that a note answers, and as many that none does."""
    random = Random(7)
    answerable: list[NoteQuestion] = []
    for kind, share in _SHARES.items():
        of_kind = notes.of_kind(kind)
        answerable += random.sample(of_kind, min(round(share * EACH), len(of_kind)))
    near = [each.text for each in notes.of_kind(UNANSWERABLE)]
    far = [each.text for each in (*others.of_kind("direct"), *others.of_kind("paraphrase"))]
    return answerable, [*near, *random.sample(far, EACH - len(near))]


def calm(
    memory: Wellkept, notes: NoteSet, others: NoteSet, elsewhere: Sequence[str]
) -> dict[str, Json]:
    """How well scores tell what can be answered."""

    def score(query: str) -> float:
        found = memory.recall(query, limit=1, min_score=0.0, count_access=False)
        return found[0].score if found.hits else 0.0

    answerable, unanswerable = calm_questions(notes, others)
    near = {each.text for each in notes.of_kind(UNANSWERABLE)}
    right = [(each.kind, score(each.text)) for each in answerable]
    wrong = [(text in near, score(text)) for text in unanswerable]
    silent = [not memory.recall(text, count_access=False).hits for text in unanswerable]
    answered = [bool(memory.recall(each.text, count_access=False).hits) for each in answerable]
    of_wrong = [s for _, s in wrong]
    return {
        "answerable": len(right),
        "unanswerable": len(wrong),
        "auc": auc([s for _, s in right], of_wrong),
        "auc_by_kind": {
            kind: auc([s for k, s in right if k == kind], of_wrong) for kind in KINDS.values()
        },
        "auc_of_other_projects": auc([s for _, s in right], [s for near, s in wrong if not near]),
        "nothing_known_said": _percent(silent),
        "nothing_known_said_elsewhere": _percent(
            [not memory.recall(text, count_access=False).hits for text in elsewhere]
        ),
        "nothing_known_said_wrongly": _percent([not each for each in answered]),
        "calibration": _reliability([*((1.0, s) for _, s in right), *((0.0, s) for s in of_wrong)]),
    }


def unasked(memory: Wellkept) -> dict[str, Json]:
    """How often a prompt that no note is about is told one anyway."""
    lines = PROMPTS.read_text("utf-8").splitlines()
    prompts = [line for line in lines if line and not line.startswith("#")]
    told = [len(memory.context(prompt, moment="prompt").items) for prompt in prompts]
    return {
        "prompts": len(prompts),
        "told_something": sum(count > 0 for count in told),
        "entries": sum(told),
    }


def _reliability(pairs: Sequence[tuple[float, float]]) -> list[Json]:
    """Share of answerable questions by score, in fifths."""
    found: list[Json] = []
    for fifth in range(5):
        inside = [right for right, score in pairs if min(4, int(5 * score)) == fifth]
        if inside:
            found.append({"from": fifth / 5, "questions": len(inside), "right": _percent(inside)})
    return found


def auc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """How often a right one scores above a wrong one; ties count half."""
    if not right or not wrong:
        return 0.0
    wins = sum((r > w) + 0.5 * (r == w) for r in right for w in wrong)
    return round(wins / (len(right) * len(wrong)), 4)


def _percent(values: Sequence[float]) -> float:
    return round(100 * sum(values) / len(values), 1) if values else 0.0


def measured(
    notes: NoteSet, ways: Sequence[Way], silence: Callable[[Wellkept], dict[str, Json]]
) -> tuple[Found, dict[str, Json]]:
    """What every method finds, by kind of question, and how calm the first choice of models is."""
    found: Found = {kind: {} for kind in KINDS.values() if notes.of_kind(kind)}
    calmness: dict[str, Json] = {}
    for number, way in enumerate(ways):
        with opened(way) as memory:
            text_of = remember(memory, notes)
            if number:
                own = {f"{RECALL}, {way.label}": recalled(memory, text_of)}
            else:
                own = methods(memory, notes, text_of)
            for kind, of in found.items():
                of |= {
                    name: figures_of(method, notes.of_kind(kind)) for name, method in own.items()
                }
            if not number:
                calmness = silence(memory)
    return found, calmness


def main() -> None:
    """Run the benchmark."""
    options = parser(__doc__)
    options.add_argument("--set", choices=[*SETS, *PAIRS], default="development", dest="chosen")
    add_models(options)
    asked = options.parse_args()
    ways = chosen_ways(asked)
    if asked.chosen in PAIRS:
        notes = load_pairs_of_questions(PAIRS[asked.chosen])
        found, silence = measured(notes, ways, lambda _: {})
    else:
        path = SETS[asked.chosen]
        notes, others = (
            load_notes(path),
            load_notes(*(each for each in SETS.values() if each != path)),
        )
        elsewhere = load_elsewhere(ELSEWHERE_PARTS[path])
        found, silence = measured(
            notes,
            ways,
            lambda memory: {
                **calm(memory, notes, others, elsewhere),
                "off_topic_prompts": unasked(memory),
            },
        )
    rows = [
        (f"{kind}: {name}", *(f"{value:g}" for value in values.values()))
        for kind, of in found.items()
        for name, values in of.items()
    ]
    first = found["paraphrase"][RECALL]["first"]
    targets = [Target("paraphrases first", 100 * 12 / 22, first, at_least=True)]
    area = silence.get("auc")
    if isinstance(area, float):
        targets.append(Target("AUC", 0.9, area, at_least=True))
    finish(
        "notes",
        {
            "embedder": ways[0].embedder,
            "set": asked.chosen,
            "notes": len(notes.notes),
            "found": cast("Json", found),
            "calm": silence,
            "targets": [target.as_json() for target in targets],
            "machine": machine(),
        },
        as_json=asked.json,
        lines=[
            *table(("notes", *_MEASURES), rows),
            "",
            *(f"{name}: {value}" for name, value in silence.items()),
        ],
    )


if __name__ == "__main__":
    main()
