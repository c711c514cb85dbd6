"""Whether two statements give one attribute of one thing another value, in whatever words.

Read are quantities ("sessions expire after 30 minutes" / "a session is good for 8 hours"), who is
responsible ("Ann owns billing" / "billing belongs to Bo"), and what is done where, from where or by
whom ("tickets are tracked in Jira" / "we track tickets in Linear"). The words of an attribute, such
as "expire" and "good for", say the same; everything else that is said must be equal. Which words
belong to which attribute is data (`data/attributes.toml`, English). In doubt no value is read.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from wellkept.core.records import record
from wellkept.text.contradictions.cues import light_words
from wellkept.text.contradictions.opposites import plain_names
from wellkept.text.contradictions.statement import (
    closed_families,
    content,
    is_measure,
    is_number,
    lemma,
    lemmas,
    main_clause,
    numerals,
    spelled_out,
    tokens,
    verb_place,
    verbs,
    words,
)
from wellkept.text.rule_data import read_rules
from wellkept.text.similarity import ENUMERATED, is_negated

_BOUNDS = frozenset(["least", "most"])
_PLAIN = re.compile(r"\d[\d,]*(?:\.\d+)?")
_ENDS = ("from", "to")
_HOLDER = frozenset(["holder"])


@record
class Attribute:
    """What a statement gives: of what, which attribute, and the value."""

    of: frozenset[str]
    kinds: frozenset[str]
    value: frozenset[str]
    measure: str


def gives_otherwise(old: str, new: str) -> bool:
    """Whether the new statement gives another value of what the old one gives."""
    if not words("additions").isdisjoint(tokens(new)):
        return False
    if _acts_otherwise(_act(old), _act(new)):
        return True
    pairs = ((read(old), read(new)) for read in (_quantity, _holder))
    return any(
        before is not None and after is not None and _differ(before, after)
        for before, after in pairs
    )


def _differ(before: Attribute, after: Attribute) -> bool:
    bounds = before.kinds & _BOUNDS, after.kinds & _BOUNDS
    if all(bounds) and bounds[0].isdisjoint(bounds[1]):
        return False
    same_kind = bool(before.kinds & after.kinds) or not (before.kinds and after.kinds)
    same_unit = before.measure == after.measure or (
        "" in (before.measure, after.measure)
        and (bool(before.kinds & after.kinds) or len(before.of) > 1)
    )
    same = before.of == after.of or (
        {*before.of, before.measure} - {""} == {*after.of, after.measure} - {""}
    )
    return same and same_kind and same_unit and before.value.isdisjoint(after.value)


@lru_cache(maxsize=512)
def _quantity(text: str) -> Attribute | None:
    """The only number of a statement with its unit, or the only day or frequency."""
    said = [token for token in _said(text) if token not in _words("when")]
    if is_negated(" ".join(said)):
        return None
    units = [*map(lemma, said[1:]), ""][: len(said)]
    values = [
        ("1" if is_measure(unit) else "") if token in ("a", "an") else numerals().get(token, token)
        for token, unit in zip(said, units, strict=True)
    ]
    places = [place for place, value in enumerate(values) if is_number(value)]
    kinds = frozenset(kind for word in said for kind in _kinds_of().get(word, ()))
    if not places:
        return _closed(said, kinds) or _frequency(said)
    place = places[0]
    if len(places) > 1 or said[max(place - 1, 0)] in ENUMERATED:
        return None
    unit = next(iter(content(said[place + 1 : place + 2])), "")
    amount, measure = _amount(values[place], said[place + 1] if unit else "")
    of = _named([*said[:place], *said[place + (2 if unit else 1) :]])
    if place and content([said[place - 1]]) and not kinds - {"version"}:
        # A number right behind a name is part of it, but for a version that something wants.
        is_version = "version" in kinds or "." in amount
        if not is_version or not _words("several").isdisjoint(said):
            return None
        kinds = frozenset(["version"])
    enough = bool(of and kinds) or len({*of, measure} - {""}) > 1
    return Attribute(of, kinds, frozenset([amount]), measure) if enough else None


def _closed(said: list[str], kinds: frozenset[str]) -> Attribute | None:
    """The one word of a family of which one holds."""
    found = set(content(said))
    for number, family in enumerate(closed_families()):
        frequent = not family.isdisjoint(_frequencies())
        value = family & found
        if (
            len(value) == 1
            and not frequent
            and (of := _named([t for t in said if lemma(t) not in family]))
        ):
            return Attribute(of, kinds, value, str(number))
    return None


def _frequency(said: list[str]) -> Attribute | None:
    """How often, in the smallest unit of time."""
    for place, token in enumerate(said):
        unit = "".join(said[place + 1 : place + 2])
        every, rest = token in ("every", "each"), [*said[:place], *said[place + 1 :]]
        amount = _frequencies().get(unit if every else token, "")
        if every and not amount:
            amount, measure = _amount("1", unit)
            amount = amount if measure == "time" else ""
        if amount and (of := _named([one for one in rest if not every or one != unit])):
            return Attribute(of, frozenset(["cycle"]), frozenset([amount]), "time")
    return None


def _said(text: str) -> list[str]:
    return tokens(main_clause(plain_names(text)))


def _named(said: list[str]) -> frozenset[str]:
    """What an attribute is of; a verb such as "deploy" where nothing else is named."""
    left = frozenset(content(said)) - _kinds_of().keys() - lemmas("modals")
    return left - _idle() - light_words() or left - _idle() or left


def _amount(number: str, unit: str) -> tuple[str, str]:
    """A number of a unit in the smallest of its kind, and the kind."""
    if ":" in number:
        return number.lstrip("0"), "clock"
    if not _PLAIN.fullmatch(number):
        return number, ""
    size, kind = _units().get(unit) or _units().get(lemma(unit)) or (0.0, "")
    plain = number.replace(",", "")
    return (f"{float(plain) * size:g}", kind) if size else (plain, lemma(unit) if unit else "")


@lru_cache(maxsize=512)
def _holder(text: str) -> Attribute | None:
    """Who is responsible for what."""
    said = spelled_out(main_clause(text)).replace("`", "").partition(" ; ")[0]
    for pattern in _of_holders():
        if match := pattern.fullmatch(said):
            who, what = (content(tokens(match[name])) for name in ("who", "what"))
            of = frozenset(what) - _idle() - light_words()
            if of and who:
                return Attribute(of, _HOLDER, frozenset(who), "")
    return None


@record
class Act:
    """To what something is done, what (nothing: it only is there), and what stands behind each
    preposition."""

    to: frozenset[str]
    does: str
    roles: dict[str, frozenset[str]]
    is_active: bool


def _acts_otherwise(before: Act | None, after: Act | None) -> bool:
    """Whether the same is done at another place, from another source or by somebody else."""
    if before is None or after is None or (before.is_active and after.is_active):
        return False
    if before.to != after.to or before.roles.get("") != after.roles.get(""):
        return False
    common = [role for role in before.roles if role in after.roles]
    other = [role for role in common if before.roles[role] != after.roles[role]]
    if len(other) != 1:
        return False
    old, new = before.roles[other[0]], after.roles[other[0]]
    same = before.does == after.does or ("" in (before.does, after.does) and other[0] in _ENDS)
    return same and bool(old - new) and bool(new - old)


@lru_cache(maxsize=512)
def _act(text: str) -> Act | None:
    said = [token for token in _said(text) if token not in _words("when")]
    start, end = verb_place(said)
    head, group, tail = said[:start], said[start:end], said[end:]
    if (
        not group
        or said[0] in _words("pointing")
        or is_negated(text)
        or not _words("unread").isdisjoint(said)
    ):
        return None
    is_passive = not {lemma(token) for token in group}.isdisjoint({"be"}) and len(group) > 1
    if len(tail) > 1 and lemma(group[-1]) == "be" and tail[1] in _roles():
        group, tail, is_passive = [*group, tail[0]], tail[1:], True  # "are read from"
    places = [place for place, token in enumerate(tail) if token in _roles()]
    direct = content(tail[: places[0]] if places else tail)
    roles: dict[str, frozenset[str]] = {}
    for place, until in pairwise([*places, len(tail)]):
        value = frozenset(content(tail[place + 1 : until]))
        if any(map(is_number, tail[place + 1 : until])) or not _words("ways").isdisjoint(value):
            return None
        roles[_roles()[tail[place]]] = value
    subject = frozenset(content(head))
    is_active = bool(subject and direct) and not is_passive
    if is_active and lemma(group[-1]) != "be":
        roles["by"] = subject
    done = frozenset(direct) if is_active or not subject else subject
    does = "" if lemma(group[-1]) in _light_verbs() else lemma(group[-1])
    if len(subject) > 1 and not does and (deeds := [w for w in subject if w in verbs()]):
        does = deeds[0]  # "deploys of the monolith come from"
    to = (done or frozenset([lemma(group[-1])])) | frozenset(filter(is_number, said))
    roles = {role: value for role, value in roles.items() if value}
    return Act(to - {does} or to, does, roles, is_active) if roles else None


@cache
def _rules() -> dict[str, Any]:
    return read_rules("attributes")


@cache
def _units() -> dict[str, tuple[float, str]]:
    """How many of the smallest unit of its kind a unit is, and the kind, by the word."""
    return {
        name: (float(size), kind)
        for kind, sizes in _rules()["units"].items()
        for size, names in sizes.items()
        for name in names.split()
    }


@cache
def _roles() -> dict[str, str]:
    """The part of what is done that stands behind each preposition."""
    rules = _rules()["roles"]
    return {word: role for role, names in rules.items() for word in names.split()}


@cache
def _light_verbs() -> frozenset[str]:
    return frozenset(map(lemma, _words("light"))) | lemmas("modals")


@cache
def _of_holders() -> list[re.Pattern[str]]:
    rules = _rules()
    return [re.compile(one.format(**rules["parts"])) for one in rules["holders"]]


@cache
def _kinds_of() -> dict[str, list[str]]:
    """The attributes that a word stands for, as written and in its stem."""
    found: dict[str, list[str]] = {}
    for kind, names in _rules()["kinds"].items():
        for word in {form for name in names.split() for form in (name, lemma(name))}:
            found.setdefault(word, []).append(kind)
    return found


@cache
def _frequencies() -> dict[str, str]:
    """How many seconds lie between, by the word."""
    return {
        form: seconds
        for seconds, names in _rules()["frequencies"].items()
        for name in names.split()
        for form in (name, lemma(name))
    }


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(_rules()[name].split())


@cache
def _idle() -> frozenset[str]:
    """Words that say nothing of what an attribute is of."""
    return frozenset(map(lemma, _words("idle"))) | lemmas("bounding")
