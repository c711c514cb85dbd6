"""Detect abandoned approaches: undone by a git command, or described by the agent.

Precision before recall: a sentence counts only when it says that something was tried, failed, and
why.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from wellkept.core.session.scratchpad import AbandonedApproach
from wellkept.core.text import shorten
from wellkept.text.events.prompt_rules import plain

_UNDOES = re.compile(
    r"\bgit\s+(?:checkout\s+(?:HEAD\s+|\S+\s+)?--\s+(?P<checked>[^;&|\n]+)"
    r"|checkout\s+(?P<dot>\.)(?=\s|$)"
    r"|restore\s+(?!--staged\b)(?P<restored>[^;&|\n]+)"
    r"|reset\s+--hard\b|revert\s+(?!--(?:abort|continue))\S+)"
)
_STASHES = re.compile(r"\bgit\s+stash\b(?:\s+(?P<verb>[a-z]+))?")
_PUSHES, _POPS, _DROPS = ("push", "save", None), ("pop", "apply", "branch"), ("drop", "clear")
_ASKS_TO_UNDO = re.compile(
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
_MAX_CHARS, _MAX_SENTENCES = 300, 2


def undone_paths(command: str) -> tuple[str, ...] | None:
    """Paths whose edits a command line undoes: () for everything, None when it undoes nothing."""
    found = _UNDOES.search(command)
    if found is None:
        return None
    named = found["checked"] or found["restored"] or ""
    words = [word.strip("'\"") for word in named.split() if not word.startswith("-")]
    return () if "." in words else tuple(words)


def stash_action(command: str) -> Literal["push", "pop", "drop"] | None:
    """What a command line finally does to the git stash. Stashed work is not given up before the
    stash is dropped."""
    action: Literal["push", "pop", "drop"] | None = None
    for found in _STASHES.finditer(command):
        verb = found["verb"]
        if verb in _POPS:
            action = "pop"
        elif verb in _DROPS:
            action = "drop"
        elif verb in _PUSHES:
            action = "push"
    return action


def can_explain_undo(prompt: str | None) -> bool:
    """Whether a prompt can be the reason to undo work."""
    return prompt is not None and _ASKS_TO_UNDO.search(prompt) is not None


def abandoned_in_text(text: str | None) -> list[tuple[str, str]]:
    """(approach, reason) for each sentence about something that was tried and given up."""
    found: list[tuple[str, str]] = []
    for part in _SENTENCE.split((text or "")[:20_000]):
        sentence = plain(part)
        matches = _DEAD_END.search(sentence) or (
            _TRIED.search(sentence) and _FAILED.search(sentence)
        )
        if matches and 20 <= len(sentence) <= _MAX_CHARS and not sentence.endswith("?"):
            why = _WHY.search(sentence)
            found.append((sentence, why["why"].strip() if why else sentence))
    return found[:_MAX_SENTENCES]


def abandoned(
    approach: str, reason: str, *, files: Sequence[str], first: int, last: int, said: bool
) -> AbandonedApproach:
    """A dead end for the scratchpad."""
    return AbandonedApproach(
        approach=shorten(approach, limit=_MAX_CHARS),
        why=shorten(reason, limit=_MAX_CHARS),
        first_step=first,
        last_step=last,
        files=tuple(files[:8]),
        said=said,
    )


def approach_of(files: Sequence[str], *, sample: str, request: str | None) -> str:
    """A description of what was tried: a line that was written, where, and for which request."""
    named = ", ".join(f"`{path}`" for path in files[:4])
    wrote = f"writing “{sample}” in {named}" if sample else f"changing {named}"
    return f"{wrote} for “{request}”" if request else wrote
