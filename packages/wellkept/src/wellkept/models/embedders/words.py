"""Text to rows of the default embedder's table: words of prose and of identifiers.

Identifiers are split at underscores and case changes, unless the whole is a known word (GitHub),
accents are folded, and a word outside the vocabulary is spelled with the longest pieces in it.
What cannot be spelled (rare characters, long numbers) gets a row by hash, so equal text still has
equal vectors. Punctuation is dropped.
Invariant: the ids of a text are those of its words, one after the other; no text raises.
"""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    import numpy.typing as npt


def pack_unit(values: Sequence[float] | npt.NDArray[np.number]) -> bytes:
    """Scale to unit length and pack as float32. Needs no numpy, which takes longer to import than
    one text takes to remember."""
    given: Any = values
    numbers: Sequence[float] = given.tolist() if hasattr(given, "tolist") else given
    length = math.hypot(*numbers)
    if not math.isfinite(length) or length == 0:
        return bytes(4 * len(numbers))
    return array("f", [number / length for number in numbers]).tobytes()


def unpack(vector: bytes) -> npt.NDArray[np.float32]:
    """View a packed vector as an array."""
    import numpy as np

    return np.frombuffer(vector, dtype="<f4")


def cosine(left: bytes, right: bytes) -> float:
    """Return the cosine of two packed vectors of the same dimension."""
    return float(unpack(left) @ unpack(right))


CONTINUED = "#"
"""Marks an entry that stands inside or at the end of a word."""
CHARACTER_ROWS = 1024
NUMBER_ROWS = 256
_HASHED_ROWS = CHARACTER_ROWS + NUMBER_ROWS

# A run without ASCII or general punctuation, or a run of digits.
_WORD = re.compile(
    r"[^\x00-@\[-`{-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7"
    r"\u2000-\u206f\u2190-\u2bff\u3000-\u3004\u3008-\u3020\ufe00-\ufe0f]+|[0-9]+"
)
_CASE_CHANGE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Scripts written without spaces between words: Thai and its neighbours, and all of East Asia.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_MAX_WORD_CHARS = 48
_MAX_PIECE_CHARS = 24
_CACHED_WORDS = 50_000
_FEW_ASKED = 60


class Vocabulary:
    """Line numbers of the entries of a file. The first words are looked for in the file as it is: a
    short-lived process asks for few, and making a table of all takes longer."""

    def __init__(self, lines: bytes) -> None:
        self._lines = b"\n%b\n" % lines
        self._size = lines.count(b"\n") + 1 if lines else 0
        self._asked = 0
        self._ids: dict[str, int] = {}

    def __len__(self) -> int:
        return self._size

    def get(self, word: str) -> int | None:
        """The line of an entry, if there is one."""
        if not self._ids:
            self._asked += 1
            if self._asked <= _FEW_ASKED:
                at = self._lines.find(f"\n{word}\n".encode("utf-8", "surrogatepass"))
                return None if at < 0 else self._lines.count(b"\n", 0, at)
            entries = self._lines[1:-1].decode().split("\n")
            self._ids = dict(zip(entries, range(len(entries)), strict=True))
        return self._ids.get(word)


class WordTokenizer:
    """Text to vocabulary ids; the last rows of the table are those given by hash."""

    def __init__(self, entries: Sequence[str] | Vocabulary) -> None:
        if not isinstance(entries, Vocabulary):
            entries = Vocabulary("\n".join(entries).encode())
        self._ids = entries
        self._first_hashed = len(entries)
        self._cache: dict[str, tuple[int, ...]] = {}

    @property
    def size(self) -> int:
        """The number of rows that the table must have."""
        return self._first_hashed + _HASHED_ROWS

    def encode(self, text: str) -> list[int]:
        """Return the ids of `text`; text without words has none."""
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text)
        ids: list[int] = []
        cache = self._cache
        for word in _WORD.findall(text):
            known = cache.get(word)
            ids.extend(known if known is not None else self._encode_new(word))
        return ids

    def known_share(self, text: str) -> float:
        """The share of the words of a text that are in the vocabulary as such; 1 for a text without
        any. Text without spaces is no word of its own."""
        spaced = _UNSPACED.sub(" ", unicodedata.normalize("NFKC", text))
        said = [word for word in _WORD.findall(spaced) if len(word) > 1 and word[0].isalpha()]
        known = [
            self._ids.get(word.lower()) is not None
            or all(self._ids.get(part) is not None for part in _parts(word))
            for word in said
        ]
        return sum(known) / len(known) if known else 1.0

    def _encode_new(self, word: str) -> tuple[int, ...]:
        short = word[:_MAX_WORD_CHARS]
        whole = self._ids.get(short.lower())  # RabbitMQ is no rabbit
        if whole is not None:
            ids: tuple[int, ...] = (whole,)
        else:
            ids = tuple(row for part in _parts(short) for row in self._spelled(part))
        if short == word:
            if len(self._cache) >= _CACHED_WORDS:
                self._cache.clear()
            self._cache[word] = ids
        return ids

    def _spelled(self, part: str) -> Iterable[int]:
        found = self._ids.get(part)
        if found is not None:
            return (found,)
        if part[0] in "0123456789":
            row = zlib.crc32(part.encode()) % NUMBER_ROWS
            return (self._first_hashed + CHARACTER_ROWS + row,)
        return self._pieces(part, "" if _UNSPACED.match(part) else CONTINUED)

    def _pieces(self, part: str, continued: str) -> Iterable[int]:
        """The longest entry at each place; a character that begins none is hashed."""
        begin, prefix = 0, ""
        ids: list[int] = []
        while begin < len(part):
            longest = min(len(part), begin + _MAX_PIECE_CHARS)
            for end in range(longest, begin, -1):
                found = self._ids.get(prefix + part[begin:end])
                if found is not None:
                    ids.append(found)
                    begin = end
                    break
            else:
                character = part[begin].encode("utf-8", "replace")
                ids.append(self._first_hashed + zlib.crc32(character) % CHARACTER_ROWS)
                begin += 1
            prefix = continued
        return ids


def split_words(text: str) -> list[str]:
    """The words of a text as the vocabulary would hold them."""
    text = unicodedata.normalize("NFKC", text)
    return [part for word in _WORD.findall(text) for part in _parts(word[:_MAX_WORD_CHARS])]


def _parts(word: str) -> Iterable[str]:
    """A word in lower case, split where its case or its script changes."""
    if word.isascii():
        if word.islower():
            return (word,)
        return _CASE_CHANGE.sub(" ", word).lower().split()
    parts: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        parts += _spaced_parts(word[end : run.start()])
        parts.append(run.group())
        end = run.end()
    return [*parts, *_spaced_parts(word[end:])]


def _spaced_parts(word: str) -> list[str]:
    return [_without_accents(part) for part in _CASE_CHANGE.sub(" ", word).lower().split()]


def _without_accents(word: str) -> str:
    """Drop the accents of Latin letters; those of other scripts carry the word."""
    if word.isascii():
        return word
    kept: list[str] = []
    for character in word:
        base = unicodedata.normalize("NFD", character)[0]
        kept.append(base if base.isascii() else character)
    return "".join(kept)
