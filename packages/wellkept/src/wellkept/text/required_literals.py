"""Which literals a regular expression cannot match without.

A text that has none of them need not be searched: looking for a literal is many times faster than
trying the expression at every position. Read from the parsed expression, so nothing is written
twice. A necessary condition only: a text that has one may still not match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any

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
            if not needed or any(one in text for one in needed)
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
