"""Words of other languages and what they mean in English, learned from translated messages.

IBM model 1 in both directions; a word's meanings are weighed by the product of both. Text without
spaces is first cut into the pieces that go most often with one English word (Dice coefficient).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from scripts.train_embedder.vocabulary import is_unspaced
from wellkept.models.embedders.words import split_words

Pair = tuple[str, str]
Meanings = dict[str, list[tuple[str, float]]]

_ENGLISH = re.compile(r"[a-z]{2,24}")
_ROUNDS = 6
_MEANINGS = 5
_LEAST_WEIGHT = 0.04
_LEAST_COUNT = 3
_SCRIPTS = re.compile(r"[\u30a0-\u30ff]+|[\u3040-\u309f]+|[\uac00-\ud7ff]+|[\u4e00-\u9fff]+|.")
_LONGEST_GRAM = 4
_LONGEST_KATAKANA = 10
_MOST_WORDS = 40
_COMPARED = 15_000


def meanings(pairs: Sequence[Pair], limit: int) -> Meanings:
    """The commonest words of one language, each with its English meanings and their weights."""
    english = [_english_words(left) for left, _ in pairs]
    runs = [_runs(right) for _, right in pairs]
    grams = _gram_scores(english[:_COMPARED], runs[:_COMPARED])
    foreign = [[piece for run in of for piece in _cut(run, grams)] for of in runs]
    counts = Counter(word for words in foreign for word in words)
    of_english = Counter(word for words in english for word in words)
    kept = [
        word
        for word, count in counts.most_common()
        if count >= _LEAST_COUNT and not word.isdecimal() and count > 2 * of_english[word]
    ]
    chosen = frozenset(kept[:limit])
    foreign = [[word for word in words if word in chosen] for words in foreign]
    there, back = _model(foreign, english), _model(english, foreign)
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for (one, other), share in there.items():
        found[other][one] = share * back.get((other, one), 0.0)
    return {word: best for word in kept[:limit] if (best := _best(found.get(word, {})))}


def _best(weights: dict[str, float]) -> list[tuple[str, float]]:
    total = sum(weights.values())
    if not total:
        return []
    best = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:_MEANINGS]
    return [(word, w / total) for word, w in best if w / total >= _LEAST_WEIGHT]


def _english_words(text: str) -> list[str]:
    words = dict.fromkeys(split_words(text)[:_MOST_WORDS])
    return [word for word in words if _ENGLISH.fullmatch(word)]


def _model(left: Sequence[Sequence[str]], right: Sequence[Sequence[str]]) -> dict[Pair, float]:
    """IBM model 1: the share of each word of the right side in what a word of the left side means.

    Keys are (right word, left word)."""
    ids: tuple[dict[str, int], dict[str, int]] = ({}, {})
    links: list[int] = []  # one for each pair of words that stand in the same message
    owners: list[int] = []  # the place of the right word
    place = 0
    width = 1 << 20
    for sources, targets in zip(left, right, strict=True):
        known = [ids[0].setdefault(word, len(ids[0])) for word in dict.fromkeys(sources)]
        for target in dict.fromkeys(targets):
            number = ids[1].setdefault(target, len(ids[1]))
            links += [source * width + number for source in known]
            owners += [place] * len(known)
            place += 1
    pairs, index = np.unique(np.array(links, dtype=np.int64), return_inverse=True)
    sources = pairs // width
    owner = np.array(owners, dtype=np.int64)
    weights = np.ones(len(pairs))
    for _ in range(_ROUNDS):
        each = weights[index]
        each /= np.bincount(owner, each, minlength=place)[owner]
        expected = np.bincount(index, each, minlength=len(pairs))
        weights = expected / np.bincount(sources, expected)[sources]
    names = (list(ids[0]), list(ids[1]))
    strong = np.flatnonzero(weights > 1e-3)
    return {
        (names[1][int(pairs[n] % width)], names[0][int(sources[n])]): float(weights[n])
        for n in strong
    }


# -- Text without spaces --------------------------------------------------------------------------


def _gram_scores(english: Sequence[Sequence[str]], runs: Sequence[Sequence[str]]) -> Counter[str]:
    """Pieces of unspaced text by how well one English word goes with them, longer ones first."""
    counts: Counter[str] = Counter()
    inside: list[set[str]] = []
    for of in runs:
        own = {gram for run in of if is_unspaced(run) for gram in _grams(run)}
        inside.append(own)
        counts.update(own)
    if not counts:
        return counts
    of_english = Counter(word for words in english for word in words)
    common = {gram for gram, count in counts.items() if count >= _LEAST_COUNT + 2}
    together: Counter[Pair] = Counter()
    for words, own in zip(english, inside, strict=True):
        for gram in own & common:
            for word in words:
                together[gram, word] += 1
    scores: Counter[str] = Counter()
    for (gram, word), count in together.items():
        dice = 2 * count / (counts[gram] + of_english[word])
        score = int(1000 * dice)
        scores[gram] = max(scores[gram], score)
    return scores


def _runs(text: str) -> list[str]:
    """Words, and of unspaced text the runs of one script."""
    found: list[str] = []
    for word in split_words(text)[:_MOST_WORDS]:
        found += _SCRIPTS.findall(word) if is_unspaced(word) else [word]
    return found


def _longest(run: str) -> int:
    return _LONGEST_KATAKANA if "\u30a0" <= run[0] <= "\u30ff" else _LONGEST_GRAM


def _grams(run: str) -> Iterable[str]:
    for begin in range(len(run)):
        for end in range(begin + 1, min(len(run), begin + _longest(run)) + 1):
            yield run[begin:end]


def _cut(run: str, scores: Counter[str]) -> list[str]:
    """A run of unspaced text in the pieces whose scores add up to most, weighed by length."""
    if not is_unspaced(run):
        return [run]
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(run) + 1):
        options = [
            (best[begin][0] + scores[run[begin:end]] * (end - begin), begin)
            for begin in range(max(0, end - _longest(run)), end)
        ]
        best.append(max(options))
    pieces: list[str] = []
    end = len(run)
    while end:
        begin = best[end][1]
        pieces.append(run[begin:end])
        end = begin
    return pieces[::-1]
