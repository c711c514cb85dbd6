"""Whether a new statement takes the place of an older one.

It does when it is about the same thing and says otherwise: it names what was ("moved from X to Y",
"no longer X"), it says that something holds since a while ("is now Y"), it gives the one value that
differs ("the timeout is 60 seconds"), or it denies. Other subjects, other numbers of a series,
additions and details leave the older one alone. In doubt both stay.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from string import ascii_lowercase

from wellkept.core.text import comparison_key
from wellkept.text.contradictions.attributes import gives_otherwise
from wellkept.text.contradictions.cues import (
    SINCE,
    Change,
    Cue,
    affirmed,
    around,
    denied_words,
    light_words,
    read_change,
    telling,
    value_tokens,
)
from wellkept.text.contradictions.opposites import opposes
from wellkept.text.contradictions.statement import (
    Statement,
    content,
    differing,
    exclude_each_other,
    gives_another_value,
    is_measure,
    is_number,
    is_quality,
    leading,
    lemma,
    lemmas,
    main_clause,
    parse,
    tokens,
    words,
)
from wellkept.text.similarity import ENUMERATED, is_negated

# A longer text is a document, not a statement.
MAX_STATEMENT_CHARS = 400
# After these a statement is still read for what holds now.
_UNNAMED = (*SINCE, "denied", "contrast")
_OR = re.compile(r" (?:and|or|et|ou|und|oder|y|o) ")
_SAME_WORDS = 0.8
# No change of the shipped pairs shares less, but for one of a known family for another.
_LEAST_SHARED = 0.25
# Sentences, and what is said of something else after a comma: "…, LocalStack was too flaky".
_PARTS = re.compile(
    r"\s*;\s*|,\s+(?=(?:[\w.-]+ ){1,3}(?:is|are|was|were|has|have|had) |(?:it|they) )"
)


def supersedes(old: str, new: str) -> bool:
    """Whether the new statement, or one of its sentences, closes the old one."""
    if max(len(old), len(new)) > MAX_STATEMENT_CHARS:
        return False
    if comparison_key(old) == comparison_key(new):
        return False
    if gives_otherwise(old, new):
        return True
    # Whether few of the words of the one are in the other: so it is with most statements that a
    # common word finds, and it is the quickest to see.
    left, right = _content_of(old), _content_of(new)
    if len(left & right) < _LEAST_SHARED * min(len(left), len(right)):
        return opposes(old, new)
    if (denied := denied_words(new) - light_words()) and denied & denied_words(old):
        return False
    if _is_turned_round(old, new):
        return True
    sentences = [part for part in _PARTS.split(main_clause(new)) if part]
    return _supersedes(old, new) or (
        len(sentences) > 1 and any(_supersedes(old, sentence) for sentence in sentences)
    )


@lru_cache(maxsize=512)
def _content_of(text: str) -> frozenset[str]:
    return frozenset(content(tokens(text)))


def _is_turned_round(old: str, new: str) -> bool:
    """Whether one word differs, and both are of a family of which one holds: on and off."""
    skipped = words("articles")
    left, right = (Counter(t for t in tokens(text) if t not in skipped) for text in (old, new))
    gone, come = left - right, right - left
    if gone.total() != 1 or come.total() != 1:
        return False
    return exclude_each_other(tuple(map(lemma, gone)), tuple(map(lemma, come)))


def _supersedes(old: str, new: str) -> bool:
    before, change = affirmed(old), read_change(new)
    if _is_of_another(before, change) or _names_another(before, change.plain):
        return False
    if _has_another_number(before, change.plain):
        return True
    if any(_replaces(before, change, cue) for cue in change.cues if cue.old):
        return True
    if _is_exception(before, change):
        return False
    if any(_takes_over(before, cue) for cue in change.cues if cue.kind == "holder"):
        return True
    named = [cue for cue in change.cues if cue.old and cue.kind not in _UNNAMED]
    if opposes(old, new):
        return True
    if _adds(change):
        return False
    after = change.plain
    since = [cue for cue in change.cues if cue.kind in SINCE]
    if not named and since:
        return _denies(old, new, before, after) or any(
            _becomes(before, change, cue) for cue in since
        )
    return not named and (
        _denies(old, new, before, after)
        or gives_another_value(before, after)
        or _gives_otherwise(before, after)
    )


def _has_another_number(before: Statement, after: Statement) -> bool:
    """One number differs and nothing else, and it is of no name: of what is needed ("Node 18 is
    required"), a bound ("go1.6 or higher"), or one of several that are said ("from 3 to 1")."""
    pairs = list(zip(before.tokens, after.tokens, strict=False))
    places = [place for place, (old, new) in enumerate(pairs) if old != new]
    if len(before.tokens) != len(after.tokens) or len(places) != 1:
        return False
    ((old, new),) = (pairs[place] for place in places)
    numbers = [token.lstrip(ascii_lowercase) for token in (old, new)]
    if not all(map(is_number, numbers)) or old.removesuffix(numbers[0]) != new.removesuffix(
        numbers[1]
    ):
        return False
    around = before.tokens[max(0, places[0] - 2) : places[0] + 3]
    if not words("bounds").isdisjoint(around):
        return True
    if old in before.numbers:
        several = len(before.numbers) > 1 and before.verb not in lemmas("gathering")
        return several and before.subject_numbers == after.subject_numbers
    needed = (*before.rest[:1], before.verb)
    return (
        len(before.subject) == len(before.subject_numbers) == 1
        and before.tokens[0] not in ENUMERATED
        and not lemmas("needing").isdisjoint(needed)
    )


def _is_of_another(before: Statement, change: Change) -> bool:
    """Whether it says of another subject, or of another act, that something is not so: "GET /users
    is paginated" / "GET /events is not paginated", "may read" / "may not delete"."""
    after = change.plain
    if not change.cues or any(cue.kind != "denied" for cue in change.cues):
        return False
    numbers = before.subject_numbers, after.subject_numbers
    acts = {before.verb, after.verb} - lemmas("modals") - lemmas("permitting") - {"", "be", "use"}
    return (
        (all(numbers) and numbers[0] != numbers[1])
        or bool(set(before.subject) - set(after.words) and set(after.subject) - set(before.words))
        or (len(acts) > 1 and bool(before.subject))
    )


def _names_another(before: Statement, after: Statement) -> bool:
    """Whether a number that differs is part of a name: "case 4", "fact number 2 of the ledger"."""
    return len(before.tokens) == len(after.tokens) and any(
        name == same
        and old != new
        and is_number(old)
        and is_number(new)
        and (name in ENUMERATED or (name == "number" and not before.verb))
        for (name, old), (same, new) in zip(
            pairwise(before.tokens), pairwise(after.tokens), strict=True
        )
    )


def _is_exception(before: Statement, change: Change) -> bool:
    """Whether it denies something of a part of the old subject: "the endpoint /health needs no
    token" beside "all endpoints need a token"."""
    old, new = (set(telling(one.subject)) for one in (before, change.plain))
    only_denies = bool(change.cues) and all(cue.kind == "denied" for cue in change.cues)
    return only_denies and bool(old) and old < new


def _adds(change: Change) -> bool:
    return any(token in words("additions") for token in change.whole)


# -- What was is named ----------------------------------------------------------------------------


def _replaces(before: Statement, change: Change, cue: Cue) -> bool:
    """Whether what the cue names as former is what the old statement says, of the same thing."""
    values = (cue.old, *_OR.split(cue.old))
    said = next((value for value in values if _named(value, before)), "")
    former = _named(said, before)
    if not former or _other_subject(before, change.plain, former):
        return False
    fresh = set(content(value_tokens(cue.new)))
    left = [w for w in before.words if w not in former and w not in light_words()]
    told = tokens(f"{around(change.text, cue)} , {cue.topic} , {said} , {cue.new}")
    now = [
        w for w in content(told) if w not in former and w not in fresh and w not in light_words()
    ]
    if cue.kind == "denied":
        alone = set(now) <= {*before.words, before.verb} and bool(set(now) & set(before.subject))
        return alone and _same_thing(before, left, now, former, change)
    if cue.kind == "removed" and before.subject and set(before.subject) <= former:
        return True
    return _same_thing(before, left, now, former, change)


def _other_subject(before: Statement, after: Statement, former: set[str]) -> bool:
    """Whether both have a subject, and neither's is in the other: or numbers of one series."""
    numbers = before.subject_numbers, after.subject_numbers
    if all(numbers) and numbers[0] != numbers[1]:
        return True
    old, new = (set(telling(one.subject)) - former for one in (before, after))
    return bool(old and new) and not (old & set(after.words) or new & set(before.words))


def _named(phrase: str, before: Statement) -> set[str]:
    """The words of a former value, if the old statement has them all."""
    value = value_tokens(phrase)
    weak = light_words() | lemmas("gathering")
    wanted = [w for w in content(value) if w not in weak]
    if not wanted:  # "no longer used for retrieval"
        value = tokens(phrase)
        wanted = [w for w in content(value) if w not in weak]
    if not wanted and not before.rest:
        wanted = list(content(value))
    numbers = [token for token in value if is_number(token)]
    have = {*before.words, *before.tokens, before.verb}
    if not all(_has_number(before, number) for number in numbers):
        return set()
    if not wanted:
        return {*numbers}
    full = set(wanted) <= have
    if full or (
        set(wanted[:1]) <= have
        and len(wanted) > 1
        and not numbers
        and wanted[0] not in before.subject
        and (wanted[0] != before.verb or not before.rest)
    ):
        return {w for w in wanted if w in have} | set(numbers)
    return set()


def _has_number(before: Statement, number: str) -> bool:
    """Whether a statement has a number, or a version that it is part of: 5 and 5.7.2."""
    return any(
        token == number or (is_number(token) and number.startswith(f"{token}."))
        for token in before.tokens
    )


def _same_thing(
    before: Statement, left: list[str], now: list[str], former: set[str], change: Change
) -> bool:
    shared = set(left) & set(now)
    if not left:
        return not now and bool(former & {*before.rest, before.verb} or not before.subject)
    if not now:
        return bool(former & set(before.rest)) or not set(left) - set(former)
    if not shared:
        return False
    return not _other_kind(before.tokens, change.whole)


def _other_kind(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Whether a shared word has another word before it on each side: "staging cluster" and
    "production cluster"."""
    have_old, have_new = set(map(lemma, old)), set(map(lemma, new))
    before_old = _words_before(old)
    for word, earlier in _words_before(new).items():
        other = before_old.get(word)
        if (
            other
            and earlier
            and other != earlier
            and other not in have_new
            and earlier not in have_old
        ):
            return True
    return False


def _words_before(found: tuple[str, ...]) -> dict[str, str]:
    pairs = pairwise(found)
    skipped = light_words()
    return {
        lemma(word): lemma(first)
        for first, word in pairs
        if content([word])
        and content([first])
        and lemma(first) not in skipped
        and lemma(word) not in skipped
    }


# -- It holds now ---------------------------------------------------------------------------------


def _becomes(before: Statement, change: Change, cue: Cue) -> bool:
    """Whether a statement that holds "now" says something else of the same thing."""
    if cue.new:
        fresh = value_tokens(cue.new)
        told = tokens(f"{around(change.text, cue)} , {cue.topic} , {cue.new}")
        about = telling([w for w in content(told) if w not in content(fresh)])
        if before.subject_numbers != change.plain.subject_numbers:
            return False
        said = [word for word in telling(change.plain.subject) if word != before.verb]
        if not _same_head(telling(before.subject), said):
            return False
        if not about or not (before.numbers or _is_placed(before)):
            return False
        if any(map(is_number, fresh)) != bool(before.numbers):
            return False
        kept = set(about) & set(before.words)
        subject = telling(before.subject) or list(before.rest)
        return (
            bool(kept & set(subject))
            and not _other_kind(before.tokens, change.whole)
            and not (set(about) - set(before.words) and set(subject) - set(about))
        )
    after = change.plain
    if _same_relation(before, after) and _same_subject(before, after):
        return not _other_role(before, after) and _differs(before, after)
    if not {before.verb, after.verb} & lemmas("gathering") and _gives_otherwise(before, after):
        return True
    if cue.kind == "swap" and _swaps_one(before, after):
        return True
    return _has_another_holder(before, after)


def _is_placed(before: Statement) -> bool:
    """Whether it says where a thing is or what serves it: another place takes that one's place."""
    return before.verb in lemmas("assigning") or (
        before.is_passive and bool(before.rest) and "in" in leading(before, before.rest)
    )


def _gives_otherwise(before: Statement, after: Statement) -> bool:
    """The same words in whatever order with one other number, or another of a family of which one
    holds: "at most 5 devices per account" / "an account can have 12 devices", "we bill monthly" /
    "billing is yearly"."""
    if before.measure != after.measure or (before.subject_numbers and after.subject_numbers):
        return False
    old, new = (_told(one) for one in (before, after))
    one, other = (each.subject_numbers + each.numbers for each in (before, after))
    if len(one) == len(other) == 1 and one != other:
        return old == new and (len(old) > 1 or (bool(old) and before.verb == after.verb))
    gone, come = old - new, new - old
    return (
        before.numbers == after.numbers
        and len(gone) == len(come) == 1
        and bool(old & new)
        and exclude_each_other(tuple(gone), tuple(come))
        and is_negated(" ".join(before.tokens)) == is_negated(" ".join(after.tokens))
    )


def _told(statement: Statement) -> set[str]:
    """What a statement tells of its subject, in whatever form: letters count as names."""
    weak = lemmas("bounding") | lemmas("assigning") | {""}
    subject = {w for w in statement.subject if w not in weak} or {*statement.subject}
    return (
        subject
        | {w for w in statement.rest if w not in weak and not is_measure(w)}
        | {t for t in statement.tokens if len(t) == 1 and t.isalpha() and t != "a"}
        | {statement.verb} - light_words() - lemmas("gathering") - weak
    )


def _swaps_one(before: Statement, after: Statement) -> bool:
    """Whether all but one short value is the same, in whatever order."""
    old, new = ([*s.subject, s.verb, *s.rest] for s in (before, after))
    sides = [
        [w for w in one if w and w not in other and w not in light_words()]
        for one, other in ((old, new), (new, old))
    ]
    shared = (set(old) & set(new)) - light_words()
    return bool(shared) and all(0 < len(side) <= 2 for side in sides)


def _same_relation(before: Statement, after: Statement) -> bool:
    if before.verb == after.verb:
        counted = before.verb in lemmas("counting") and before.numbers != after.numbers
        several = before.verb in lemmas("gathering") and not counted
        return not several or all(one.rest and leading(one, one.rest) for one in (before, after))
    if not before.subject and before.verb in lemmas("assigning"):
        return after.verb in lemmas("assigning")
    verbs = {before.verb, after.verb}
    placed = all(one.rest and leading(one, one.rest) for one in (before, after))
    return placed and verbs <= lemmas("locating") | {"be"}


def _other_role(before: Statement, after: Statement) -> bool:
    """Whether only one says by what means: tests run with Vitest, and on GitLab."""
    led_by = [set(leading(one, one.rest)) if one.rest else set[str]() for one in (before, after)]
    means = [bool(lead & words("means")) for lead in led_by]
    return all(led_by) and means[0] != means[1]


def _same_subject(before: Statement, after: Statement) -> bool:
    old, new = (
        [w for w in (one.subject or one.rest) if w not in light_words()] for one in (before, after)
    )
    if before.subject_numbers != after.subject_numbers:
        return False
    if before.subject and after.subject:
        return set(old) == set(new) or _contains(old, new) or _contains(new, old)
    if not before.subject and not after.subject:
        timed = all(any(map(is_measure, one.rest)) for one in (before, after))
        return bool(set(old) & set(new)) or (before.verb == after.verb and timed)
    lone, full = (old, new) if after.subject else (new, old)
    return bool(full) and set(full) <= set(lone)


def _contains(short: list[str], long: list[str]) -> bool:
    return bool(short) and set(short) < set(long) and _same_head(short, long)


def _same_head(left: list[str], right: list[str]) -> bool:
    """Whether two subjects end in the same word, or one is not named."""
    return not left or not right or set(left) == set(right) or left[-1] == right[-1]


def _differs(before: Statement, after: Statement) -> bool:
    old, new = set(before.words), set(after.words)
    span = differing(before.rest, after.rest)
    if span and exclude_each_other(span[1], span[2]):
        return True
    if before.verb == "be" and span and span[0] == 0 and is_quality(span[1]) != is_quality(span[2]):
        return False
    return before.numbers != after.numbers or bool(new - old and old - new)


def _has_another_holder(before: Statement, after: Statement) -> bool:
    """Another holder of the same role: "Ada owns billing" / "Billing is now owned by Bo"."""
    role, held, holder = set(before.rest), set(after.subject), set(before.subject)
    if not (role and held and holder) or before.numbers != after.numbers:
        return False
    if before.verb == after.verb == "be":
        said = set(after.words)
        return role <= said and not holder & said and not is_quality(tuple(said - role))
    if before.verb != after.verb or before.verb not in lemmas("exclusive"):
        return False
    return held <= role if after.is_passive else role == set(after.rest) and held != holder


def _takes_over(before: Statement, cue: Cue) -> bool:
    """Whether somebody else now has the role: "Ada owns billing" / "Bo took over billing"."""
    role, holder = set(content(tokens(cue.topic))), set(content(tokens(cue.new)))
    if not role or holder & set(before.words):
        return False
    if before.verb == "be":
        return role in (set(before.subject), set(before.rest))
    return before.verb in lemmas("exclusive") and role == set(before.rest)


# -- It says no -----------------------------------------------------------------------------------


def _denies(old: str, new: str, before: Statement, after: Statement) -> bool:
    """Whether one says yes and the other no, in the same words."""
    if is_negated(old) == is_negated(new) or before.numbers != after.numbers:
        return False
    weak = light_words() | lemmas("permitting") | {""}
    left, right = ({*one.words, one.verb} - weak for one in (parse(old), after))
    return bool(left) and len(left & right) / len(left | right) >= _SAME_WORDS
