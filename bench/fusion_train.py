"""Learn the weights of the default ranking from questions whose answers are known.

    python -m bench.fusion_train --longmemeval FILE --qmsum FOLDER --friendsqa FOLDER --molweni FILE
        [--write]
    python -m bench.fusion_train --write

Every text is remembered and every question searched exactly as in use (`bench.ranking_sources`
lists the texts and their licences). Two things are learned, from the same questions:

- Weights of the features, one set for turns of a session, one for turns of a chat with an assistant
  and one for notes. The model is linear, trained listwise: the softmax over the candidates should
  put its mass on those that answer (mean log-likelihood, ridge penalty, Newton's method). People
  answer each other in short turns, an assistant at length: weights learned on both together serve
  neither well. So chats have their own, learned last, beside the weights of notes.
- The probability that the best candidate answers, by logistic regression on what it and the
  question have in common, over questions and prompts that something answers and others.

How much a word tells is counted in prompts of everyday work. Without the conversations, which are
not part of the repository, the weights of turns stay and those of notes are learned again.

Figures are cross-validated: a group (a haystack, some meetings, the notes of a project) is ranked
by weights that saw nothing of it. `--write` then trains on everything and writes
`data/fusion.json`. The same inputs always give the same file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from bench.notes_data import WORK, load_prompts
from bench.ranking_sources import (
    SOURCES,
    Example,
    Flags,
    Numbers,
    from_friendsqa,
    from_longmemeval,
    from_molweni,
    from_notes,
    from_prompts,
    from_qmsum,
    from_written,
    gathered,
)
from bench.report import finish, parser, table
from wellkept.core.codec import Json
from wellkept.memory.recall.features import WEIGHTS_FILE, Feature, load_rankings, word_counts
from wellkept.memory.recall.ranking import MOST_MARGIN, SUPPORT, margin, stems

RIDGE = 3.0
RIDGE_ANSWERS = 1.0
BEST = 5
BY_HAND: dict[str, float] = {"fragments": 2.0, "links": 2.0, "causal": 1.0}
NOTE_BY_HAND = {"date": 3.0, "speaker": 1.0, "fragments": 3.0}
NOTE_MATCHES = {
    "hybrid": {"meaning": 8.0, "covers_most": 4.0},
    "words": {"words": 2.5, "covers_most": 6.0},
    "vectors": {"meaning": 8.0},
}
"""No note of the training has a date or an author. Many questions about them were written to share
no word with the note, which would teach that shared words speak against it: these are the best of a
grid on the development sets at 100, 5,000 and 100,000 notes (docs/decisions/ranking.md)."""
SHARE = {
    "longmemeval": 1.0,
    "mixed": 1.0,
    "qmsum": 0.25,
    "friendsqa": 1.0,
    "molweni": 1.0,
}
CHAT_SHARE = {"longmemeval": 4.0, "mixed": 1.0, "written": 0.25}
"""How much one question of a source counts for turns and notes, and for chats: LongMemEval has few,
and is most like real use; meetings are least like it."""
_CONVERSATIONS = {"longmemeval", "qmsum", "friendsqa"}
_ONLY_RANKED = {"molweni", "written"}
"""All their questions have an answer, so they cannot teach silence."""
ANSWER_SHARE = {WORK: 2.0}
"""How much a prompt of a kind counts for the probability: there are few of work."""
_THRESHOLDS = (0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7)
_COMPETING = 8
_MARGIN = SUPPORT.index("margin")
_STEPS = 40
_PARTS = 8
_ENOUGH = 1e-3

Places = NDArray[np.intp]

_BY_HAND = {Feature.FRAGMENTS, Feature.LINKS, Feature.CAUSAL}
_OF_WORDS = {s for s in Feature if "words" in s.label or "covers" in s.label}
_OF_MEANING = {s for s in Feature if "meaning" in s.label}
TURN = [s for s in Feature if s not in _BY_HAND | {Feature.NOTE, Feature.COVERS_MOST}]
NOTE = [Feature.NOTE]
_NOT_OF_CHATS = {Feature.COVERS_AROUND}  # the long answer of an assistant has most words
_WITHOUT = {
    "hybrid": set[Feature](),
    "words": _OF_MEANING,
    "vectors": _OF_WORDS,
}
_SUPPORT_WITHOUT = {
    "hybrid": set[str](),
    "words": {"lead", "asked_lead"},
    "vectors": set[str](),
}


@dataclass(frozen=True, slots=True)
class Fitted:
    """Weights of the features of turns, chats and notes, in the order of `Feature`."""

    turn: Numbers
    chat: Numbers
    note: Numbers

    def sums(self, example: Example) -> Numbers:
        """The weighted sum of each candidate."""
        each = (example.rows @ self.turn, example.rows @ self.chat, example.rows @ self.note)
        own: Numbers = np.choose(example.forms, each)
        return own


def fit(data: Sequence[Example], name: str = "hybrid", *, ridge: float = RIDGE) -> Fitted:
    """Weights for one set of retrievers that rank first what answers, beside those set by hand. As
    shipped where there are no conversations to learn from."""
    without = _WITHOUT[name]
    of_notes = {**BY_HAND, **NOTE_BY_HAND, **NOTE_MATCHES[name]}
    if not any(e.source in _CONVERSATIONS for e in data):
        known = load_rankings()[name].weights
        note = {**of_notes, Feature.NOTE.label: known.note[Feature.NOTE]}
        return Fitted(np.array(known.turn), np.array(known.chat), _by_hand(note))
    turn = [f for f in TURN if f not in without]
    note = NOTE
    found = Fitted(_by_hand(BY_HAND), _by_hand(BY_HAND), _by_hand(of_notes))
    weights = _learned(
        [e for e in data if e.targets and e.source in SHARE],
        lambda e: np.hstack([_only(~e.notes, e, turn), _only(e.notes, e, note)]),
        beside=found,
        share=SHARE,
        ridge=ridge,
    )
    found.turn[turn] = weights[: len(turn)]
    found.note[note] = weights[len(turn) :]
    chat = [f for f in turn if f not in _NOT_OF_CHATS]
    found.chat[chat] = _learned(
        [e for e in data if e.targets and e.source in CHAT_SHARE],
        lambda e: _only(e.chats, e, chat),
        beside=found,
        share=CHAT_SHARE,
        ridge=ridge,
    )
    return found


def _by_hand(weights: dict[str, float]) -> Numbers:
    return np.array([weights.get(feature.label, 0.0) for feature in Feature])


def _only(which: Flags, example: Example, features: Sequence[Feature]) -> Numbers:
    """Some features of some candidates; 0 for the others."""
    found: Numbers = np.where(which[:, None], example.rows[:, list(features)], 0.0)
    return found


def _learned(
    data: Sequence[Example],
    columns: Callable[[Example], Numbers],
    *,
    beside: Fitted,
    share: Mapping[str, float],
    ridge: float,
) -> Numbers:
    """Weights of some columns beside those known already."""
    given = np.concatenate([beside.sums(e) for e in data])
    raw = np.concatenate([columns(e) for e in data])
    scale = raw.std(axis=0) + 1e-9
    sizes = np.array([len(e.rows) for e in data], dtype=np.intp)
    starts = np.cumsum(sizes, dtype=np.intp) - sizes
    owner = np.repeat(np.arange(len(data), dtype=np.intp), sizes)
    counts = np.array([share[e.source] for e in data])
    targets = np.zeros(len(raw))
    for start, example in zip(starts, data, strict=True):
        targets[[start + t for t in example.targets]] = share[example.source] / len(example.targets)
    weights = _newton(
        raw / scale, given, targets, starts=starts, owner=owner, counts=counts, ridge=ridge
    )
    return weights / scale


def _newton(
    features: Numbers,
    given: Numbers,
    targets: Numbers,
    *,
    starts: Places,
    owner: Places,
    counts: Numbers,
    ridge: float,
) -> Numbers:
    def loss(weights: Numbers) -> tuple[float, Numbers]:
        raw: Numbers = features @ weights + given
        highest: Numbers = np.maximum.reduceat(raw, starts)
        scores: Numbers = raw - highest[owner]
        totals: Numbers = np.add.reduceat(np.exp(scores), starts)
        sums: Numbers = totals[owner]
        fit_term = float(targets @ (scores - np.log(sums)))
        return ridge / 2 * float(weights @ weights) - fit_term, np.exp(scores) / sums

    weights = np.zeros(features.shape[1])
    value, shares = loss(weights)
    each = counts[owner]
    for _ in range(_STEPS):
        gradient = features.T @ (each * shares - targets) + ridge * weights
        weighted = features * shares[:, None]
        means: Numbers = np.add.reduceat(weighted, starts, axis=0)
        curvature = (
            weighted.T @ (features * each[:, None])
            - means.T @ (means * counts[:, None])
            + ridge * np.eye(len(weights))
        )
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while loss(weights - size * step)[0] > value and size > _ENOUGH:
            size /= 2
        weights = weights - size * step
        before, (value, shares) = value, loss(weights)
        if before - value < _ENOUGH:
            break
    return weights


# -- The probability of an answer -----------------------------------------------------------------


def fit_answers(
    data: Sequence[Example], ranked_by: Fitted, *, notes: bool, without: Set[str]
) -> dict[str, float]:
    """A logistic model of whether the best candidate answers; support never counts against it.
    `wordless` is a second constant."""
    firsts = [
        (first, example)
        for example in data
        if example.source not in _ONLY_RANKED
        and (first := _first(example, ranked_by)) is not None
        and bool(example.notes[first[0]]) is notes
        and first[1].any()
    ]
    support = np.array([own for (_, own), _ in firsts])
    right = np.array([float(place in example.targets) for (place, _), example in firsts])
    counts = np.array([ANSWER_SHARE.get(example.kind, 1.0) for _, example in firsts])
    names = [name for name in SUPPORT if name not in without]
    while True:
        chosen = [SUPPORT.index(name) for name in names]
        found = _logistic(support[:, chosen], right, counts)
        weights = dict(zip(names, found[1:], strict=True))
        wrong = [n for n, w in weights.items() if w < 0 and n != "wordless"]
        if not wrong:
            return {"constant": float(found[0]), **{n: float(w) for n, w in weights.items()}}
        names.remove(max(wrong, key=lambda name: abs(weights[name])))


def _first(example: Example, ranked_by: Fitted) -> tuple[int, Numbers] | None:
    """The best candidate that was read, and its support."""
    sums = ranked_by.sums(example)
    places: list[int] = np.argsort(-sums, kind="stable").tolist()
    order = [n for n in places if example.words[n] is not None]
    if not order:
        return None
    best = order[:_COMPETING]
    own = example.support[best[0]].copy()
    ahead = margin(
        [float(sums[n]) for n in best], [example.words[n] or frozenset[str]() for n in best]
    )
    own[_MARGIN] *= min(max(ahead, 0.0), MOST_MARGIN)
    return best[0], own


def _logistic(features: Numbers, right: Numbers, counts: Numbers) -> Numbers:
    rows = np.hstack([np.ones((len(features), 1)), features])
    penalty = RIDGE_ANSWERS * np.eye(rows.shape[1])
    penalty[0, 0] = 0.0
    weights = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-rows @ weights))
        gradient = rows.T @ (counts * (likely - right)) + penalty @ weights
        curvature = (rows * (counts * likely * (1 - likely))[:, None]).T @ rows + penalty
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step
        if float(np.abs(step).max()) < _ENOUGH:
            break
    return weights


def clarity(example: Example, ranked_by: Fitted, answers: dict[str, dict[str, float]]) -> float:
    """The probability that the best candidate answers, as recall gives it."""
    found = _first(example, ranked_by)
    if found is None or not found[1].any():
        return 0.0
    place, own = found
    model = answers["note" if example.notes[place] else "turn"]
    values = zip(SUPPORT, own.tolist(), strict=True)
    total = model["constant"] + sum(model.get(name, 0.0) * value for name, value in values)
    return float(1 / (1 + np.exp(-total)))


# -- Figures --------------------------------------------------------------------------------------


def cross_validated(data: Sequence[Example]) -> dict[str, dict[str, float]]:
    """Figures by source and kind; an eighth of the groups at a time is ranked by weights learned
    from the others."""
    found: dict[str, list[tuple[Example, Fitted, float]]] = {}
    groups = list(dict.fromkeys(e.group for e in data))
    for part in range(_PARTS):
        left_out = set(groups[part::_PARTS])
        others = [e for e in data if e.group not in left_out]
        weights = fit(others)
        answers = _answers(others, weights, "hybrid")
        for example in (e for e in data if e.group in left_out):
            name = f"{example.source} {example.kind}".strip()
            found.setdefault(name, []).append(
                (example, weights, clarity(example, weights, answers))
            )
    return {name: _figures(of) for name, of in sorted(found.items())}


def _figures(of: Sequence[tuple[Example, Fitted, float]]) -> dict[str, float]:
    answerable = [(e, w) for e, w, _ in of if e.wanted]
    clear = np.array([p for _, _, p in of])
    return {
        "questions": len(of),
        "first": _percent([_found(e, w, 1) > 0 for e, w in answerable]),
        "recall_at_10": _percent([_found(e, w, 10) / e.wanted for e, w in answerable]),
        "mean_probability": round(float(clear.mean()), 3),
        **{f"from_{least:g}": _percent((clear >= least).tolist()) for least in _THRESHOLDS},
    }


def _found(example: Example, weights: Fitted, depth: int) -> int:
    order: list[int] = np.argsort(-weights.sums(example), kind="stable")[:depth].tolist()
    return len(set(order).intersection(example.targets))


def _percent(values: Sequence[float]) -> float:
    return round(100 * float(np.mean(values)), 1) if values else 0.0


def _answers(data: Sequence[Example], weights: Fitted, name: str) -> dict[str, dict[str, float]]:
    without = _SUPPORT_WITHOUT[name]
    known = load_rankings()[name].turn
    has_turns = any(e.source in _CONVERSATIONS for e in data)
    return {
        "note": fit_answers(data, weights, notes=True, without=without),
        "turn": fit_answers(data, weights, notes=False, without=without)
        if has_turns
        else {"constant": known.constant, **known.weights},
    }


def _set(data: Sequence[Example], name: str) -> Json:
    """Everything learned for one set of retrievers."""
    weights = fit(data, name)
    answers = _answers(data, weights, name)
    return {
        "turn": _named(weights.turn),
        "chat": _named(weights.chat),
        "note": _named(weights.note),
        "turn_answers": {name: round(value, 3) for name, value in answers["turn"].items()},
        "note_answers": {name: round(value, 3) for name, value in answers["note"].items()},
    }


def _named(weights: Numbers) -> dict[str, Json]:
    return {s.label: round(float(weights[s]), 3) for s in Feature if weights[s]}


def prompt_words() -> Json:
    """In how many prompts of everyday work a stem is, of those in more than one."""
    counts = Counter(word for prompt in load_prompts() for word in stems(prompt))
    return {word: count for word, count in sorted(counts.items()) if count > 1}


def main() -> None:
    """Train."""
    options = parser(__doc__)
    options.add_argument("--longmemeval", type=Path, help="its development file")
    options.add_argument("--qmsum", type=Path, help="a folder of its meetings")
    options.add_argument("--friendsqa", type=Path, help="the folder of its files")
    options.add_argument("--molweni", type=Path, help="the file of its test part")
    options.add_argument("--write", action="store_true", help="write the shipped weights")
    asked = options.parse_args()
    if asked.write:  # what a word tells is part of what is learned from
        _write(prompt_words=prompt_words())
    conversations = [
        ("longmemeval", asked.longmemeval, from_longmemeval),
        ("qmsum", asked.qmsum, from_qmsum),
        ("friendsqa", asked.friendsqa, from_friendsqa),
        ("molweni", asked.molweni, from_molweni),
    ]
    data = gathered(
        [
            *((name, partial(read, path)) for name, path, read in conversations if path),
            ("written", from_written),
            ("notes", from_notes),
            ("prompts", from_prompts),
        ]
    )
    figures = cross_validated(data)
    known = json.loads(WEIGHTS_FILE.read_text("utf-8"))["cross_validated"]
    every = {**known, **figures}  # of conversations that are not at hand the figures stay
    sets: dict[str, Json] = {name: _set(data, name) for name in _WITHOUT}
    if asked.write:
        _write(
            **_about(),
            questions=sum(int(of["questions"]) for of in every.values()),
            cross_validated=cast("Json", every),
            sets=sets,
        )
    rows = [(name, *(f"{value:g}" for value in of.values())) for name, of in figures.items()]
    finish(
        "fusion_train",
        {"questions": len(data), "cross_validated": cast("Json", figures), "sets": sets},
        as_json=asked.json,
        lines=table(
            ("left out in turn", "questions", "first", "r@10", "mean P", *map(str, _THRESHOLDS)),
            rows,
        ),
    )


def _about() -> dict[str, Json]:
    return {
        "about": "Weights of the default ranking; made by `python -m bench.fusion_train --write`.",
        "learned_from": [
            {"name": name, "what": what, "licence": licence}
            for name, (what, licence) in SOURCES.items()
        ],
        "method": f"listwise softmax over the candidates, linear, ridge {RIDGE:g}; probability of"
        f" an answer by logistic regression, ridge {RIDGE_ANSWERS:g}",
        "set_by_hand": [
            *sorted(BY_HAND),
            *(f"{name} of notes" for name in sorted({*NOTE_BY_HAND, *NOTE_MATCHES["hybrid"]})),
        ],
    }


def _write(**parts: Json) -> None:
    """Replace parts of the shipped file."""
    content: dict[str, Json] = {**json.loads(WEIGHTS_FILE.read_text("utf-8")), **parts}
    WEIGHTS_FILE.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    load_rankings.cache_clear()
    word_counts.cache_clear()


if __name__ == "__main__":
    main()
