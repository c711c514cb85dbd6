"""Spread a page of results over sessions and subjects.

An answer may need several sessions, and ten turns of the best one would hide the others. So most of
a page goes by rank, and its last tenth, or half of it when the question asks for several things, to
the best hits of subjects that are not on it yet and come close to the best of all. The subject of a
turn is its session; notes that say nearly the same are one subject.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.text import content_words, jaccard
from wellkept.memory.recall.ranking import Contents, Ranked

CLOSE = 0.1
_FURTHER_SHARE = 10  # one place of so many is for further subjects
_FURTHER_SHARE_OF_SEVERAL = 2
_ALIKE = 0.6
_COMPARED = 40
_READ_CHARS = 600


def spread_out(
    ranked: Sequence[Ranked], *, contents: Contents, page_size: int, several: bool = False
) -> list[Ranked]:
    """All hits in pages of that size; inside a page they stay in order. `several`: the question
    asks for more than one thing."""
    if len(ranked) <= page_size:
        return list(ranked)
    subjects = _subjects(ranked, contents)
    share = _FURTHER_SHARE_OF_SEVERAL if several else _FURTHER_SHARE
    by_rank = page_size - (page_size + share // 2) // share
    least = CLOSE * ranked[0].score
    close = sum(one.score >= least for one in ranked)
    found: list[Ranked] = []
    left = list(range(len(ranked)))
    while left:
        page = _page(left, subjects, page_size, by_rank, close)
        found += [ranked[number] for number in sorted(page)]
        left = [number for number in left if number not in page]
    return found


def _page(
    left: Sequence[int], subjects: Sequence[str], size: int, by_rank: int, close: int
) -> set[int]:
    """The next page: so many by rank, then the best of each further subject, then by rank again.
    Numbers below `close` come close to the best."""
    page = set(left[:by_rank])
    told = {subjects[number] for number in page}
    for number in left[by_rank:]:
        if len(page) >= size or number >= close:
            break
        if subjects[number] not in told:
            told.add(subjects[number])
            page.add(number)
    for number in left[by_rank:]:
        if len(page) >= size:
            break
        page.add(number)
    return page


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
