"""Reads the signs of change in a statement: what was, what is, and since when.

The signs are regular expressions for each language (`data/changes.toml`). Knows nothing of the
statement that may be replaced; `changes` compares the two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache, lru_cache

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
from wellkept.text.rule_data import DATA

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
    for pattern, kind, needed in _patterns():
        if needed and not any(map(clause.__contains__, needed)):
            continue
        for match in _compiled(pattern).finditer(clause):
            groups = match.groupdict()
            old = groups.get("old") or groups.get("old2") or ""
            new, topic = groups.get("new") or "", groups.get("topic") or ""
            new = _OUTCOME.sub("", _ASIDE.sub("", new)).strip()
            found.append(Cue(_ASIDE.sub("", old).strip(), new, topic, *match.span(), kind))
    return found


@cache
def _patterns() -> list[tuple[str, str, list[str]]]:
    """Each pattern with its kind, and literals of which every text that it matches has one (none:
    no quick check). Looking for them is many times faster than trying a pattern everywhere, and
    most patterns are never compiled."""
    literals: list[list[str]] = json.loads((DATA / "change_literals.json").read_bytes())
    return [
        (entry["pattern"], entry.get("kind", ""), needed)
        for entry, needed in zip(raw()["cue"], literals, strict=True)
    ]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(folded_pattern(pattern))


def folded_pattern(pattern: str) -> str:
    """A pattern for folded texts, in which ß is ss."""
    return pattern.replace("ß", "ss")


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
