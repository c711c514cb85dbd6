"""Decides whether a value in the position of a secret is one.

Random strings alternate between lower case, upper case and digits far more often than words do.
That, entropy and lists of placeholders decide. Knows nothing of where the value was found.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

from wellkept.core.records import record

MARK = "[redacted:"

_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_HASH_LENGTHS = frozenset({32, 40, 56, 64, 96, 128})
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_WORD_PART = re.compile(r"[A-Z]?[a-z]{2,}\d{0,3}|[A-Z]{2,}\d{0,3}|\d{1,4}")
_NAME_CHAIN = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+")
_CAPITALISED = re.compile(r"[A-Z][a-z]+")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[A-Za-z]")
_SYMBOL = re.compile(r"[!@#%^&*+=?~$]")
_LEAST_CHANGES = 0.3
_RANDOM_CHARS = 16
# The beginning of a value is enough, and bounds the work for long ones.
_JUDGED_CHARS = 64


@record
class ValueLists:
    """Values that are not secrets although they are in the position of one; from the data file."""

    words: frozenset[str]
    placeholder: re.Pattern[str]
    reference: re.Pattern[str]
    path: re.Pattern[str]
    typelike: re.Pattern[str]

    def is_real(self, value: str) -> bool:
        """Whether the value is neither a placeholder, nor code, nor a reference."""
        low = value[:_JUDGED_CHARS].lower()
        return not (
            MARK in value
            or low in self.words
            or self.placeholder.search(low)
            or self.reference.match(low)
            or self.typelike.match(low)
            or (self.path.match(low) and not is_random(value))
            or len(set(low)) < min(3, len(low))
        )

    def is_real_argument(self, value: str) -> bool:
        """Whether what a command was given as its password is one."""
        return len(value) >= 3 and self.is_real(value)


def is_made_up(value: str) -> bool:
    """Whether letters alone look like a password rather than a word of the sentence or of code:
    capitals and small letters, but not one name put together of others."""
    return len(value) >= 8 and _CAPITALISED.fullmatch(value) is not None


def has_digit_and_letter(value: str) -> bool:
    """Whether it holds at least one of each."""
    return bool(_DIGIT.search(value) and _LETTER.search(value))


def count_digits(value: str) -> int:
    """How many digits it holds."""
    return len(_DIGIT.findall(value))


def has_symbol(value: str) -> bool:
    """Whether it has a character that names do not have."""
    return _SYMBOL.search(value) is not None


def is_name_chain(value: str) -> bool:
    """Whether it is code that accesses a value: `settings.token`, `self->key`."""
    return _NAME_CHAIN.fullmatch(value) is not None


def is_digest_or_id(value: str) -> bool:
    """Whether it has the shape of a common digest or a UUID."""
    plain = _HEX.fullmatch(value) is not None and len(value) in _HASH_LENGTHS
    return plain or _UUID.fullmatch(value) is not None


def is_random(value: str) -> bool:
    """Whether the value looks random rather than written by a person."""
    value = value[:_JUDGED_CHARS]
    if len(value) < _RANDOM_CHARS or not has_digit_and_letter(value):
        return False
    least = 2.8 if _HEX.fullmatch(value) else 3.2
    return _entropy_bits(value) >= least and _changes(value) >= _LEAST_CHANGES and not _wordy(value)


def is_varied(value: str) -> bool:
    """Whether a value of a provider's length could be a key: letters and digits, no pattern."""
    least = 2.4 if _HEX.fullmatch(value[:_JUDGED_CHARS]) else 2.9
    return has_digit_and_letter(value) and _entropy_bits(value[:_JUDGED_CHARS]) >= least


def is_credential(value: str) -> bool:
    """Whether a part of an Authorization header is what authorises."""
    if _UUID.fullmatch(value):
        return True
    mixed = len(value) >= 16 and has_digit_and_letter(value) and is_varied(value)
    return is_random(value) or (mixed and not is_name_chain(value) and not _wordy(value))


def _entropy_bits(value: str) -> float:
    """Shannon entropy for one character."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())


def _changes(value: str) -> float:
    """The share of neighbours that are of different kinds (lower, upper, digit, other)."""
    kinds = [_kind(c) for c in value]
    return sum(a != b for a, b in pairwise(kinds)) / (len(kinds) - 1)


def _kind(char: str) -> int:
    return 0 if char.islower() else 1 if char.isupper() else 2 if char.isdigit() else 3


def _wordy(value: str) -> bool:
    """Whether most of it is words and short numbers between separators, as in names and paths."""
    parts = [p for p in re.split(r"[-_./:+=~]+", value) if p]
    if len(parts) < 3:
        return False
    wordy = sum(len(p) for p in parts if _WORD_PART.fullmatch(p))
    return wordy * 2 > sum(map(len, parts))
