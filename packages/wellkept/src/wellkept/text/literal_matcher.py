"""Finds which of many literals occur in a text, without searching for each.

Literals with little in common are found in one pass by a trie-shaped expression. For literals that
share a part, the part is searched first: most texts do not have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

_END = ""


class Literals:
    """A set of literals to find.

    With `opening`, a literal after a letter or digit does not count. A literal of one
    character always counts as present: checking would cost more than it saves.
    """

    def __init__(self, literals: Iterable[str], *, opening: bool = False) -> None:
        self._all = frozenset(literals)
        self._characters = frozenset(one for one in self._all if len(one) == 1)
        self._opening = opening

    def present(self, text: str) -> frozenset[str]:
        """The literals that occur in the text, and those of a single character."""
        # An opening literal follows a non-word character, also at the start of the text. A pattern
        # that begins with that character is tried at few positions.
        text = f"\n{text}" if self._opening else text
        search = self._pattern.search
        match = search(text)
        if not match:
            return self._characters
        found: set[str] = set()
        while match:
            found.add(match[1])
            match = search(text, match.start() + 1)
        return self._characters.union(*(self._inside[literal] for literal in found))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Finds the longest literal at a position."""
        branches = _branches(one for one in self._all if len(one) > 1)
        return re.compile(f"[^A-Za-z0-9]({branches})" if self._opening else f"({branches})")

    @cached_property
    def _inside(self) -> dict[str, frozenset[str]]:
        """For each literal, the literals that it begins with."""
        return {
            whole: frozenset(part for part in self._all if whole.startswith(part))
            for whole in self._all
        }


class SharedLiterals:
    """Literals of which many share a part."""

    def __init__(self, literals: Iterable[str], *, parts: Iterable[str]) -> None:
        shared = tuple(parts)
        holders: dict[str, list[str]] = {}
        for one in sorted(set(literals)):
            part = next((part for part in shared if part in one), one)
            holders.setdefault(part, []).append(one)
        self._holders = list(holders.items())
        # Most texts are ASCII, and many literals cannot be in one.
        self._ascii_holders = [(part, found) for part, found in self._holders if part.isascii()]

    def present(self, text: str) -> frozenset[str]:
        """Those of the literals that stand in the text."""
        found: list[str] = []
        for part, holders in self._ascii_holders if text.isascii() else self._holders:
            if part in text:
                found += [one for one in holders if one in text]
        return frozenset(found)


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
