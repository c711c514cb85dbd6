"""What the indexes hold of a text: hashes of words and fragments, and a bounded form of names.

Words are those of SQLite's index (`store.tokenizer`). A hash has 64 bits, so that two words of a
million share one with a chance of one in ten millions. Fragments are trigrams of the lower-case
content; of other scripts than Latin also pairs and single characters, because a Chinese or
Japanese word is often no longer. A hash of a fragment only narrows the search: the content decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from hashlib import blake2b, sha256
from typing import Final
from zlib import crc32

from wellkept.store.tokenizer import Tokenizer

SEPARATOR: Final = 0
"""Stands between the words of content and extra text, so that no phrase spans both."""

GRAM_CHARS: Final = 3
_MAX_KEY_BYTES: Final = 600
_KEY_PREFIX_CHARS: Final = 60


def index_key(text: str) -> str:
    """A text as it stands in an index: long ones are cut and end in a hash."""
    packed = text.encode("utf-8", "surrogatepass")
    if len(packed) <= _MAX_KEY_BYTES:
        return text
    return f"{text[:_KEY_PREFIX_CHARS]}\ue000{sha256(packed).hexdigest()}"


@cache
def tokenizer() -> Tokenizer:
    """The tokenizer of this process."""
    return Tokenizer()


@lru_cache(maxsize=50_000)
def word_hash(word: str) -> int:
    """The number of a word; never `SEPARATOR`."""
    found = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big", signed=True)
    return found or 1


def text_tokens(content: str, extra: str) -> list[int]:
    """Hashes of the words of a memory, in order."""
    words = tokenizer().words_of_text(content)
    more = tokenizer().words_of_text(extra) if extra else ()
    return [*map(word_hash, words), SEPARATOR, *map(word_hash, more)]


def query_tokens(term: str) -> list[int]:
    """Hashes of the words of a search term; several are a phrase."""
    return [word_hash(word) for word in tokenizer().words(term)]


def fold(content: str) -> str:
    """The form in which fragments are compared."""
    return content.lower()


def stored_fold(content: str) -> str | None:
    """The lower-case content, unless the server can make it: it does so for ASCII only."""
    return None if content.isascii() else fold(content)


def grams_of(content: str) -> list[int]:
    """Hashes of all fragments of a content that can be looked up."""
    text = fold(content)
    found = {text[i : i + GRAM_CHARS] for i in range(len(text) - GRAM_CHARS + 1)}
    if not text.isascii():
        for width in (1, 2):
            found |= {
                gram
                for i in range(len(text) - width + 1)
                if not (gram := text[i : i + width]).isascii()
            }
    return sorted({_gram_hash(gram) for gram in found})


def grams_to_find(fragment: str, *, most: int) -> list[int]:
    """Hashes that every content with a lower-case fragment has; empty when none is indexed."""
    if len(fragment) < GRAM_CHARS:
        return [] if fragment.isascii() else [_gram_hash(fragment)]
    starts = range(len(fragment) - GRAM_CHARS + 1)
    step = -(-len(starts) // most)
    grams: Sequence[str] = [fragment[i : i + GRAM_CHARS] for i in starts[::step]]
    return sorted({_gram_hash(gram) for gram in grams})


def _gram_hash(gram: str) -> int:
    """A signed 32-bit number."""
    return crc32(gram.encode("utf-8", "surrogatepass")) - 2**31
