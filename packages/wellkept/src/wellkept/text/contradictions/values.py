"""The value that a statement gives, and whether another statement gives another one.

A thing has one port, one owner, one day of release, so another value replaces the first. What a
thing can have several of ("accepts JSON") is not decided here.
"""

from __future__ import annotations

from wellkept.text.contradictions.statement import (
    Statement,
    closed_families,
    content,
    is_measure,
    lemma,
    lemmas,
    raw,
    words,
)

_MAX_VALUE_WORDS = 5


def gives_another_value(before: Statement, after: Statement) -> bool:
    if not (before.subject or before.is_order or before.rest):
        return False
    if before.subject_numbers != after.subject_numbers:
        return False
    if set(before.subject) != set(after.subject) or before.verb != after.verb:
        return False
    return before.numbers == after.numbers and _another_word(before, after)


def _another_word(before: Statement, after: Statement) -> bool:
    """One short value differs, where a thing has one value at a time."""
    span = differing(before.rest, after.rest)
    if span is None:
        return False
    start, old, new = span
    for family in closed_families():
        one, other = family & set(old), family & set(new)
        if len(one) == len(other) == 1:
            beside = set(old) - one, set(new) - other
            if beside[0] == beside[1] or all(beside):
                return beside[0] == beside[1]
    if all(map(is_measure, (*old, *new))):
        return True
    led_by = [leading(one, value) for one, value in ((before, old), (after, new))]
    if any(words("narrowing") & set(lead) for lead in led_by):
        return False
    if before.subject and before.is_passive and before.verb != "use":
        bare = before.verb == "be" and not all(led_by)
        return not (bare and (is_quality(old) or is_quality(new)))
    if before.subject:
        return before.verb in lemmas("settled") | lemmas("assigning") and all(led_by)
    if not start:
        return False
    served = all(words("serving") & set(lead) for lead in led_by)
    return served or (before.verb in lemmas("placing") and all(led_by))


def differing(
    old: tuple[str, ...], new: tuple[str, ...]
) -> tuple[int, tuple[str, ...], tuple[str, ...]] | None:
    """Where the only differing words begin, and what they are on each side."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    left, right = old[start : len(old) - end], new[start : len(new) - end]
    if not left or not right or max(len(left), len(right)) > _MAX_VALUE_WORDS:
        return None
    return start, left, right


def leading(statement: Statement, value: tuple[str, ...]) -> list[str]:
    """The words without content right before a value."""
    place = _place(statement, value[0])
    found: list[str] = []
    while place > 0 and not content([statement.tokens[place - 1]]):
        place -= 1
        found.append(statement.tokens[place])
    return [token for token in found if token not in words("modals")]


def _place(statement: Statement, word: str) -> int:
    places = [i for i, token in enumerate(statement.tokens) if lemma(token) == word]
    return places[-1] if places else 0


def is_quality(value: tuple[str, ...]) -> bool:
    endings = tuple(raw()["adjective_endings"].split())
    word = value[0] if value else ""
    return word in lemmas("adjectives") or (len(value) == 1 and word.endswith(endings))


def exclude_each_other(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Whether two values are of a family of which one holds: "optional" and "required"."""
    return any(family & set(old) and family & set(new) for family in closed_families())
