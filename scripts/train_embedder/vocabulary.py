"""Choose the entries of the table: word pieces of BERT, then the commonest words of the pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from wellkept.models.embedders.words import CONTINUED, split_words

_ASIAN = re.compile(r"[\u0e00-\u0eff\u2e80-\ud7ff]")
_LATIN = re.compile(r"[a-z]+")
_PIECE_CHARS = 24


def is_unspaced(word: str) -> bool:
    """Whether a word is written in a script without spaces."""
    return _ASIAN.match(word) is not None


def count_words(texts: Iterable[str]) -> Counter[str]:
    """How often each word, or run of unspaced script, occurs."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(split_words(text))
    return counts


def choose_entries(
    pieces: Iterable[str],
    counts: Counter[str],
    foreign: Counter[str],
    *,
    words: int,
    foreign_words: int,
) -> list[str]:
    """The vocabulary, commonest first within each part; never twice the same entry."""
    entries: dict[str, None] = dict.fromkeys("abcdefghijklmnopqrstuvwxyz0123456789")
    for line in pieces:
        piece = line.removeprefix("##")
        if not piece.isalpha():
            continue
        if line.startswith("##"):
            if not _ASIAN.match(piece):
                entries[CONTINUED + piece] = None
        elif not _LATIN.fullmatch(piece) or counts[piece] >= 2:
            entries[piece] = None
    _add_common(entries, (w for w in counts if _LATIN.fullmatch(w)), counts, words)
    _add_common(entries, (w for w in counts if w.isdecimal() and len(w) <= 4), counts, 400)
    spaced = (w for w in foreign if not _ASIAN.match(w) and not w.isdecimal())
    _add_common(entries, spaced, foreign, foreign_words)
    grams: Counter[str] = Counter()
    for run, count in foreign.items():
        if _ASIAN.match(run):
            for size in (1, 2, 3, 4):
                for begin in range(len(run) - size + 1):
                    grams[run[begin : begin + size]] += count
    _add_common(entries, (g for g in grams if len(g) == 1 and grams[g] >= 5), grams, 2500)
    _add_common(entries, (g for g in grams if len(g) > 1), grams, foreign_words // 3)
    return list(entries)


def _add_common(
    entries: dict[str, None], words: Iterable[str], counts: Counter[str], limit: int
) -> None:
    new = [w for w in words if w not in entries and 2 * len(w) > 1 and len(w) <= _PIECE_CHARS]
    new.sort(key=lambda w: (-counts[w], w))
    entries.update(dict.fromkeys(w for w in new[:limit] if counts[w] >= 5))
