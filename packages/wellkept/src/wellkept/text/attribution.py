"""Whether a person said what a statement says: its substance stands in their own words.

Quotations, fences, traces and pastes are no words of theirs, and neither are questions and
suppositions. Every word of the statement that claims something must stand in one or two sentences
in a row, it must deny what they deny, and it may not drop a condition of theirs. In doubt the
answer is no. Knows nothing of memories and sessions.
"""

from __future__ import annotations

import re
from itertools import pairwise

from wellkept.core.text import content_words, fold, identifiers, stem, words
from wellkept.text.own_words import MASK, Sentence, own_sentences, own_words
from wellkept.text.similarity import is_negated

MAX_PROMPT_CHARS = 20_000
MAX_STATEMENT_CHARS = 2_000
# A name in backticks is part of what they say; a longer stretch is something they quote.
_CODE_NAME = re.compile(r"(?<!`)`([^`\n]{1,80})`(?!`)")
_FOR_ONCE = re.compile(r"\b(?:for now|this time)\b")
_CONDITION = frozenset(
    """only except unless until if when while temporarily today once sometimes nur außer wenn
    bis heute seulement sauf si jusqu solo excepto salvo hasta""".split()
)
# What agents add when they word a statement, and what claims nothing.
_ADDED = frozenset(
    stem(word)
    for word in """use using always must should please remember prefer want project repository
    here user person rule convention preference""".split()
)


def said_in(statement: str, prompt: str) -> str | None:
    """The sentences of a prompt in which the person says what the statement says, else None.

    They are to be kept instead of the statement: the same words in another order, or fewer of
    them, can say something else."""
    if not 0 < len(statement) <= MAX_STATEMENT_CHARS:
        return None
    claimed = {stem(word) for word in content_words(statement)} - _ADDED
    if not claimed:
        return None
    given = own_words(prompt[:MAX_PROMPT_CHARS])
    text = _CODE_NAME.sub(lambda found: f" {found[1]} ", given)
    own = [one for one in own_sentences(text) if not (one.asks or one.supposes)]
    alone = [[one] for one in own]
    pairs = [[one, other] for one, other in pairwise(own) if other.paragraph - one.paragraph <= 1]
    for part in (*alone, *pairs):
        said = " ".join(one.masked.replace(MASK, " ") for one in part)
        if _says(said, statement, claimed):
            return " ".join(_spoken(given, one) for one in part)
    return None


def _spoken(given: str, one: Sentence) -> str:
    """A sentence as it was typed, with what it quotes left out."""
    typed = zip(given[one.start : one.end], one.masked, strict=False)
    kept = "".join(MASK if masked == MASK else letter for letter, masked in typed)
    return " ".join(re.sub(f"{MASK}+", "…", kept).split())


def _says(said: str, statement: str, claimed: set[str]) -> bool:
    told = words(said)
    if not claimed <= {stem(word) for word in told} or _FOR_ONCE.search(fold(said)):
        return False
    if any(fold(name) not in fold(said) for name in identifiers(statement)):
        return False
    keeps_conditions = _CONDITION & set(told) <= set(words(statement))
    return keeps_conditions and is_negated(said) == is_negated(statement)
