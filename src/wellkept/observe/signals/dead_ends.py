"""Approaches that were given up: undone by a command, or said so by the agent.

Precise before complete: a sentence counts only when its own words make plain that something was
tried and did not do, and why.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from wellkept.core.records import record
from wellkept.core.scratchpad import AbandonedApproach
from wellkept.core.text import shorten
from wellkept.observe.reading.prompt_rules import plain

_UNDOES = re.compile(
    r"\bgit\s+(?:checkout\s+(?:HEAD\s+|\S+\s+)?--\s+(?P<checked>[^;&|\n]+)"
    r"|checkout\s+(?P<dot>\.)(?=\s|$)"
    r"|restore\s+(?!--staged\b)(?P<restored>[^;&|\n]+)"
    r"|reset\s+--hard\b|revert\s+(?!--(?:abort|continue))\S+)"
)
_STASHES = re.compile(r"\bgit\s+stash\b(?:\s+(?P<verb>[a-z]+))?")
_ASIDE, _BACK, _GONE = ("push", "save", None), ("pop", "apply", "branch"), ("drop", "clear")
_TAKES_BACK = re.compile(
    r"\b(?:revert|undo|roll ?back|back to|instead|don't|do not|not|rather|wrong|no|drop|remove"
    r"|without|prefer|shouldn't|fine (?:to|with|as)|keep)\b",
    re.I,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_TRIED = re.compile(
    r"\b(?:I|we) (?:first |initially )?(?:tried|attempted|went with|started with|explored)\b"
    r"|\b(?:tried|attempted) (?:to )?\w+ing?\b|\bmy first (?:approach|attempt)\b"
    r"|\bthe (?:first|initial|original) (?:approach|attempt)\b",
    re.I,
)
_FAILED = re.compile(
    r"\b(?:but|however|which|it|that)\b[^.]*?\b(?:did(?:n't| not) work|does(?:n't| not) work"
    r"|failed|fails|broke|breaks|deadlock\w*|is(?:n't| not) (?:possible|supported)"
    r"|can(?:not|'t) (?:work|be)|turned out|too slow|abandoned|gave (?:it )?up|reverted)\b",
    re.I,
)
_DEAD_END = re.compile(r"\b(?:was|is|turned out to be|hit|proved) an? dead[- ]end\b", re.I)
_WHY = re.compile(r"\b(?:because|since|as|but|:|—|-)\s+(?P<why>[^.]{8,})", re.I)
_MOST_CHARS, _MOST_SAID = 300, 2


@record
class Undoing:
    """A command that takes edits back: of the named paths, or of everything."""

    paths: tuple[str, ...] = ()


def undoing(command: str) -> Undoing | None:
    """What a command line takes back, if it does."""
    found = _UNDOES.search(command)
    if found is None:
        return None
    named = found["checked"] or found["restored"] or ""
    words = [word.strip("'\"") for word in named.split() if not word.startswith("-")]
    everything = not words or "." in words
    return Undoing(() if everything else tuple(words))


def stashing(command: str) -> Literal["aside", "back", "gone"] | None:
    """What a command line does to the stash in the end. Work that is set aside, to look whether a
    failure is older, is not given up before the stash is dropped."""
    done: Literal["aside", "back", "gone"] | None = None
    for found in _STASHES.finditer(command):
        verb = found["verb"]
        if verb in _BACK:
            done = "back"
        elif verb in _GONE:
            done = "gone"
        elif verb in _ASIDE:
            done = "aside"
    return done


def takes_back(text: str | None) -> bool:
    """Whether a person's words can be why something is taken back."""
    return text is not None and _TAKES_BACK.search(text) is not None


def said_given_up(text: str | None) -> list[tuple[str, str]]:
    """(approach, why) for each sentence that tells of something tried and given up."""
    found: list[tuple[str, str]] = []
    for part in _SENTENCE.split((text or "")[:20_000]):
        sentence = plain(part)
        told = _DEAD_END.search(sentence) or (_TRIED.search(sentence) and _FAILED.search(sentence))
        if told and 20 <= len(sentence) <= _MOST_CHARS and not sentence.endswith("?"):
            why = _WHY.search(sentence)
            found.append((sentence, why["why"].strip() if why else sentence))
    return found[:_MOST_SAID]


def given_up(
    approach: str, why: str, *, files: Sequence[str], first: int, last: int, said: bool
) -> AbandonedApproach:
    """A dead end on a sheet."""
    return AbandonedApproach(
        approach=shorten(approach, limit=_MOST_CHARS),
        why=shorten(why, limit=_MOST_CHARS),
        first_step=first,
        last_step=last,
        files=tuple(files[:8]),
        said=said,
    )


def approach_of(files: Sequence[str], *, sample: str, request: str | None) -> str:
    """What was tried, in words: something that was written, where, and what it was for."""
    named = ", ".join(f"`{path}`" for path in files[:4])
    wrote = f"writing “{sample}” in {named}" if sample else f"changing {named}"
    return f"{wrote} for “{request}”" if request else wrote
