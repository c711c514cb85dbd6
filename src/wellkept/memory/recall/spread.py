"""Spread a page of results over sessions and subjects.

An answer may need several sessions, and ten turns of the best one would hide the others. So half of
each page is kept for the best hit of subjects that come close to the best of all; the other half
goes by rank. The subject of a turn is its session; notes that say nearly the same are one subject.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.text import content_words, jaccard
from wellkept.memory.recall.ranking import Contents, Ranked

CLOSE = 0.1
_ALIKE = 0.6
_COMPARED = 40
_READ_CHARS = 600


def spread_out(ranked: Sequence[Ranked], *, contents: Contents, page_size: int) -> list[Ranked]:
    """All hits in pages of that size; inside a page they stay in order."""
    if len(ranked) <= page_size:
        return list(ranked)
    subjects = _subjects(ranked, contents)
    least = CLOSE * ranked[0].score
    found: list[Ranked] = []
    left = list(range(len(ranked)))
    while left:
        first: dict[str, int] = {}
        for number in left:
            if ranked[number].score < least:
                break
            first.setdefault(subjects[number], number)
        page = set(list(first.values())[: page_size // 2])
        for number in left:
            if len(page) >= page_size:
                break
            page.add(number)
        found += [ranked[number] for number in sorted(page)]
        left = [number for number in left if number not in page]
        if not first:  # nothing is close any more: the rest goes by rank
            found += [ranked[number] for number in left]
            break
    return found


def _subjects(ranked: Sequence[Ranked], contents: Contents) -> list[str]:
    """What each hit is about: its session, or the first of the notes that say nearly the same."""
    notes = [one.candidate.id for one in ranked[:_COMPARED] if one.candidate.place is None]
    texts = contents(notes if len(notes) > 1 else [])
    known: list[tuple[str, frozenset[str]]] = []
    found: list[str] = []
    for one in ranked:
        candidate = one.candidate
        if candidate.session_id is not None and candidate.seq is not None:
            found.append(candidate.session_id)
        elif candidate.id not in texts:
            found.append(candidate.id)
        else:
            words = frozenset(content_words(texts[candidate.id][:_READ_CHARS]))
            same = next((name for name, others in known if jaccard(words, others) >= _ALIKE), None)
            known.append((same or candidate.id, words))
            found.append(same or candidate.id)
    return found
