"""Small persistent values of an engine: JSON by namespace and key, and weights of file pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.codec import Json
    from wellkept.core.query import FileLink


class KeyValueStore(Protocol):
    """JSON values: project state, calibrations, job records."""

    def get_value(self, namespace: str, key: str) -> Json:
        """The value under a key, or None."""
        ...

    def put_value(self, namespace: str, key: str, value: Json) -> None:
        """Store a value durably; None deletes it."""
        ...

    def try_increment(self, namespace: str, key: str, by: int, *, limit: int) -> bool:
        """Add to a number atomically unless the result exceeds the limit; returns whether it was
        added."""
        ...

    def values(self, namespace: str) -> dict[str, Json]:
        """All values of a namespace, by key."""
        ...


class FileLinkStore(Protocol):
    """Weights of unordered pairs of files that are used or changed together."""

    def put_file_links(self, project: str, links: Sequence[FileLink]) -> None:
        """Set the weights of pairs."""
        ...

    def linked_files(
        self, project: str, files: Sequence[str], *, min_weight: float, limit: int
    ) -> list[FileLink]:
        """Pairs with at least one of the files, heaviest first; `file_a` is one of `files`."""
        ...
