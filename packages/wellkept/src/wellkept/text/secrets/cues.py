"""Words that speak of secrets: which kind of cue a name or a phrase is, in many languages."""

from __future__ import annotations

import re
from functools import lru_cache

from wellkept.core.records import record
from wellkept.text.rule_data import read_rules

# Of these kinds a line is read for plain words too; the others matter only beside random values.
NEGATED = "negated"
_PART = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])|[^\W_a-zA-Z0-9]+")
_NO_CUE_ENDS = ("bypass", "compass", "surpass", "encompass", "trespass", "underpass", "overpass")
# Longest kinds of names that carry anything after the word itself: DB_PASSWORD_PROD, token2.
_TAILS = frozenset(
    (
        "hash value val prod production dev development test staging live main default primary "
        "secondary old new str string plain b64 base64 base s data encoded raw current initial"
    ).split()
)


@record
class _Words:
    inside: tuple[tuple[str, str], ...]
    whole: dict[str, str]
    phrases: dict[str, str]
    last: frozenset[str]
    foreign: tuple[tuple[str, str], ...]
    ends: frozenset[str]
    before_key: frozenset[str]
    verbs: frozenset[str]


@lru_cache(maxsize=1)
def _words() -> _Words:
    raw = read_rules("secret_words")
    phrases = {word: kind for kind, words in raw["phrases"].items() for word in words}
    inside = [(word, kind) for kind, words in raw["inside"].items() for word in words]
    return _Words(
        inside=tuple(sorted(inside, key=lambda pair: -len(pair[0]))),
        whole={word: kind for kind, words in raw["whole"].items() for word in words},
        phrases={word: kind for word, kind in phrases.items() if " " in word},
        last=frozenset(word.rpartition(" ")[2] for word in phrases if " " in word),
        foreign=tuple((word, kind) for word, kind in phrases.items() if not word.isascii()),
        ends=frozenset(raw["ends"]["words"]),
        before_key=frozenset(raw["ends"]["before_key"]),
        verbs=frozenset(raw["verbs"]["words"]),
    )


@lru_cache(maxsize=65_536)
def cue_of(name: str) -> str:
    """The kind of cue that a name is: `password`, `key`, `command` …; empty when it is none."""
    words = _words()
    low = name.strip("-_.:*$%@/").lower()
    if low in words.whole:
        return words.whole[low]
    if not low.isascii():
        found = next((kind for word, kind in words.foreign if word in low), "")
        if found:
            return found
    parts = [part.lower() for part in _PART.findall(name[-80:])]
    if "".join(parts).endswith("securestring"):
        return "secret"
    while len(parts) > 1 and (parts[-1] in _TAILS or parts[-1].isdigit()):
        parts.pop()
    return _cue_of_parts(parts, words) if parts else ""


def _cue_of_parts(parts: list[str], words: _Words) -> str:
    last = parts[-1].rstrip("0123456789") or parts[-1]
    kind = words.whole.get(last) or words.whole.get(parts[-1], "")
    joined = "".join(parts[-3:])
    if not kind or kind in ("key", "code", "user", "login"):
        ending = next((k for w, k in words.inside if joined.endswith((w, f"{w}s"))), "")
        kind = "" if joined.endswith(_NO_CUE_ENDS) else ending or kind
    if kind:
        before = parts[-2] if len(parts) > 1 else ""
        return NEGATED if kind in ("key", "token") and before in words.before_key else kind
    if len(parts) > 1 and parts[-1] in words.ends and _cue_of_parts(parts[:-1], words):
        return NEGATED
    found = (words.whole[p] for p in parts if words.whole.get(p) in ("provider", "session"))
    return next(found, "")


def phrase_cue(before: str, word: str) -> str:
    """The kind of cue that two words with a space between them are."""
    words, low = _words(), word.lower()
    return words.phrases.get(f"{before.lower()} {low}", "") if low in words.last else ""


def is_verb(word: str) -> bool:
    """Whether it stands between a name and its value: "the password is X"."""
    return word in _words().verbs
