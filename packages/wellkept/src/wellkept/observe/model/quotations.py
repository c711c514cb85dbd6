"""The words of a session that a model points at, and whose they are.

A quotation must stand in an event letter for letter, apart from white space and case. Knows nothing
of memories.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellkept.core.records import record
from wellkept.core.text import cjk_runs, content_words, fold, identifiers, stem
from wellkept.observe.model.event_log import ASKED, LoggedEvent, Speaker
from wellkept.text.own_words import MASK, mask_quotations, sentences
from wellkept.text.similarity import is_negated

MIN_QUOTE_CHARS = 8
_OVERLAP_CHARS = 16
_SPACE = re.compile(r"\s+")
_QUOTE_MARKS = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "\u200b": None})
_ELLIPSIS = re.compile(r"^(?:\.{3}|…)\s*|\s*(?:\.{3}|…)$")

_CODE_SPAN = re.compile(r"(?<!`)`([^`\n]{1,200})`(?!`)")
_OPTION = re.compile(r"(?<!\S)--?[a-z][\w-]*")
_PERMISSION = re.compile(
    r"--no-verify|--no-gpg-sign|--force\b|--force-with-lease|\bpush -f\b|--dangerously"
    r"|--skip-(?:checks?|tests?|hooks?)|--insecure|\bcurl[^\n|]*\|\s*(?:ba|z)?sh\b|rm -rf"
    r"|\b(?:bypass|skip|disable|ignore)\w*\b[^.\n]{0,30}"
    r"\b(?:hooks?|checks?|sign\w*|tls|ssl|verif\w*|instructions?|security)",
    re.IGNORECASE,
)


@record
class Quotation:
    """Words of an event. `asks` when they stand in a question or a supposition, `own` when the
    speaker neither quoted nor pasted them."""

    event: LoggedEvent
    text: str
    asks: bool
    own: bool

    @property
    def whole(self) -> str:
        """The sentences that hold the words, as they were said."""
        text = _spaced(self.event.text)
        holding = [
            one
            for one in sentences(text)
            if _overlap(text[one.start : one.end].lower(), self.text.lower())
        ]
        return text[holding[0].start : holding[-1].end] if holding else self.text

    @property
    def is_statement_of_user(self) -> bool:
        """Whether the person said this and meant it."""
        return self.event.who is Speaker.USER and self.own and not self.asks


def find_quotation(
    text: object, events: Sequence[LoggedEvent], *, label: object = None
) -> Quotation | None:
    """The words in an event, the named one first; None when no event has them."""
    if not isinstance(text, str):
        return None
    wanted = _plain(_ELLIPSIS.sub("", text.strip().strip("\"'“”‘’`")))
    if not _is_long_enough(wanted):
        return None
    for event in sorted(events, key=lambda event: event.label != label):
        where = _plain(event.text).find(wanted)
        if where >= 0:
            return _quotation(event, wanted, where)
    return None


def is_permission(text: str) -> bool:
    """Whether a text is about going around a safeguard: allowed once, never a rule."""
    return _PERMISSION.search(text) is not None and not is_negated(_OPTION.sub(" ", text))


def shared_words(left: str, right: str) -> int:
    """How many words that claim something two texts share; a name of code counts twice."""
    mine, theirs = ({stem(word) for word in _claims(text)[0]} for text in (left, right))
    names = set(map(fold, identifiers(left))) & set(map(fold, identifiers(right)))
    pairs = set(_claims(left)[1]) & set(_claims(right)[1])
    return len(mine & theirs) + len(names) + len(pairs) // 2


def says_the_same(left: str, right: str) -> bool:
    """Whether one of two texts has nearly all words of the other, and denies as it does."""
    mine, theirs = ({stem(word) for word in _claims(text)[0]} for text in (left, right))
    smaller = min(len(mine), len(theirs))
    if smaller < 2 or is_negated(left) != is_negated(right):
        return fold(left) == fold(right)
    return len(mine & theirs) >= 0.8 * smaller


def _claims(text: str) -> tuple[list[str], list[str]]:
    """The words of a text that claim something: plain ones, and pairs of CJK characters."""
    pairs = [run[at : at + 2] for run in cjk_runs(fold(text)) for at in range(len(run) - 1)]
    is_pair = set(pairs)
    plain = [word for word in content_words(text) if word not in is_pair]
    return [word for word in plain if len(word) > 1 or word.isdigit()], pairs


def _is_long_enough(quote: str) -> bool:
    has_cjk = bool(cjk_runs(quote))
    return len(quote) >= (4 if has_cjk else MIN_QUOTE_CHARS) and (has_cjk or " " in quote)


def _plain(text: str) -> str:
    return _spaced(text).lower()


def _spaced(text: str) -> str:
    return _SPACE.sub(" ", text.translate(_QUOTE_MARKS)).strip()


def _quotation(event: LoggedEvent, wanted: str, where: int) -> Quotation:
    original = _spaced(event.text)
    is_aligned = len(original) == len(original.lower())
    text = original[where : where + len(wanted)] if is_aligned else wanted
    if event.who is not Speaker.USER:
        return Quotation(event, text, asks=False, own=True)
    if event.is_answer:
        asked = _plain("\n".join(_questions(event.text)))
        return Quotation(event, text, asks=False, own=wanted not in asked)
    # A command in backticks is part of what they say.
    masked = mask_quotations(_CODE_SPAN.sub(r" \1 ", event.text))
    holding = [
        one
        for one in sentences(masked)
        if _overlap(_plain(event.text[one.start : one.end]), wanted)
    ]
    own = any(one.masked.count(MASK) <= len(one.masked) // 2 for one in holding)
    asks = any(one.asks or one.supposes for one in holding)
    return Quotation(event, text, asks=asks, own=own)


def _questions(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(ASKED)]


def _overlap(sentence: str, wanted: str) -> bool:
    """Whether a quotation takes in a sentence or a good part of it."""
    ends = (wanted[:_OVERLAP_CHARS], wanted[-_OVERLAP_CHARS:])
    return sentence in wanted or wanted in sentence or any(end in sentence for end in ends)
