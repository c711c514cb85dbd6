"""Literals that a text must have for a pattern to match it: a necessary condition only.

The program looks for them before it compiles or tries a pattern; `scripts.generate_docs` writes
those of the signs of change to `text/data/change_literals.json`.
"""

from __future__ import annotations

import json
import re
from importlib import import_module
from typing import Any

from wellkept.text.contradictions.cues import folded_pattern
from wellkept.text.contradictions.statement import raw

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


def change_literals() -> str:
    """The literals of each sign of change, in order."""
    found = (required_literals(folded_pattern(entry["pattern"])) for entry in raw()["cue"])
    rows = (json.dumps(sorted(needed), ensure_ascii=False) for needed in found)
    return "[\n" + ",\n".join(rows) + "\n]\n"
