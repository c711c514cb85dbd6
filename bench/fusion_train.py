"""Learn the weights of the default ranking from questions whose evidence is known.

    python -m bench.fusion_train --data FILE [--write] [--json]

Every turn is remembered and every question searched exactly as in use; the signals of each pool
are the features, the turns named as evidence the targets. The model is linear, trained listwise:
the softmax over a pool should put its mass on the evidence (mean log-likelihood, ridge penalty,
Newton's method). Figures are cross-validated by leaving one conversation out, so no question is
ever ranked by weights that saw its conversation. `--write` then trains on all conversations and
writes `data/fusion.json` with these figures as its provenance.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from bench.locomo_data import Conversation, load
from bench.measures import Answer, Measures, measure
from bench.report import finish, parser, say, table
from wellkept import open as open_memory
from wellkept.app import Wellkept
from wellkept.core.codec import Json
from wellkept.core.query import Filter
from wellkept.memory.recall.features import TEXT_FEATURES, Feature, FeatureTable
from wellkept.memory.recall.query_plan import plan_query
from wellkept.memory.recall.ranking import READ_TEXTS, WEIGHTS_FILE, best_of, load_weights
from wellkept.memory.recall.retrievers import RETRIEVER_CAP, CandidateSet, QueryVector, gather

RIDGE = 3.0
BY_HAND: dict[str, float] = {"fragments": 2.0, "links": 2.0, "causal": 1.0}
_STEPS = 40
_ENOUGH = 1e-3

Numbers = NDArray[np.float64]
Places = NDArray[np.intp]

_NOT_LEARNED = {Feature.FRAGMENTS, Feature.LINKS, Feature.CAUSAL}
_OF_WORDS = {s for s in Feature if "words" in s.label} | {Feature.COVERS}
_OF_MEANING = {s for s in Feature if "meaning" in s.label}
_OF_NEIGHBOURS = {s for s in Feature if s.label.endswith(("before", "after"))}
_OF_SESSION = {Feature.SESSION_WORDS, Feature.SESSION_MEANING}
LEARNED = [s for s in Feature if s not in _NOT_LEARNED]
SETS = {
    "hybrid": LEARNED,
    "words": [s for s in LEARNED if s not in _OF_MEANING],
    "vectors": [s for s in LEARNED if s not in _OF_WORDS],
}
_OWN = {Feature.WORDS, Feature.MEANING}
ABLATIONS = {
    "words + meaning": _OWN,
    "+ neighbours": _OWN | _OF_NEIGHBOURS,
    "+ session": _OWN | _OF_NEIGHBOURS | _OF_SESSION,
    "+ speaker": _OWN | _OF_NEIGHBOURS | _OF_SESSION | {Feature.SPEAKER},
    "+ date": _OWN | _OF_NEIGHBOURS | _OF_SESSION | {Feature.SPEAKER, Feature.DATE},
    "+ length, opening": set(LEARNED) - set(TEXT_FEATURES),
    "+ asks, answers, tells when": set(LEARNED) - {Feature.COVERS},
    "+ covers (all)": set(LEARNED),
    "all but neighbours": set(LEARNED) - _OF_NEIGHBOURS,
    "all but session": set(LEARNED) - _OF_SESSION,
    "all but speaker": set(LEARNED) - {Feature.SPEAKER},
    "all but date": set(LEARNED) - {Feature.DATE},
    "words only": set(LEARNED) - _OF_MEANING,
    "vectors only": set(LEARNED) - _OF_WORDS,
}


@dataclass(frozen=True, slots=True)
class Example:
    """One question: the signals of its pool, and which rows are evidence."""

    conversation: str
    rows: Numbers
    targets: tuple[int, ...]
    turns: tuple[str, ...]
    sessions: tuple[str, ...]
    evidence: frozenset[str]
    evidence_sessions: frozenset[str]


def examples(conversation: Conversation, *, folder: Path) -> list[Example]:
    """Remember a conversation and collect what recall sees for each of its questions."""
    path = folder / f"{conversation.name}.db"
    now = conversation.ends_at
    with open_memory(
        path, project=conversation.name, embedder="static", clock=lambda: now
    ) as memory:
        kept = memory.remember_many([t.draft() for t in conversation.turns], merge_similar=False)
        turn_of = {k.memory.id: t for k, t in zip(kept, conversation.turns, strict=True)}
        session_of = {t.id: t.session for t in conversation.turns}
        found: list[Example] = []
        for question in conversation.questions:
            ids, rows = signals_of(memory, question.text)
            turns = [turn_of[each] for each in ids]
            found.append(
                Example(
                    conversation.name,
                    rows,
                    tuple(i for i, t in enumerate(turns) if t.id in question.evidence),
                    tuple(t.id for t in turns),
                    tuple(t.session for t in turns),
                    question.evidence,
                    frozenset(session_of[e] for e in question.evidence),
                )
            )
        return found


def signals_of(memory: Wellkept, query: str) -> tuple[list[str], Numbers]:
    """The pool for a question and its signals, one row for each candidate."""
    engine, where = memory.engine, Filter(project=memory.project)
    embedder = engine.embedder()
    if embedder is None:
        raise SystemExit("Training needs an embedder.")

    def embed(text: str) -> QueryVector:
        return QueryVector(embedder.embed_query(text), embedder.model_id)

    plan = plan_query(query, now=engine.clock())
    plan, pool = gather(engine.store, plan, where=where, embed=embed, cap=RETRIEVER_CAP)
    return list(_ids(pool)), _rows(memory, pool, FeatureTable(pool, plan))


def _ids(pool: CandidateSet) -> list[str]:
    return [candidate.id for candidate in pool.candidates]


def _rows(memory: Wellkept, pool: CandidateSet, signals: FeatureTable) -> Numbers:
    """The signals of a pool; as in use, only the texts of the best are read."""
    best = best_of(signals.weighed(load_weights()["hybrid"]), READ_TEXTS)
    signals.read_texts(memory.engine.store.contents(best))
    return np.array([signals[each] for each in _ids(pool)]).reshape(-1, len(Feature))


def fit(data: Sequence[Example], chosen: Sequence[Feature], *, ridge: float = RIDGE) -> Numbers:
    """Weights of the chosen signals (0 for the others) that rank the evidence first."""
    usable = [e for e in data if e.targets]
    raw = np.concatenate([e.rows for e in usable])[:, list(chosen)]
    scale = raw.std(axis=0) + 1e-9
    features = raw / scale
    sizes = np.array([len(e.rows) for e in usable], dtype=np.intp)
    starts = np.cumsum(sizes, dtype=np.intp) - sizes
    owner = np.repeat(np.arange(len(usable), dtype=np.intp), sizes)
    targets = np.zeros(len(features))
    for start, example in zip(starts, usable, strict=True):
        targets[[start + t for t in example.targets]] = 1 / len(example.targets)
    weights = _newton(features, targets, starts, owner, ridge=ridge)
    full = np.zeros(len(Feature))
    full[list(chosen)] = weights / scale
    return full


def _newton(
    features: Numbers, targets: Numbers, starts: Places, owner: Places, *, ridge: float
) -> Numbers:
    def loss(weights: Numbers) -> tuple[float, Numbers]:
        raw: Numbers = features @ weights
        highest: Numbers = np.maximum.reduceat(raw, starts)
        scores: Numbers = raw - highest[owner]
        totals: Numbers = np.add.reduceat(np.exp(scores), starts)
        sums: Numbers = totals[owner]
        fit_term = float(targets @ (scores - np.log(sums)))
        return ridge / 2 * float(weights @ weights) - fit_term, np.exp(scores) / sums

    weights = np.zeros(features.shape[1])
    value, shares = loss(weights)
    for _ in range(_STEPS):
        gradient = features.T @ (shares - targets) + ridge * weights
        weighted = features * shares[:, None]
        means: Numbers = np.add.reduceat(weighted, starts, axis=0)
        curvature = weighted.T @ features - means.T @ means + ridge * np.eye(len(weights))
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while loss(weights - size * step)[0] > value and size > _ENOUGH:
            size /= 2
        weights = weights - size * step
        before, (value, shares) = value, loss(weights)
        if before - value < _ENOUGH:
            break
    return weights


def cross_validated(data: Sequence[Example], chosen: Sequence[Feature]) -> Measures:
    """Figures with each conversation ranked by weights learned from the others."""
    answers: list[Answer] = []
    for held_out in dict.fromkeys(e.conversation for e in data):
        weights = fit([e for e in data if e.conversation != held_out], chosen)
        answers += [_answer(e, weights) for e in data if e.conversation == held_out]
    return measure(answers)


def _answer(example: Example, weights: Numbers) -> Answer:
    order: list[int] = np.argsort(-(example.rows @ weights), kind="stable").tolist()
    return Answer(
        items=[example.turns[i] for i in order],
        groups=[example.sessions[i] for i in order],
        wanted=example.evidence,
        wanted_groups=example.evidence_sessions,
    )


def _named(weights: Numbers) -> Json:
    learned = {s.label: round(float(weights[s]), 3) for s in LEARNED if weights[s]}
    return {**learned, **BY_HAND}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--data", type=Path, required=True, help="a LoCoMo file")
    options.add_argument("--write", action="store_true", help="write the shipped weights")
    asked = options.parse_args()
    data: list[Example] = []
    with TemporaryDirectory() as folder:
        for conversation in load(asked.data):
            say(f"reading {conversation.name}")
            data += examples(conversation, folder=Path(folder))
    figures = {
        name: cross_validated(data, [s for s in LEARNED if s in chosen])
        for name, chosen in ABLATIONS.items()
    }
    weights: dict[str, Json] = {name: _named(fit(data, c)) for name, c in SETS.items()}
    if asked.write:
        _write(weights, figures, questions=len(data))
    rows = [(name, *measures.cells()) for name, measures in figures.items()]
    ablations: dict[str, Json] = {name: m.as_json() for name, m in figures.items()}
    finish(
        "fusion_train",
        {"questions": len(data), "cross_validated": ablations, "weights": weights},
        as_json=asked.json,
        lines=table(("leave one conversation out", *Measures.HEADER), rows),
    )


def _write(weights: dict[str, Json], figures: dict[str, Measures], *, questions: int) -> None:
    content: dict[str, Json] = {
        "about": "Weights of the default ranking; made by `python -m bench.fusion_train --write`.",
        "learned_from": "LoCoMo conversations (snap-research, CC BY-NC 4.0), questions of"
        " categories 1-4; the data is not part of this repository.",
        "questions": questions,
        "method": f"listwise softmax over each pool, linear, ridge {RIDGE:g}",
        "set_by_hand": [*sorted(BY_HAND)],
        "cross_validated": {
            name: figures[label].as_json()
            for name, label in (
                ("hybrid", "+ covers (all)"),
                ("words", "words only"),
                ("vectors", "vectors only"),
            )
        },
        "weights": weights,
    }
    WEIGHTS_FILE.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
