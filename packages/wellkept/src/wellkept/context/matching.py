"""Whether a memory is about what a prompt says, and not only made of the same common words.

Recall ranks; what is told unasked must also share something specific: a name from the code, or
words that make up a good part of the memory. Words of everyday work ("fix", "test", "file") do not
count. A question about us ("how do we deploy?") asks for what is known, so there recall decides.
"""

from __future__ import annotations

import re

from wellkept.core.memory import Memory
from wellkept.core.records import record
from wellkept.core.text import content_words, identifiers, stem

MIN_SHARED = 2
MIN_SHARE = 0.34
LONG_PROMPT_WORDS = 60
MIN_SHARED_LONG = 3
MIN_SHARE_LONG = 0.5
_MIN_NAME_CHARS = 4
_MAX_QUESTION_WORDS = 20
_QUESTION = re.compile(
    r"\?\s*$|？\s*$|^\W*(?:how|what|which|where|who|why|when|do|did|are|can|should|must|may"
    r"|wie|was|welche[rsnm]?|wo|wer|warum|wann|womit|comment|quel(?:le)?s?|où|qui|pourquoi|quand"
    r"|cómo|qué|cuál|dónde|quién|cuándo)\b",
    re.IGNORECASE,
)
_OF_US = re.compile(
    r"\b(?:we|us|our|wir|uns(?:er\w*)?|nous|notre|nos|nosotros|nuestr[oa]s?)\b|我们|我們",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"`(?=[^`\n]{4,120}`)([^`\s]+ [^`\n]+)`")
"""A command of several words that a memory quotes."""
_COMMON = frozenset(
    map(
        stem,
        """add also app apply bug build call change check code come comment comments commit context
        create current do does done error fail feature file find first fix follow get give go help
        implement issue keep know let line like list look make merge need new next now ok one open
        page part phase plan please point pr problem project pull push put read ready request result
        review run say see seem set should show start state step still sure take task tell test
        thing think time todo try turn type update use user valid want way well work write wrong
        yeah yes""".split(),
    )
)


_OF_ANY_BUG = frozenset(
    map(
        stem,
        """actual actually already anything behavior behaviour break broken cause correct currently
        different end even every exist existing expect got happen instead keep match nothing once
        properly really reason regression report repro reproduce reproduction right same something
        still stop twice without""".split(),
    )
)


def is_telling(word: str) -> bool:
    """Whether a word can tell what a request is about."""
    base = stem(word)
    return len(word) > 1 and not word.isdigit() and base not in _COMMON and base not in _OF_ANY_BUG


@record
class Prompt:
    """The words of a prompt that can tell what it is about."""

    text: str
    stems: frozenset[str]
    names: frozenset[str]
    is_long: bool
    asks_of_us: bool
    """A short question about how this project does something."""

    @classmethod
    def of(cls, text: str) -> Prompt:
        """The telling words of a text."""
        found = content_words(text)
        plain = " ".join(text.split()).casefold()
        asks = len(plain.split()) <= _MAX_QUESTION_WORDS and _QUESTION.search(plain)
        return cls(
            plain,
            _stems(found),
            _names(text),
            is_long=len(found) > LONG_PROMPT_WORDS,
            asks_of_us=bool(asks and _OF_US.search(plain)),
        )

    def is_about(self, memory: Memory) -> bool:
        """Whether a memory shares something specific with the prompt."""
        if self.names & (_names(memory.content) | frozenset(memory.files)):
            return True
        if any(quoted.casefold() in self.text for quoted in _QUOTED.findall(memory.content)):
            return True
        stems = _stems(content_words(memory.content))
        shared = len(stems & self.stems)
        if self.is_long:
            return shared >= MIN_SHARED_LONG and shared >= MIN_SHARE_LONG * len(stems)
        return shared >= MIN_SHARED and shared >= MIN_SHARE * len(stems)


def _stems(found: list[str]) -> frozenset[str]:
    return frozenset(map(stem, found)) - _COMMON


def _names(text: str) -> frozenset[str]:
    """Names from code; versions, numbers and kinds of errors are none."""
    return frozenset(
        name.casefold()
        for name in identifiers(text)
        if len(name) >= _MIN_NAME_CHARS
        and any(part.isalpha() for part in name[:2])
        and not name.endswith(("Error", "Exception"))
    )
