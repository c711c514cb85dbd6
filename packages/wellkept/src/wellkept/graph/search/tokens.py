"""Tokenises code and requests so that they match.

An identifier yields itself and its parts: `parseHTTPUrl` gives "parsehttpurl", "pars", "http",
"url". English endings are stemmed, so that "parsing" matches `parse`. Accents are dropped, scripts
without spaces are cut into bigrams, stop words are left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from wellkept.core.text import stem

MAX_CHARS = 200_000
"""Longer texts are cut here."""

_IDENTIFIER = re.compile(r"[^\W\d][\w]*|\d{2,}")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_ACCENT = re.compile("[\u0300-\u036f]")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]{3,}")
_STOP_WORDS = frozenset(
    "a an and are as at be but by can do does for from has have if in into is it its no not of on "
    "only or so than that the them then they this to was we were when which while will with "
    "also more use used using".split()
)


def words(text: str) -> list[str]:
    """The normalised terms of a text, in order, with repetitions."""
    plain = _without_accents(text[:MAX_CHARS])
    return [word for found in _IDENTIFIER.findall(plain) for word in _terms(found)]


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    decomposed = _ACCENT.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", decomposed)


def _terms(identifier: str) -> Iterator[str]:
    parts = _PART.findall(identifier)
    if len(parts) > 1:
        yield identifier.lower()
    for part in parts:
        lower = part.lower()
        if _UNSPACED.fullmatch(lower):
            yield from (lower[at : at + 2] for at in range(len(lower) - 1))
        elif len(lower) > 1 and lower not in _STOP_WORDS:
            yield stem(lower)
