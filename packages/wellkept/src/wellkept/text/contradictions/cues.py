"""Reads the signs of change in a statement: what was, what is, and since when.

The signs are regular expressions for each language (`data/changes.toml`). Knows nothing of the
statement that may be replaced; `changes` compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from wellkept.core.records import record, replace
from wellkept.text.contradictions.opposites import generic_words
from wellkept.text.contradictions.statement import (
    Statement,
    content,
    is_number,
    lemma,
    lemmas,
    main_clause,
    parse,
    raw,
    spelled_out,
    tokens,
)

# After these a value has ended: "to Postmark for mail".
_VALUE_END = frozenset(
    """for as in on at when since during because pour dans für bei im in para en como last this
    until""".split()
)
_AIM = re.compile(
    r"\bfor (?:better |more |improved |maximum )?\w+(?:ity|ness|ance|ence|ency|ancy|reasons?)\b"
    r"(?=\s*(?:[,;.]|reasons?\b|$))"
)
_MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
_WHEN = re.compile(
    rf"\b(?:in|on|by) (?:early |late |mid-)?(?:{_MONTH}|\d{{4}}(?:-\d\d)*)\b"
    r"|(?<!as of )(?<!since )(?<!from )(?<!starting )"
    r"\b(?:last|this|next) (?:week|month|year|quarter|sprint|spring|summer|autumn|winter)\b,?"
)
_ASIDE = re.compile(r"\([^()]*\)")
# After the new value its purpose or what came of it follows.
_OUTCOME = re.compile(r" (?:to|and|so|while|thereby) .*")
SINCE = ("now", "swap")


@record
class Cue:
    """One sign of a change: what was, what is, and what it is about if that stands between them.

    Kinds: "now" only says that something holds since a while, "swap" that it takes a place, "gone"
    names what was and nothing else, "removed" a thing that is there no more, "holder" names who has
    a role since, "denied" says no.
    """

    old: str
    new: str
    topic: str
    start: int
    end: int
    kind: str


@record
class Change:
    """A new statement with its signs of change, and the statement without them."""

    cues: tuple[Cue, ...]
    plain: Statement
    whole: tuple[str, ...]
    text: str


def former_words(statement: str) -> list[str]:
    """Words of what a statement says is no longer so, by which the older one can be found."""
    values = (value_tokens(cue.old) for cue in _clause(statement)[1])
    return list(dict.fromkeys(token for value in values for token in value if content([token])))


def tells_change(statement: str) -> bool:
    """Whether a statement says that something is no longer as it was."""
    return any(cue.kind not in ("denied", "contrast") for cue in _clause(statement)[1])


@lru_cache(maxsize=512)
def read_change(text: str) -> Change:
    """Find the signs of change in a statement."""
    clause, cues = _clause(text)
    plain = clause
    for cue in sorted((c for c in cues if c.kind in SINCE and not c.new), key=lambda c: -c.start):
        plain = f"{plain[: cue.start]} {plain[cue.end :]}"
    return Change(cues, parse(" ".join(plain.split())), tuple(tokens(clause)), clause)


@lru_cache(maxsize=512)
def _clause(text: str) -> tuple[str, tuple[Cue, ...]]:
    folded = spelled_out(main_clause(text)).replace("`", "")
    clause = _WHEN.sub("", _AIM.sub("", folded)).strip(" ,")
    return clause, tuple(_cues(clause))


@lru_cache(maxsize=512)
def affirmed(text: str) -> Statement:
    """A statement without the words of what it says is not, or no longer, so."""
    whole = parse(text)
    denied = denied_words(text)
    if not denied or denied >= {*whole.words}:
        return whole
    kept = [tuple(w for w in part if w not in denied) for part in (whole.subject, whole.rest)]
    return replace(
        whole,
        subject=kept[0],
        rest=kept[1],
        tokens=tuple(token for token in whole.tokens if lemma(token) not in denied),
    )


@lru_cache(maxsize=512)
def denied_words(text: str) -> frozenset[str]:
    """The words of what a statement says is not, or no longer, so."""
    values = [value_tokens(cue.old) for cue in _clause(text)[1] if cue.old]
    numbers = {token for value in values for token in value if is_number(token)}
    return frozenset({word for value in values for word in content(value)} | numbers)


def _cues(clause: str) -> list[Cue]:
    found: list[Cue] = []
    for pattern, kind in _patterns().possible(clause):
        for match in pattern.finditer(clause):
            groups = match.groupdict()
            old = groups.get("old") or groups.get("old2") or ""
            new, topic = groups.get("new") or "", groups.get("topic") or ""
            new = _OUTCOME.sub("", _ASIDE.sub("", new)).strip()
            found.append(Cue(_ASIDE.sub("", old).strip(), new, topic, *match.span(), kind))
    return found


@cache
def _patterns() -> Prefilter:
    # Texts are folded, which turns ß into ss.
    return Prefilter(
        (re.compile(entry["pattern"].replace("ß", "ss")), entry.get("kind", ""))
        for entry in raw()["cue"]
    )


def around(text: str, cue: Cue) -> str:
    """What stands beside a cue: what comes before it in its sentence and the rest of its clause; of
    one that names only what was, no more than its clause."""
    marks = ",;:" if cue.kind in ("gone", "removed", "denied") else ";"
    start = max(text.rfind(mark, 0, cue.start + 1) for mark in marks) + 1
    ends = ";" if cue.kind == "contrast" else ",;:"
    end = min((at for mark in ends if (at := text.find(mark, cue.end)) >= 0), default=len(text))
    return _ASIDE.sub("", f"{text[start : cue.start]} , {text[cue.end : end]}")


def value_tokens(phrase: str) -> list[str]:
    """The words of a value, up to what narrows it."""
    found: list[str] = []
    for token in tokens(phrase):
        if found and (token in _VALUE_END or token in (",", ";", ":")):
            break
        found.append(token)
    return found


def telling(found: Sequence[str]) -> list[str]:
    """The words that name a subject; where there are none, those that are not verbs of change."""
    light = light_words()
    if subject := [w for w in found if w not in light]:
        return subject
    weak = lemmas("assigning") | lemmas("changing") | lemmas("modals")
    return [w for w in found if w not in weak]


@cache
def light_words() -> frozenset[str]:
    """Words that say nothing of the subject."""
    return frozenset(
        {
            *generic_words(),
            *lemmas("assigning"),
            *lemmas("changing"),
            *lemmas("pronouns"),
            *lemmas("modals"),
        }
    )


# Looking for a literal is many times faster than trying an expression at every position: a text
# that has none of those an expression needs is not searched. A necessary condition only.
# The parser of `re` has no public name.
codes: Any = import_module("re._constants")
parser: Any = import_module("re._parser")
_MOST = 64
"""A longer list of literals is no quick check."""


def required_literals(pattern: str) -> frozenset[str]:
    """Literals of which every matching text has at least one; empty when there are none."""
    parsed = parser.parse(pattern)
    found = _needed(parsed)
    is_quick = len(found) <= _MOST and not parsed.state.flags & re.IGNORECASE
    return found if is_quick else frozenset()


class Prefilter:
    """Leaves out the patterns that cannot match a text."""

    def __init__(self, patterns: Iterable[tuple[re.Pattern[str], str]]) -> None:
        self._rows = [(*row, tuple(required_literals(row[0].pattern))) for row in patterns]
        # Most texts are ASCII, and many literals cannot be in one.
        self._ascii_rows = [
            (pattern, kind, tuple(filter(str.isascii, needed)))
            for pattern, kind, needed in self._rows
            if not needed or any(map(str.isascii, needed))
        ]

    def possible(self, text: str) -> list[tuple[re.Pattern[str], str]]:
        """The patterns that may match, in order, with what belongs to each."""
        return [
            (pattern, kind)
            for pattern, kind, needed in (self._ascii_rows if text.isascii() else self._rows)
            if not needed or any(map(text.__contains__, needed))
        ]


def _needed(items: Any) -> frozenset[str]:
    """The best requirement of a sequence: the one whose shortest literal is longest."""
    choices: list[frozenset[str]] = []
    run = ""
    for code, value in items:
        if code is codes.LITERAL:
            run += chr(value)
            continue
        choices.append(frozenset({run} if run else ()))
        run = ""
        choices.append(_needed_by(code, value))
    choices.append(frozenset({run} if run else ()))
    return max(choices, key=lambda one: min(map(len, one), default=0))


def _needed_by(code: Any, value: Any) -> frozenset[str]:
    if code is codes.SUBPATTERN:
        return _needed(value[-1])
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, _, inner = value
        return _needed(inner) if least else frozenset()
    if code is codes.ATOMIC_GROUP:
        return _needed(value)
    if code is codes.BRANCH:
        branches = [_needed(branch) for branch in value[1]]
        return frozenset[str]().union(*branches) if all(branches) else frozenset()
    return frozenset()
