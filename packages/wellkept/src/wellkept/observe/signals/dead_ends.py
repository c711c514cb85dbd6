"""Abandoned approaches in a step log: undone by git or by hand, or described by the agent.

An approach is told in the words of whoever asked for it or gave it up, and what was done instead in
those of the report that follows. Precision before recall: a sentence counts only when it says that
something was tried, failed, and why.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import join, normpath
from typing import Literal

from wellkept.core.records import record, replace
from wellkept.core.session.steps import SessionStep
from wellkept.core.text import shorten
from wellkept.observe.thresholds import DEAD_END_STEPS, RE_EDIT_STEPS
from wellkept.text.events.prompt_rules import plain
from wellkept.text.reports import sentences

_UNDOES = re.compile(
    r"\bgit\s+(?:checkout\s+(?:HEAD\s+|\S+\s+)?--\s+(?P<checked>[^;&|\n]+)"
    # A branch is no file that was edited, so its name undoes nothing.
    r"|checkout\s+(?P<plain>(?!-)[^;&|\n]+)"
    r"|restore\s+(?!--staged\b)(?P<restored>[^;&|\n]+)"
    r"|reset\s+(?:\S+\s+)?--hard\b|revert\s+(?!--(?:abort|continue))\S+)"
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
_MAX_CHARS, _MAX_SENTENCES, _MAX_FILES, _INSTEAD_CHARS = 300, 2, 8, 200


@record
class AbandonedApproach:
    """An approach abandoned between two steps. `said`: the agent stated it itself."""

    approach: str
    why: str
    first_step: int
    last_step: int
    files: tuple[str, ...] = ()
    alternative: str | None = None
    said: bool = False


def undone_paths(command: str) -> tuple[str, ...] | None:
    """Paths whose edits a command line undoes: () for everything, None when it undoes nothing."""
    found = _UNDOES.search(command)
    if found is None:
        return None
    named = found["checked"] or found["plain"] or found["restored"] or ""
    words = [word.strip("'\"") for word in named.split() if not word.startswith("-")]
    return () if "." in words else tuple(words)


def stash_action(command: str) -> Literal["push", "pop", "drop"] | None:
    """What a command line finally does to the git stash. Stashed work is given up once the stash is
    dropped, or one of its files is written anew."""
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


def dead_ends(steps: Sequence[SessionStep]) -> list[tuple[int, AbandonedApproach]]:
    """The approaches that a log shows as given up, each with the position of the step that shows
    it; files that are undone one after the other are one approach."""
    found: list[tuple[int, AbandonedApproach]] = []
    fold = _Undoing()
    for number, one in enumerate(steps):
        end = fold.add(one)
        if end is None:
            continue
        last = found[-1][1] if found else None
        is_near = last is not None and end.last_step - last.last_step <= RE_EDIT_STEPS
        if last and is_near and last.why == end.why and not (last.said or end.said):
            files = tuple(dict.fromkeys((*last.files, *end.files)))[:_MAX_FILES]
            first = min(last.first_step, end.first_step)
            end = replace(end, files=files, first_step=first)
            found.pop()
        found = [(at, old) for at, old in found if (old.files, old.said) != (end.files, end.said)]
        found.append((number, end))
    return [(at, replace(end, alternative=_instead(steps[at:], end))) for at, end in found]


def _instead(later: Sequence[SessionStep], end: AbandonedApproach) -> str | None:
    """What was done instead, as the next report begins. What the agent says it gave up stands in
    the report itself."""
    said = next((one.said for one in later if one.kind == "report" and one.said), "")
    first = "" if end.said else next(iter(sentences(said)), "")
    return shorten(first, limit=_INSTEAD_CHARS) or None


class _Undoing:
    """Edits since the last commit, and what may be the reason to undo them."""

    def __init__(self) -> None:
        self._edits: list[SessionStep] = []
        self._void: list[SessionStep] = []
        self._stashed = 0
        self._prompts: list[SessionStep] = []
        self._failed: SessionStep | None = None

    def add(self, step: SessionStep) -> AbandonedApproach | None:
        """One more step; the approach that it shows as given up."""
        if step.kind == "prompt":
            self._prompts.append(step)
        elif step.kind == "dead_end":
            return self._end(self._edits, step.said, at=step, approach=step.what, said=True)
        elif step.is_edit:
            return self._edited(step)
        elif step.kind == "run" and not step.ok:
            self._failed = step
        elif step.is_commit:
            self._edits, self._void = [], []
        elif step.kind == "run":
            return self._ran(step)
        return None

    def _edited(self, step: SessionStep) -> AbandonedApproach | None:
        """An edit that writes back the former text undoes another."""
        stashed = [one for one in self._edits if one.number <= self._stashed]
        if any(one.what == step.what for one in stashed):
            self._edits = [*(one for one in self._edits if one not in stashed), step]
            self._stashed = 0
            return self._given_up(stashed, at=step)
        before, _, after = step.mark.partition(">")
        back = [
            one for one in self._edits if one.what == step.what and one.mark == f"{after}>{before}"
        ]
        if not back or not step.mark:
            self._edits.append(step)
            return None
        self._edits.remove(back[-1])
        self._void.append(back[-1])
        if any(one.what == step.what for one in self._edits):
            return None
        undone = [one for one in self._void if one.what == step.what]
        self._void = [one for one in self._void if one.what != step.what]
        return self._given_up(undone, at=step)

    def _ran(self, step: SessionStep) -> AbandonedApproach | None:
        """Git commands that undo, stash or drop work."""
        stash, paths = stash_action(step.command), undone_paths(step.command)
        undone: list[SessionStep] = []
        if stash == "drop" and self._stashed:
            undone = [one for one in self._edits if one.number <= self._stashed]
        elif paths is not None:
            named = [normpath(join(step.began or "", path)) for path in paths]
            undone = [
                one
                for one in self._edits
                if not named
                or any(
                    f"{one.what}/".startswith(f"{path}/") or path.endswith(f"/{one.what}")
                    for path in named
                )
            ]
        if stash is not None:
            self._stashed = step.number if stash == "push" else 0
        self._edits = [one for one in self._edits if one not in undone]
        return self._given_up(undone, at=step)

    def _given_up(
        self, undone: Sequence[SessionStep], *, at: SessionStep
    ) -> AbandonedApproach | None:
        """A dead end only after real effort and with a known reason."""
        reason = self._reason(undone[0].number, at) if undone else None
        if reason is None or at.number - undone[0].number < DEAD_END_STEPS:
            return None
        asked = [one.what for one in self._prompts if one.number < undone[0].number]
        return self._end(undone, reason, at=at, approach="".join(asked[-1:]), said=False)

    def _end(
        self, edits: Sequence[SessionStep], why: str, *, at: SessionStep, approach: str, said: bool
    ) -> AbandonedApproach:
        return AbandonedApproach(
            approach=shorten(approach, limit=_MAX_CHARS),
            why=shorten(why, limit=_MAX_CHARS),
            first_step=at.number if said else edits[0].number,
            last_step=at.number,
            files=tuple(dict.fromkeys(one.what for one in edits))[:_MAX_FILES],
            said=said,
        )

    def _reason(self, first: int, at: SessionStep) -> str | None:
        """Why work since a step was undone: the last prompt, or a failure. A failed check is a
        slip, not a reason."""
        prompt, failed = (self._prompts or [None])[-1], self._failed
        said = error = None
        if prompt is not None and _ASKS_TO_UNDO.search(prompt.what):
            is_recent = at.number - prompt.number <= DEAD_END_STEPS
            said = f"“{prompt.what}”" if first <= prompt.number and is_recent else None
        if failed is not None and failed.purpose != "check" and failed.number > first:
            error = failed.error
        is_prompt_later = not failed or (prompt is not None and prompt.number >= failed.number)
        return said or error if is_prompt_later else error or said
