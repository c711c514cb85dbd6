"""What a `Filter` and a text query mean, said in plain Python: the measure engines are held to."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from wellkept.core.memory import Memory
from wellkept.core.query import RAW_TYPES, Filter, Validity, confidence_band
from wellkept.core.types import Scope, Source

_TOKEN = re.compile(r"[^\W_]+")
_SUFFIXES = ("ing", "ed", "s")
_SHORTEST_STEM = 3


def passes(memory: Memory, where: Filter) -> bool:
    """Whether a memory may be seen through a filter."""
    return (
        _in_reach(memory, where)
        and _in_time(memory, where)
        and _fits_values(memory, where)
        and _fits_flags(memory, where)
        and memory.confidence >= where.min_confidence
        and memory.importance >= where.min_importance
    )


def _in_reach(memory: Memory, where: Filter) -> bool:
    if where.project is None:
        return True
    if where.include_user and memory.scope is Scope.USER:
        return True
    return memory.project == where.project


def _in_time(memory: Memory, where: Filter) -> bool:
    if where.since is not None and memory.valid_from < where.since:
        return False
    if where.until is not None and memory.valid_from >= where.until:
        return False
    if where.as_of is not None:
        ended = memory.valid_to is not None and memory.valid_to <= where.as_of
        return memory.valid_from <= where.as_of and not ended
    return where.validity is Validity.ANY or (where.validity is Validity.OPEN) == memory.is_open


def _fits_values(memory: Memory, where: Filter) -> bool:
    return (
        (not where.types or memory.type in where.types)
        and (not where.scopes or memory.scope in where.scopes)
        and (not where.sources or memory.source in where.sources)
        and (not where.sessions or memory.session_id in where.sessions)
        and (not where.authors or memory.author in where.authors)
        and (not where.methodologies or methodology_of(memory) in where.methodologies)
        and (not where.bands or confidence_band(memory.confidence) in where.bands)
        and set(where.tags) <= set(memory.tags)
        and (not where.files or not set(where.files).isdisjoint(memory.files))
        and (not where.modules or not set(where.modules).isdisjoint(memory.modules))
    )


def methodology_of(memory: Memory) -> str | None:
    """The methodology of its work unit, if it belongs to one."""
    return memory.work_unit.methodology if memory.work_unit else None


def _fits_flags(memory: Memory, where: Filter) -> bool:
    wanted = (
        (where.stale, memory.stale_at is not None),
        (where.archived, memory.archived_at is not None),
        (where.needs_review, memory.needs_review),
        (where.user_verified, memory.user_verified),
        (where.pinned, memory.pinned),
        (where.raw, _is_raw(memory)),
    )
    return all(asked is None or asked == actual for asked, actual in wanted)


def _is_raw(memory: Memory) -> bool:
    caught = memory.type in RAW_TYPES and memory.source is Source.OBSERVER_INFERRED
    return caught and not (memory.user_verified or memory.pinned)


def stems(text: str) -> list[str]:
    """Words without case, accents and common English endings: a small stand-in for a stemmer."""
    bare = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return [_stem(word) for word in _TOKEN.findall(bare.lower())]


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            return word.removesuffix(suffix)
    return word


def holds_phrase(words: Sequence[str], phrase: Sequence[str]) -> bool:
    """Whether the words of a phrase stand side by side in a text."""
    if not phrase:
        return False
    width = len(phrase)
    return any(list(words[i : i + width]) == list(phrase) for i in range(len(words) - width + 1))
