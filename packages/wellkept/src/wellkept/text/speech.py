"""What a person lays down in plain speech, without a memory word: decisions, corrections, rules and
answers to the agent's questions.

"No, don't use float for money, integer cents everywhere", "let's go with SQLite, we don't want to
run a server". Each sentence of a person's own words (`own_words`) gets the probability that it lays
something down, from its words and from what stands before it. The weights are learned from labelled
messages (`python -m bench.speech --learn`), not written; `text/data/speech.json` holds them. Knows
nothing of storage.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from wellkept.core.text import cjk_runs, content_words, fold, identifiers, stem, words
from wellkept.core.types import MemoryType
from wellkept.text.memory_commands.rules import NO_LANGUAGE, rules_for
from wellkept.text.own_words import MASK, Sentence, own_sentences, own_words
from wellkept.text.similarity import is_negated

KEPT_FROM = 40
"""The weight from which on a sentence is kept, in hundredths of a log odd (60 %)."""
KINDS = ("none", "decision", "correction", "rule")
MAX_SENTENCE_CHARS = 500
MAX_QUOTATION_CHARS = 700
MAX_FOLLOWING = 2
_MAX_TOKENS = 60
_FEW, _SOME, _MANY = 5, 9, 25
_SHORT = 4
_MIN_WORDS, _MIN_CJK = 3, 5
_TYPES = (MemoryType.DECISION, MemoryType.CORRECTION, MemoryType.CONVENTION)
"""Of the kinds but the first."""
_NAME = re.compile(
    r"(?<!\w)(?:--?[a-z][\w-]+|[\w.-]*[/\\][\w./\\*-]+|\w+\.[a-z]{1,5}\b(?:\(\))?|\w*_\w+"
    r"|[a-z]+[A-Z]\w*|\w+\(\)|[A-Z]{2,}\d*\b|\w+::\w+)"
)
_TOKEN = re.compile(
    rf"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[^\W\d_]+(?:'[^\W\d_]+)?|\d[\d.,]*|{MASK}+|\S"
)


def read_statement(
    said: Sequence[Sentence], place: int, *, answers_to: str | None = None
) -> tuple[MemoryType, float] | None:
    """What one of the sentences of a message lays down, and how probably; None when nothing.
    `answers_to` is the agent's message before it."""
    one = said[place]
    if (
        one.asks
        or one.supposes
        or len(one.masked) > MAX_SENTENCE_CHARS
        or not _says_something(one.masked)
    ):
        return None
    found = features(said, place, answers_to=answers_to)
    (weight,) = _sums("whether", found)
    if weight < KEPT_FROM:
        return None
    kind = max(zip((0, *_sums("types", found)), _TYPES, strict=True))[1]
    return kind, 1 / (1 + math.exp(-weight / 100))


def decisions_in(text: str) -> list[str]:
    """The sentences of a text that lay down a decision, as they stand there."""
    said = own_sentences(text)
    return [
        text[one.start : one.end]
        for place, one in enumerate(said)
        if (found := read_statement(said, place)) and found[0] is MemoryType.DECISION
    ]


def quotation_end(sentence: Sentence, following: Sequence[Sentence]) -> int:
    """Where the quotation that begins with a sentence ends: sentences of its paragraph that go on
    belong to it, a question or a request does not."""
    end = sentence.end
    for one in following[:MAX_FOLLOWING]:
        is_near = one.paragraph == sentence.paragraph and not one.bullet
        is_task = rules_for(NO_LANGUAGE).task.match(one.masked) is not None
        if not is_near or one.asks or one.supposes or is_task:
            break
        if one.end - sentence.start > MAX_QUOTATION_CHARS:
            break
        end = one.end
    return end


def features(
    said: Sequence[Sentence], place: int, *, answers_to: str | None = None
) -> frozenset[str]:
    """What speaks for or against a sentence: its words, pairs and triples with names and numbers
    made alike, how it stands in the message, and what was said before it."""
    one, rules = said[place], rules_for(NO_LANGUAGE)
    tokens = _tokens(one.masked)
    opener = one.masked[: len(one.masked) - len(rules.unopened(one.masked))]
    before = said[place - 1] if place else None
    found = {*_grams(tokens)}
    flags = {
        "few": len(tokens) < _FEW,
        "some": len(tokens) < _SOME,
        "many": len(tokens) > _MANY,
        "no": rules.contradiction.match(opener) is not None,
        "first": place == 0,
        "last": place == len(said) - 1,
        "only": len(said) == 1,
        "supposes": one.supposes,
        "bullet": one.bullet,
        "task": rules.task.match(one.masked) is not None,
        "passing": rules.passing.search(one.masked) is not None,
        "after task": before is not None and rules.task.match(before.masked) is not None,
        "after question": before is not None and before.asks,
    }
    if answers_to:
        asked = answers_to.rstrip().endswith(("?", "？"))
        flags |= {"agent": True, "asked": asked, "asked first": asked and place == 0}
        flags |= {"asked some": asked and len(tokens) < _SOME}
    found.update(f"is {name}" for name, is_so in flags.items() if is_so)
    if before is not None and len(short := _tokens(before.masked)) <= _SHORT:
        found.add("after " + " ".join(short))
    return frozenset(found)


def _tokens(text: str) -> list[str]:
    plain = _NAME.sub(" \ue001 ", text.replace("’", "'")).lower()
    names = {MASK: "<quoted>", "\ue001": "<name>"}
    return [
        names.get(token[0], "<number>" if token[0].isdigit() else token)
        for token in _TOKEN.findall(plain)[:_MAX_TOKENS]
    ]


def _grams(tokens: Sequence[str]) -> Iterator[str]:
    yield from tokens
    framed = ("^", *tokens, "$")
    for left, right in pairwise(framed):
        yield f"{left} {right}"
    for left, middle, right in zip(framed, framed[1:], framed[2:], strict=False):
        yield f"{left} {middle} {right}"
        yield f"{left} _ {right}"


def _says_something(text: str) -> bool:
    bare = text.replace(MASK, " ")
    if runs := cjk_runs(bare):
        return sum(map(len, runs)) >= _MIN_CJK
    return len(bare.split()) >= _MIN_WORDS and bool(content_words(bare))


def _sums(name: str, found: frozenset[str]) -> list[int]:
    """How much speaks for each class against the first, in hundredths of a log odd."""
    bias, weights = _model()[name]
    known = [weights[one] for one in found if one in weights]
    return [sum(column) for column in zip(bias, *known, strict=True)]


@cache
def _model() -> dict[str, tuple[list[int], dict[str, list[int]]]]:
    path = Path(__file__).parent / "data" / "speech.json"
    return json.loads(path.read_text("utf-8"))


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
