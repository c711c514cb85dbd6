"""Whether a new rule takes the place of an older one, by its words.

Two ways: both name one of a family of which a project uses one ("use npm" / "we moved to pnpm"), or
the new one denies what the old one says ("we don't use Redux here"). Everything else that the old
rule is about must also be in the new one, so that rules about different subjects stay apart. The
words are data (`data/opposites.toml`).
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from wellkept.core.text import STOP_WORDS, fold, stem
from wellkept.text.contradictions.statement import words
from wellkept.text.rule_data import read_rules

_WORD = re.compile(
    r"[a-z0-9_@][\w.@/-]*[\w/]|[a-z0-9]|[\u3040-\u30ff\u4e00-\u9fff]+|[^\W\d_]+", re.I
)
_CJK_GENERIC = re.compile(
    "[我们們本项目專案这這里裡在用使不是的都要请請再也はをでここ使いますせん私たちのにがもこプロジェクト]+"
)
_MAX_CHARS = 2_000
_MIGRATION = re.compile(
    r"\b(?:moved|switched|migrated|changed over|now use|no longer|from now on|going forward)\b",
    re.I,
)


def opposes(old: str, new: str) -> bool:
    """Whether the new rule contradicts the old one about the same subject."""
    old, new = old[:_MAX_CHARS], new[:_MAX_CHARS]
    return _denies(old, new) or _takes_another(old, new)


def related_terms(statement: str) -> list[str]:
    """Words by which rules that it may contradict can be found: what it denies, the others of the
    families that it names, and what these are for."""
    named = set(_words(statement))
    both = zip(_families(), _purposes(), strict=True)
    families = [(members, purpose) for members, purpose in both if members & named]
    others = [one for members, _ in families for one in sorted(members - named)]
    purposes = [one for _, purpose in families for one in sorted(purpose)]
    denied = [word for what in _denied(statement) for word in _words(what)]
    return list(dict.fromkeys([*denied, *purposes, *others]))


def _denies(old: str, new: str) -> bool:
    """Whether the new rule denies what the old one says, and nothing else is in the old one."""
    said = _affirmed(old)
    for what in map(_words, _denied(new)):
        for part in (what, what[:1]):
            if not {*what[len(part) :]} <= {*said, *generic_words(), *_topics()}:
                continue
            wanted = [word for word in part if word not in generic_words()]
            affirmed = [_short_name(word, wanted) for word in said]
            if not wanted or not set(wanted) <= set(affirmed):
                continue
            left = Counter(affirmed) - Counter(wanted)
            rest = {word for word in left if word not in generic_words()}
            rest -= _topics() if any(set(wanted) <= members for members in _families()) else set()
            others = Counter(_words(new)) - Counter(wanted)
            if rest <= set(others):
                return True
    return False


def _short_name(word: str, denied: list[str]) -> str:
    """A host or file by its first part, if that is what is denied: "stage1" of stage1.local."""
    head, dot, _ = word.partition(".")
    return head if dot and head in denied else word


def _takes_another(old: str, new: str) -> bool:
    """Whether both name one of a family, and not the same one, of the same subject."""
    old_set, new_set = set(_affirmed(old)), set(_affirmed(new))
    named = {number for word in old_set for number in _families_of().get(word, ())}
    if not named or not words("additions").isdisjoint(fold(new).split()):
        return False
    is_change = _MIGRATION.search(new) is not None
    for number in named:
        members, purpose = _families()[number], set(map(stem, _purposes()[number]))
        one, other = members & old_set, members & new_set
        if len(one) == 1 and len(other) == 1 and one != other:
            rest_old, rest_new = (
                said - members - generic_words() - _versions(text, members)
                for said, text in ((old_set, old), (new_set, new))
            )
            if rest_old - purpose == rest_new - purpose or (is_change and not rest_old - _topics()):
                return True
    return False


def _versions(text: str, members: frozenset[str]) -> set[str]:
    """The numbers right behind a member of a family."""
    pairs = pairwise(_words(text))
    return {word for name, word in pairs if name in members and word[0].isdigit()}


# A new rule is compared with many old ones: both are read once.
@lru_cache(maxsize=256)
def _affirmed(text: str) -> tuple[str, ...]:
    """The words of a rule without those that it denies."""
    left = Counter(_words(text))
    for what in _denied(text):
        left -= Counter(_words(what)[:1])
    return tuple(left.elements())


@lru_cache(maxsize=256)
def _denied(text: str) -> tuple[str, ...]:
    return tuple(found["what"] for pattern in _denials() for found in pattern.finditer(text))


@lru_cache(maxsize=256)
def _words(text: str) -> tuple[str, ...]:
    found = (match.group().strip("./") for match in _WORD.finditer(fold(plain_names(text))))
    return tuple(
        stem(word)
        for word in found
        if word and word not in STOP_WORDS and not _CJK_GENERIC.fullmatch(word)
    )


def plain_names(text: str) -> str:
    """A text with names of several words, and what means the same, in one spelling."""
    for pattern, spelling in _aliases():
        text = pattern.sub(spelling, text)
    return text


@cache
def _aliases() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(one), other) for one, other in _raw()["aliases"]]


@cache
def _raw() -> dict[str, Any]:
    return read_rules("opposites")


@cache
def _families() -> tuple[frozenset[str], ...]:
    named = (names.partition("|")[0] for names in _raw()["families"])
    return tuple(frozenset(map(stem, names.split())) for names in named)


@cache
def _purposes() -> tuple[frozenset[str], ...]:
    """What each family is for, as written: said or not, it is the same."""
    return tuple(frozenset(names.partition("|")[2].split()) for names in _raw()["families"])


@cache
def _families_of() -> dict[str, list[int]]:
    """The families of each word, by number."""
    found: dict[str, list[int]] = {}
    for number, members in enumerate(_families()):
        for word in members:
            found.setdefault(word, []).append(number)
    return found


@cache
def generic_words() -> frozenset[str]:
    """Words that say nothing of the subject of a rule, as written and in their stem."""
    return frozenset(word for name in _raw()["generic"].split() for word in (name, stem(name)))


@cache
def _topics() -> frozenset[str]:
    return frozenset(map(stem, _raw()["topics"].split()))


@cache
def _denials() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(entry["pattern"], re.IGNORECASE) for entry in _raw()["denied"])
