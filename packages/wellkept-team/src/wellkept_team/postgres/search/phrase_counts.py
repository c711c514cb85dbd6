"""In how many memories of the tenant a phrase stands. Of words that is kept count of; a phrase is
counted, which reads every project. So a count is remembered until the texts of the tenant have
grown or shrunk by a thousandth: a search that is asked often stays inside its project.

An outdated count changes a score a little and never costs a hit: none is remembered as one."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Final

_SHARE: Final = 1_000
_MOST: Final = 10_000


class PhraseCounts:
    """Counts by phrase, with the length of all texts that they were made at."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[int, int]] = {}
        self._lock = Lock()

    def of(self, phrase: tuple[int, ...], *, length: int, count: Callable[[], int]) -> int:
        """The remembered count, or a new one."""
        made_at, found = self._known.get(phrase, (-1, 0))
        if made_at >= 0 and abs(length - made_at) * _SHARE <= length:
            return max(found, 1)
        found = count()
        with self._lock:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[phrase] = length, found
        return found
