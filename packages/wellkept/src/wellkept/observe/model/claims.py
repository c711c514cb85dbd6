"""Whether what a model wrote is in the events it read, claim by claim.

A claim is a name or a number. A name must stand in a piece of an event that speaks of the same
things as the sentence does, nearly as much as any piece; a number near the word beside it. Words
prove neither an outcome nor a negation: what is said to have passed, been pushed or deployed is
held to the commands that ran. Measured by `bench.claims`. Knows nothing of memories.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from wellkept.core.records import record
from wellkept.core.session.steps import SessionStep
from wellkept.core.text import content_words, fold, identifiers, stem

PIECE_CHARS = 200
NAME_SHARE, OF_BEST = 0.1, 0.75
"""What a piece that has a name must share of the sentence's other words, by weight: of all, and of
what the piece nearest to the sentence shares."""
NUMBER_CHARS = 30
_SMALLEST_NUMBER = 4
_NUMBER = re.compile(r"(?<![\w.,#:/~-])\d[\d,]*(?:\.\d+)?(?![\w:/-])(?!\.\d)")
_PLAIN_PAIR = re.compile(r"[a-z]+(?:[/-][a-z]+)+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{3,}")
_PRODUCT = re.compile(r"(?:[A-Z]+[a-z]+){1,2}s?|[A-Z]+s?|\w+\.js|[ie]\.[eg]\.?")


def names_of(sentence: str) -> list[str]:
    """The names from code in a sentence; "a/b" of two words means "or", GitHub is a product."""
    return [
        name
        for name in identifiers(sentence)
        if not _PLAIN_PAIR.fullmatch(name) and not _PRODUCT.fullmatch(name)
    ]


def numbers_of(sentence: str) -> list[str]:
    """The numbers that claim something."""
    found = (one.rstrip(",") for one in _NUMBER.findall(sentence))
    return [one for one in found if float(one.replace(",", "")) >= _SMALLEST_NUMBER]


_CHECKED = re.compile(r"\b(?:pass(?:es|ed|ing)?|green|bestanden)\b", re.IGNORECASE)
_DONE = tuple(
    (re.compile(rf"\b(?:{said})\b", re.IGNORECASE), re.compile(rf"\b(?:{ran})", re.IGNORECASE))
    for said, ran in (
        ("committed", "commit"),
        ("pushed|gepusht|poussé", "push"),
        ("merged|gemergt|fusionné", "merge"),
        ("(?:re)?deployed|ausgerollt|déployé|desplegado|implantado", "deploy"),
        ("published|veröffentlicht|publié|publicado", "publish"),
        ("released|freigegeben", "release"),
        ("reverted|rolled back", "revert|rollback|checkout|restore|reset"),
    )
)
_DENIED = re.compile(
    r"\b(?:not|no|never|nothing|without|un|\w+n't|nicht|kein\w*)\W+(?:\w+\W+){0,2}$", re.I
)


def contradicts(sentence: str, steps: Sequence[SessionStep]) -> bool:
    """Whether a sentence tells of an outcome that the commands of the session do not bear out, or
    denies one that they do."""
    runs = [step for step in steps if step.kind == "run"]
    checks = [step for step in runs if step.purpose in ("test", "check")]
    passed = bool(checks) and checks[-1].ok
    if any(passed == _is_denied(sentence, found) for found in _CHECKED.finditer(sentence)):
        return True
    return any(
        any(step.ok and ran.search(step.command) for step in runs) == _is_denied(sentence, found)
        for said, ran in _DONE
        for found in said.finditer(sentence)
    )


def _is_denied(sentence: str, found: re.Match[str]) -> bool:
    return _DENIED.search(sentence[: found.start()]) is not None


@record
class Evidence:
    """The texts of a session in pieces, with the stems of each."""

    pieces: tuple[str, ...]
    stems: tuple[frozenset[str], ...]
    counts: Counter[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Evidence:
        """The pieces of some texts."""
        pieces = tuple(fold(piece) for text in texts for piece in _pieces(text))
        stems = tuple(frozenset(map(stem, content_words(piece))) for piece in pieces)
        return cls(pieces, stems, Counter(one for some in stems for one in some))

    def has(self, sentence: str) -> bool:
        """Whether every name and number of a sentence is where the events speak of it."""
        names = [fold(name) for name in names_of(sentence)]
        words = (fold(one) for one in identifiers(sentence) if _PRODUCT.fullmatch(one))
        return (
            all(any(word in piece for piece in self.pieces) for word in words)
            and self._has_names(names, sentence)
            and all(self._has_number(sentence, number) for number in numbers_of(sentence))
        )

    def _has_names(self, names: Sequence[str], sentence: str) -> bool:
        named = {stem(part) for name in names for part in content_words(name)}
        words = {stem(word) for word in content_words(sentence)} - named
        weights = {one: self._weight(one) for one in words if not one.isdigit()}
        total = sum(weights.values())
        shares = [sum(weights[one] for one in weights.keys() & stems) for stems in self.stems]
        best = max(shares, default=0.0)
        if best < NAME_SHARE * total or (total and not best):
            return False
        needed = max(NAME_SHARE * total, OF_BEST * best)
        return all(
            any(
                share >= needed and name in piece
                for share, piece in zip(shares, self.pieces, strict=True)
            )
            for name in names
        )

    def _has_number(self, sentence: str, number: str) -> bool:
        before, _, after = fold(sentence).partition(number)
        beside = {stem(w) for w in (*_WORD.findall(before)[-1:], *_WORD.findall(after)[:1])}
        written = re.compile(rf"(?<![\d.]){re.escape(number.replace(',', ''))}(?!\d|\.\d)")
        for piece in self.pieces:
            for found in written.finditer(piece.replace(",", "")):
                near = piece[max(0, found.start() - NUMBER_CHARS) : found.end() + NUMBER_CHARS]
                if any(word in near for word in beside):
                    return True
        return False

    def _weight(self, one: str) -> float:
        return math.log(1 + len(self.pieces) / (1 + self.counts[one]))


def _pieces(text: str) -> list[str]:
    """A text in overlapping pieces."""
    step = PIECE_CHARS // 2
    return [text[at : at + PIECE_CHARS] for at in range(0, max(len(text) - step, 1), step)]
