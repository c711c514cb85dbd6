"""Event spool as the drain sees it: files of captured events, read once and then removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from wellkept.core.session.sessions import SpoolDamage, SpoolEntry


class Spool(Protocol):
    """Files of captured events. A file is removed after all of it was processed."""

    def sources(self) -> list[str]:
        """File names, least recently written first; also of what turns out to be unreadable."""
        ...

    def read(self, source: str, *, offset: int) -> Iterator[SpoolEntry | SpoolDamage]:
        """The items of a file from an offset on; nothing when the file is gone."""
        ...

    def idle_since(self, source: str) -> datetime | None:
        """When a file was last written; None when it is gone."""
        ...

    def remove(self, source: str, *, offset: int) -> bool:
        """Remove a file that was read up to `offset`, unless it has grown; returns whether it is
        gone."""
        ...

    def clear(self, source: str, *, start: int, end: int) -> None:
        """Overwrite what was processed between two offsets of a file that cannot be removed yet."""
        ...

    def set_aside(self, source: str, entry: SpoolEntry) -> None:
        """Save a copy of an entry that cannot be processed, for a later attempt."""
        ...

    def set_source_aside(self, source: str) -> str | None:
        """Move away what is no spool file to read and say why; None when it can be read."""
        ...

    def note_damage(self, source: str, *, size_bytes: int) -> None:
        """Count bytes of a file that were no entry."""
        ...
