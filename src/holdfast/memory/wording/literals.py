"""Which of many literals a text holds, without searching for each of them.

A short text is walked once, by an expression that branches at each letter as a dictionary does; a
long one is asked for each literal, since a plain search in much text is faster than any expression.
Both ways give the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

# About where asking one by one becomes faster than one walk.
_SHORT_CHARS = 3_000
_END = ""


class Literals:
    """A set of literals to look for."""

    def __init__(self, literals: Iterable[str]) -> None:
        self._all = frozenset(literals)

    def present(self, text: str) -> set[str]:
        """Those of the literals that stand somewhere in the text."""
        if len(text) > _SHORT_CHARS:
            return {literal for literal in self._all if literal in text}
        found: set[str] = set()
        search = self._pattern.search
        match = search(text)
        while match:
            found.add(match.group())
            match = search(text, match.start() + 1)
        for literal in tuple(found):
            found |= self._inside[literal]
        return found

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Finds the longest literal at a place."""
        return re.compile(_branches(self._all))

    @cached_property
    def _inside(self) -> dict[str, frozenset[str]]:
        """The literals that a literal begins with: where it stands, they stand too."""
        return {
            whole: frozenset(part for part in self._all if whole.startswith(part))
            for whole in self._all
        }


def _branches(literals: Iterable[str]) -> str:
    """An expression for any of the literals, each first letter written once."""
    by_letter: dict[str, list[str]] = {}
    for literal in sorted(literals):
        by_letter.setdefault(literal[:1], []).append(literal[1:])
    ends = by_letter.pop(_END, None) is not None
    parts = [re.escape(letter) + _branches(rest) for letter, rest in by_letter.items()]
    if not parts:
        return ""
    joined = "|".join(parts)
    return f"(?:{joined}){'?' if ends else ''}" if ends or len(parts) > 1 else joined
