"""Word overlap of a prompt and skills.

`WordIndex` is BM25 over weighted fields, built once for a set of skills. `document_scores` is the
formula of the source documents: 4.0 for a word in the name, 2.5 in the description, 2.0 in the
tags, 1.0 in the body, divided by the square root of the body's word count. Synonyms are data beside
this module.

Invariant: scores depend only on the skills and the text; no score is negative. Knows nothing of
projects, vectors or budgets.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import cast

from wellkept.core.records import record
from wellkept.core.skills import Skill
from wellkept.core.text import (
    STOP_WORDS,
    cjk_runs,
    fold,
    identifiers,
    split_identifier,
    stem,
    words,
)

FIELD_WEIGHTS: Mapping[str, float] = {
    "name": 4.0,
    "description": 2.5,
    "when to use": 2.5,
    "tags": 2.0,
    "body": 1.0,
}
DOCUMENT_WEIGHTS: Mapping[str, float] = {
    "name": 4.0,
    "description": 2.5,
    "tags": 2.0,
    "body": 1.0,
}
SYNONYM_WEIGHT = 0.6
COMMON_WORD_WEIGHT = 0.25
_SATURATION = 1.2
_LENGTH = 0.5
_SHOWN_WORDS = 5
_MAX_BODY_CHARS = 40_000
_CJK_TABLES = ("chinese", "japanese")


@record
class WordMatch:
    """The word overlap with one skill; `gains` is what each word added, negated."""

    score: float
    gains: tuple[tuple[float, str], ...]

    @property
    def detail(self) -> str:
        """The words that contributed most."""
        return ", ".join(word for _, word in sorted(self.gains)[:_SHOWN_WORDS])


def _field_texts(skill: Skill) -> dict[str, str]:
    """The texts of a skill by field; a long body is cut."""
    return {
        "name": skill.name.replace("-", " ").replace("_", " "),
        "description": skill.description,
        "when to use": skill.when_to_use or "",
        "tags": " ".join(skill.tags),
        "body": skill.body[:_MAX_BODY_CHARS],
    }


class WordIndex:
    """BM25 over the fields of skills, each field with its weight.

    Scores are in units of a word that only one skill has, so they are comparable between libraries
    of ten and of a thousand skills. Common words, which look rare in a small library, count less.
    """

    def __init__(self, skills: Sequence[Skill]) -> None:
        self._size = len(skills)
        self._rarest = math.log(1 + (self._size - 0.5) / 1.5) if skills else 1.0
        self._postings = self._build([_field_counts(skill) for skill in skills])

    def match(self, text: str) -> dict[int, WordMatch]:
        """The skills, by position, that share a word with the text."""
        scores: defaultdict[int, float] = defaultdict(float)
        shared: defaultdict[int, list[tuple[float, str]]] = defaultdict(list)
        for term, (word, weight) in query_words(text).items():
            posting = self._postings.get(term, ())
            rarity = self._rarity(term, len(posting)) * weight
            for position, frequency in posting:
                gain = rarity * frequency * (_SATURATION + 1) / (frequency + _SATURATION)
                scores[position] += gain
                shared[position].append((-gain, word))
        return {
            position: WordMatch(score, tuple(shared[position]))
            for position, score in scores.items()
        }

    def _rarity(self, term: str, holders: int) -> float:
        plain = math.log(1 + (self._size - holders + 0.5) / (holders + 0.5)) / self._rarest
        return plain * (COMMON_WORD_WEIGHT if term in _common_stems() else 1.0)

    @staticmethod
    def _build(counted: Sequence[Mapping[str, Counter[str]]]) -> dict[str, list[tuple[int, float]]]:
        mean_length = {
            field: max(1.0, _mean(sum(fields[field].values()) for fields in counted))
            for field in FIELD_WEIGHTS
        }
        postings: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for position, fields in enumerate(counted):
            weights: defaultdict[str, float] = defaultdict(float)
            for field, counts in fields.items():
                length = 1 - _LENGTH + _LENGTH * sum(counts.values()) / mean_length[field]
                for term, count in counts.items():
                    weights[term] += FIELD_WEIGHTS[field] * count / length
            for term, weight in weights.items():
                postings[term].append((position, weight))
        return dict(postings)


def query_words(text: str) -> dict[str, tuple[str, float]]:
    """The stems to look up, each with its word and weight.

    Parts of identifiers count too; synonyms count less.
    """
    parts = (part for name in identifiers(text) for part in split_identifier(name))
    found: dict[str, tuple[str, float]] = {}
    for word in (*words(text), *parts):
        if word not in STOP_WORDS:
            found.setdefault(stem(word), (word, 1.0))
    for synonym in _synonyms_in(text):
        for word in words(synonym):
            found.setdefault(stem(word), (word, SYNONYM_WEIGHT))
    return found


def summary_share(skill: Skill, text: str) -> float:
    """The share of a text's words that the skill's name, description or tags have, 0 to 1."""
    asked = {stem(word) for word in words(text) if word not in STOP_WORDS}
    fields = _field_counts(skill)
    has = {term for field, counts in fields.items() if field != "body" for term in counts}
    return len(asked & has) / len(asked) if asked else 0.0


def document_scores(skills: Sequence[Skill], text: str) -> list[float]:
    """The formula of the source documents, for each skill in order."""
    query = set(words(text))
    return [_document_score(skill, query) for skill in skills]


def _document_score(skill: Skill, query: set[str]) -> float:
    texts = _field_texts(skill)
    body = words(texts["body"])
    total = sum(
        weight * len(query.intersection(body if field == "body" else words(texts[field])))
        for field, weight in DOCUMENT_WEIGHTS.items()
    )
    return total / math.sqrt(max(1, len(body)))


def _field_counts(skill: Skill) -> dict[str, Counter[str]]:
    texts = _field_texts(skill)
    # Aliases count like tags.
    texts["tags"] = " ".join((texts["tags"], *skill.invocation.aliases))
    return {
        field: Counter(stem(word) for word in words(text) if word not in STOP_WORDS)
        for field, text in texts.items()
    }


def _mean(values: Iterable[int]) -> float:
    every = list(values)
    return sum(every) / len(every) if every else 0.0


def _synonyms_in(text: str) -> Iterator[str]:
    """English synonyms of the words of a text; each is one or several words."""
    whole, anywhere = _meanings()
    typed = set(words(text))
    yield from (synonym for word, synonym in whole.items() if word in typed)
    for run in cjk_runs(fold(text)):
        yield from (synonym for word, synonym in anywhere.items() if word in run)


@lru_cache(maxsize=1)
def _common_stems() -> frozenset[str]:
    """The stems of words that say nothing about the subject of a prompt."""
    return frozenset(stem(word) for word in cast("str", _read("everyday")["words"]).split())


@lru_cache(maxsize=1)
def _meanings() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Entries matched as whole words, and entries matched anywhere."""
    tables = cast("dict[str, dict[str, str]]", _read("vocabulary"))
    whole = {
        fold(w): m for name, t in tables.items() if name not in _CJK_TABLES for w, m in t.items()
    }
    return whole, {fold(w): m for name in _CJK_TABLES for w, m in tables[name].items()}


def _read(name: str) -> dict[str, object]:
    import tomllib

    with (Path(__file__).parent / "data" / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)
