"""Cutting a sentence where a second order begins: "Fix the build; remember that CI uses Node 20."

A sentence is cut only before words that command the memory (or, behind a command, before words
that ask for work right now), and only where the part before it stands by itself. So a semicolon
inside a rule stays in the rule, and "people sign in and forget that …" tells a story. Invariant:
the clauses cover the sentence in order and lose nothing of it but the words between them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias

from wellkept.core.records import record, replace
from wellkept.memory.commands.user_text import Sentence

# What the words before a cut have to be; "own words" or an "order" may also be a command.
After: TypeAlias = Literal["own words", "order", "plain work", "command"]
Stands: TypeAlias = Callable[[str, After], bool]


@record
class Cut:
    """One way in which a second order begins, and what must stand before it."""

    after: After
    pattern: re.Pattern[str]


def clauses(sentence: Sentence, cuts: Sequence[Cut], stands: Stands) -> Iterator[Sentence]:
    """The clauses of a sentence; the sentence itself when it holds one order."""
    found = [(cut, m) for cut in cuts for m in cut.pattern.finditer(sentence.masked)]
    begin = 0
    for cut, match in sorted(found, key=lambda pair: pair[1].start()):
        before = sentence.masked[begin : match.start()].rstrip()
        if before and stands(before, cut.after):
            yield _part(sentence, begin, before)
            begin = match.end()
    yield _part(sentence, begin, sentence.masked[begin:])


def _part(sentence: Sentence, begin: int, text: str) -> Sentence:
    start = sentence.start + begin
    return replace(sentence, start=start, end=start + len(text), masked=text)
