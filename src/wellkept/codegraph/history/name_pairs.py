"""Pairs of files that go together by the shape of their names, learned from history.

`docs/fr/docs/async.md` changed with `docs/fr/docs/features.md`, so `docs/de/docs/async.md` may
well change with `docs/de/docs/features.md`; and where each `src/x.py` came with a
`tests/test_x.py`, the next one will. A shape is a path with one of its parts left open; what was
seen of two shapes with the same part left open holds for every filling, even for a file that is
not there yet. Knows only names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from wellkept.codegraph.history.commits import subject
from wellkept.codegraph.history.decayed_counts import JUST_NOW, LATELY, ChangeCounts, DecayedCount
from wellkept.core.records import record

BROADEST: Final = 20
"""A commit of more files says nothing of shapes."""
_HEARD: Final = 40
_OPEN: Final = "\0"
_DOUBT: Final = (0.5, 1.0)
"""How many imaginary changes without the other keep a single joint one from being a habit."""


@record
class NamePair:
    """How often a file of this name goes along by what its likes do, of 1, just now and lately;
    and how often that was seen."""

    just_now: float
    lately: float
    times: int


class NamePairs:
    """What one repository's history says of shapes."""

    def __init__(self) -> None:
        self._habits: defaultdict[str, ChangeCounts[str]] = defaultdict(ChangeCounts[str])

    def count(self, names: Sequence[str], *, weight: float, tick: int) -> None:
        """Take in the files of a commit."""
        if len(names) > BROADEST:
            return
        shaped = [shapes(name) for name in names]
        for place, mine in enumerate(shaped):
            for part, (shape, _) in mine.items():
                habit = self._habits[shape]
                habit.own.add(weight, tick)
                for other, theirs in enumerate(shaped):
                    if other != place and part in theirs:
                        habit.others[theirs[part][0]].add(weight, tick)

    def of(
        self, path: str, tick: int, *, own: DecayedCount, along: Callable[[str], DecayedCount]
    ) -> dict[str, NamePair]:
        """The files that would go with one if it did as its likes do; they need not be there.

        What the file itself did (`own` changes, `along` with another) is taken off first.
        """
        found: dict[str, NamePair] = {}
        for shape, filling in shapes(path).values():
            habit = self._habits.get(shape)
            if habit is None or habit.own.times <= own.times:
                continue
            for other in habit.most(_HEARD, tick, fade=LATELY):
                name = other.replace(_OPEN, filling)
                said = _parallel(habit, habit.others[other], own, along(name), tick)
                known = found.get(name)
                if said.times > 0 and (known is None or said.lately > known.lately):
                    found[name] = said
        found.pop(path, None)
        return found


def _parallel(
    habit: ChangeCounts[str], joint: DecayedCount, own: DecayedCount, along: DecayedCount, tick: int
) -> NamePair:
    changed, with_other = habit.own.now(tick), joint.now(tick)
    mine, with_mine = own.now(tick), along.now(tick)
    chances = [
        max(0.0, with_other[i] - with_mine[i]) / (max(0.0, changed[i] - mine[i]) + _DOUBT[i])
        for i in (JUST_NOW, LATELY)
    ]
    return NamePair(chances[0], chances[1], joint.times - along.times)


@lru_cache(100_000)
def shapes(path: str) -> Mapping[str, tuple[str, str]]:
    """For each part of a path, folded: the path with that part left open, and the part itself.

    A part is what a folder or the file is about: "urls" in `tests/test_urls.py`.
    """
    names = path.split("/")
    about = [subject(name) for name in names]
    found: dict[str, tuple[str, str]] = {}
    for part in dict.fromkeys(about):
        opened = [
            _opened(name, part) if what == part else (name, "")
            for name, what in zip(names, about, strict=True)
        ]
        filling = next((text for _, text in opened if text), "")
        if filling:
            found[part] = ("/".join(name for name, _ in opened), filling)
    return found


def _opened(name: str, part: str) -> tuple[str, str]:
    """A name with a part left open, and the part as it is written there."""
    at = name.lower().find(part)
    if at < 0:
        return name, ""
    return name[:at] + _OPEN + name[at + len(part) :], name[at : at + len(part)]
