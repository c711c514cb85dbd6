"""Compares two statements by their words.

Embeddings show that two sentences are about the same subject, but cannot tell "use npm" from "use
pnpm". Before near-duplicates are merged, `compare` decides whether the new one repeats, extends,
rephrases or contradicts the old one. In doubt it returns CONTRADICTS or DIFFERENT, so that no
statement is lost.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import pairwise

from wellkept.core.text import STOP_WORDS, comparison_key, stem, words

_NUMBER = re.compile(r"\d+")
_MEASURED = re.compile(r"(\d+)[a-zµ%]{1,5}")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w+#]*")
_NEGATIONS = frozenset(
    """not no never none neither nor cannot can't don't doesn't didn't won't isn't aren't wasn't
    weren't shouldn't mustn't wouldn't disable disabled disallow forbid
    pas jamais sans aucun nicht kein keine nie ohne nunca jamás sin""".split()
)
_CJK_NEGATIONS = ("不", "没", "別", "别", "勿", "非", "無", "ない", "しない", "ません", "禁止")
_AUXILIARIES = frozenset("is are was were be been being am has have had do does did".split())
_NARROWING = frozenset(
    """for in on at with when where under inside during before after by from until if of against
    pour dans sur avec avant après für auf mit bei vor nach para con antes""".split()
)
_NUMBER_WORDS = {
    name: str(value)
    for value, name in enumerate(
        "one two three four five six seven eight nine ten eleven twelve".split(), start=1
    )
}
ENUMERATED = frozenset(
    """step phase part note section chapter issue ticket task rule case item line milestone sprint
    story option example figure table stage round week day étape partie règle schritt teil paso
    parte""".split()
)
# Before these a number at the beginning is a value, not part of a name: "Node 20 is required".
_VALUED = frozenset(
    """max min maximum minimum least most limit timeout only about over under than up to use uses
    using python node java go ruby php rust version release port keep allow allows need needs run
    require requires support supports with in on at for by of from every each the a an and or
    we""".split()
)
# Two ways to write one word; a swap of them changes nothing.
_LONG_FORMS = {
    short: long
    for long, forms in {
        "database": "db dbs databases",
        "configuration": "config configs configurations",
        "repository": "repo repos repositories",
        "environment": "env envs environments",
        "production": "prod",
        "documentation": "docs",
        "directory": "dir dirs directories",
        "dependency": "dep deps dependencies",
        "deploy": "deploys deployment deployments",
    }.items()
    for short in forms.split()
}
_NAME_WORDS = 3
_SAME_SUBJECT = 0.8
# On the shipped pairs, two thirds keeps contradictions out; one half let some in.
_REWORDED = 2 / 3
_STEM_CHARS = 3


class TextRelation(StrEnum):
    """Relation of the new statement to the old one."""

    SAME = "same"
    REFINES = "refines"
    COVERED = "covered"
    PARAPHRASE = "paraphrase"
    CONTRADICTS = "contradicts"
    DIFFERENT = "different"


def compare(old: str, new: str) -> TextRelation:
    """Compare a new statement with an old one that is near by vector."""
    old_words, new_words = _written_out(old), _written_out(new)
    if old_words == new_words and comparison_key(old) == comparison_key(
        new
    ):  # `a.b` and `a b` have equal words
        return TextRelation.SAME
    old_set, new_set = _significant(old_words), _significant(new_words)
    if _numbers(old_words) != _numbers(new_words) or (
        _negated(old, old_words) != _negated(new, new_words)
    ):
        same_subject = _overlap(old_set, new_set) >= _SAME_SUBJECT and not _numbers_a_list(
            old_words
        )
        return TextRelation.CONTRADICTS if same_subject else TextRelation.DIFFERENT
    if old_set == new_set:
        exchanged = _exchanged(_significant_order(old_words), _significant_order(new_words))
        return TextRelation.CONTRADICTS if exchanged else TextRelation.PARAPHRASE
    if old_set < new_set:
        return TextRelation.REFINES
    if new_set < old_set:
        return TextRelation.COVERED
    swaps = _swaps(old_words, new_words)
    if swaps:
        return (
            TextRelation.CONTRADICTS
            if _swaps_the_value(old_words, swaps)
            else TextRelation.DIFFERENT
        )
    reworded = _overlap(old_set, new_set) >= _REWORDED and not _names_differ(old, new)
    return TextRelation.PARAPHRASE if reworded else TextRelation.DIFFERENT


def _written_out(text: str) -> list[str]:
    return [_LONG_FORMS.get(word, word) for word in words(text)]


def _numbers(tokens: list[str]) -> list[str]:
    """The numbers in order, spelled or in digits: "four in Go, two in C" is not "two, four"."""
    named = (_NUMBER_WORDS.get(word, word) for word in tokens)
    bare = (found[1] if (found := _MEASURED.fullmatch(word)) else word for word in named)
    return [word for word in bare if _NUMBER.fullmatch(word)]


def _names_differ(old: str, new: str) -> bool:
    """Whether each has a name that the other lacks: bindings for Python, bindings for Ruby."""
    left, right = ({name.casefold() for name in _NAME.findall(text)} for text in (old, new))
    return bool(left - {*words(new)} and right - {*words(old)})


def is_negated(text: str) -> bool:
    """Whether a statement says that something is not so."""
    return _negated(text, words(text))


def _negated(text: str, tokens: list[str]) -> bool:
    count = sum(word in _NEGATIONS for word in tokens)
    count += sum(text.count(mark) for mark in _CJK_NEGATIONS)
    return count % 2 == 1


def _numbers_a_list(tokens: list[str]) -> bool:
    """Whether a number enumerates: "step 1" and "step 2" can both hold, and so can statements
    about "worker 1" and "worker 2"."""
    last = min(_NAME_WORDS, len(tokens) - 1)
    return any(
        (_NUMBER.fullmatch(word) or word in _NUMBER_WORDS)
        and (before in ENUMERATED or (place < last and before not in _VALUED | _AUXILIARIES))
        for place, (before, word) in enumerate(pairwise(tokens), start=1)
    )


def _significant(tokens: list[str]) -> frozenset[str]:
    return frozenset(_significant_order(tokens))


def _significant_order(tokens: list[str]) -> list[str]:
    skipped = STOP_WORDS | _NEGATIONS
    return [
        stem(w)
        for w in tokens
        if w not in skipped and w not in _NUMBER_WORDS and not _NUMBER.fullmatch(w)
    ]


def _exchanged(old: list[str], new: list[str]) -> bool:
    """Whether two terms were swapped and nothing else: "npm, not pnpm" / "pnpm, not npm".

    A term that only moved changes more positions, and is a rewording.
    """
    if len(old) != len(new):
        return False
    positions = [i for i, (left, right) in enumerate(zip(old, new, strict=True)) if left != right]
    half = len(positions) // 2
    first, second = positions[:half], positions[half:]
    return bool(first) and (
        [old[i] for i in first] == [new[i] for i in second]
        and [old[i] for i in second] == [new[i] for i in first]
        and (half == 1 or second[0] > first[-1] + 1)
    )


def _overlap(left: frozenset[str], right: frozenset[str]) -> float:
    return len(left & right) / min(len(left), len(right)) if left and right else 0.0


_Span = tuple[int, int, int, int]


def _swaps(old_words: list[str], new_words: list[str]) -> list[_Span]:
    """Replaced spans of the same sentence: "use npm here" / "use pnpm here"."""
    matcher = SequenceMatcher(a=old_words, b=new_words, autojunk=False)
    if matcher.ratio() < 0.5:
        return []
    return [
        (i1, i2, j1, j2)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag == "replace" and not _reworded(old_words[i1:i2], new_words[j1:j2])
    ]


def _swaps_the_value(old_words: list[str], swaps: list[_Span]) -> bool:
    """One replacement, at the end, of a short value: "the database is mysql" / "... postgres".

    After a word that narrows ("tabs for go", "tabs for python") both can be true.
    """
    start, end, new_start, new_end = swaps[0]
    return (
        len(swaps) == 1
        and end == len(old_words)
        and start > 0
        and end - start <= 2
        and new_end - new_start <= 2
        and old_words[start - 1] not in _NARROWING
    )


def _reworded(old_part: list[str], new_part: list[str]) -> bool:
    """Forms of the same words, with or without an auxiliary: "runs" / "is running"."""
    left = [word for word in old_part if word not in _AUXILIARIES]
    right = [word for word in new_part if word not in _AUXILIARIES]
    return len(left) == len(right) and all(map(_inflections, left, right))


def _inflections(left: str, right: str) -> bool:
    """Forms of one word (deploy/deploys, run/running): a common stem or a long beginning."""
    if stem(left) == stem(right):
        return True
    shortest = min(len(left), len(right))
    common = next((i for i in range(shortest) if left[i] != right[i]), shortest)
    return common >= _STEM_CHARS and max(len(left), len(right)) - common <= _STEM_CHARS
