"""Which of many literals a text holds, without searching for each of them.

The text is walked once, by an expression that branches at each letter as a dictionary does. A
literal of one sign is taken to stand everywhere: finding out would cost more than it saves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

_END = ""


class Literals:
    """A set of literals to look for."""

    def __init__(self, literals: Iterable[str]) -> None:
        self._all = frozenset(literals)
        self._signs = frozenset(one for one in self._all if len(one) == 1)

    def present(self, text: str) -> frozenset[str]:
        """Those of the literals that stand in the text, and those of a single sign."""
        search = self._pattern.search
        match = search(text)
        if not match:
            return self._signs
        found: set[str] = set()
        while match:
            found.add(match.group())
            match = search(text, match.start() + 1)
        return self._signs.union(*(self._inside[literal] for literal in found))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Finds the longest literal at a place."""
        return re.compile(_branches(one for one in self._all if len(one) > 1))

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
