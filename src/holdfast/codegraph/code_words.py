"""The words of code and of talk about code, folded so that they meet.

An identifier gives itself and its parts: `parseHTTPUrl` gives "parsehttpurl", "pars", "http",
"url". English endings are cut, so that "parsing" in a request meets `parse` in a name. Words that
stand in every text and every file are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.core.text import stem

MAX_CHARS = 200_000
"""A longer text is read this far: what it is about has shown by then."""

_IDENTIFIER = re.compile(r"[^\W\d][\w]*|\d{2,}")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_STOP = frozenset(
    "a an and are as at be but by can do does for from has have if in into is it its no not of on "
    "only or so than that the them then they this to was we were when which while will with "
    "also more use used using".split()
)


def words(text: str) -> list[str]:
    """The folded words of a text, in order, each as often as it stands there."""
    return [word for found in _IDENTIFIER.findall(text[:MAX_CHARS]) for word in _folded(found)]


def _folded(identifier: str) -> Iterator[str]:
    parts = _PART.findall(identifier)
    if len(parts) > 1:
        yield identifier.lower()
    for part in parts:
        lower = part.lower()
        if len(lower) > 1 and lower not in _STOP:
            yield stem(lower)
