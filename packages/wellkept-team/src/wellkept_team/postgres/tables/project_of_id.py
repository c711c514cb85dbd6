"""Remembers from where memories that were found are seen, so that reading them by id stays there.

An id alone does not say in which partition its memory lies. What a search has just found is read
next: its homes are known. What is not found there, since it was moved, is looked for everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Final, TypeVar

from wellkept.core.query import Candidate, RetrieverHit

_MOST: Final = 20_000
_Found = TypeVar("_Found")


class KnownHomes:
    """Homes by id; forgets everything when there are too many."""

    def __init__(self) -> None:
        self._homes: dict[str, tuple[str, ...]] = {}
        self._lock = Lock()

    def learn(
        self, found: Iterable[RetrieverHit | Candidate], homes: tuple[str, ...] | None
    ) -> None:
        """Memories that were found in these homes."""
        if homes is None:
            return
        with self._lock:
            if len(self._homes) > _MOST:
                self._homes.clear()
            self._homes.update((one.id, homes) for one in found)

    def of(self, ids: Iterable[str]) -> list[str]:
        """The homes of those that are known."""
        return sorted({home for full_id in ids for home in self._homes.get(full_id, ())})

    def read(
        self,
        ids: Sequence[str],
        look_up: Callable[[Sequence[str], list[str] | None], dict[str, _Found]],
    ) -> dict[str, _Found]:
        """What `look_up` finds for the ids: first in the homes that are known, then everywhere."""
        homes = self.of(ids)
        found = look_up(ids, homes) if homes else {}
        missing = [full_id for full_id in ids if full_id not in found]
        return {**found, **look_up(missing, None)} if missing else found
