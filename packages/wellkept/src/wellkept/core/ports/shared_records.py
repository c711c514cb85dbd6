"""Records that a team shares, numbered by change within their project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.team.shared_records import SharedRecord


class SharedRecordStore(Protocol):
    """Shared records of the projects of a store."""

    def shared_records(self, project: str, ids: Sequence[str]) -> list[SharedRecord]:
        """Records in the order of `ids`; unknown ids are left out."""
        ...

    def shared_statements(self, project: str, statements: Sequence[str]) -> list[SharedRecord]:
        """Proposed and team records with one of these statements, by number."""
        ...

    def shared_changes(
        self, project: str, *, after: int, limit: int, seen_by: str | None, waiting: bool = False
    ) -> list[SharedRecord]:
        """The first records after a number, in order. With `seen_by`, without what others
        proposed; with `waiting`, only those that wait for a decision."""
        ...

    def shared_head(self, project: str) -> int:
        """The number of the latest change; 0 when nothing is shared."""
        ...

    def put_shared_records(self, project: str, records: Sequence[SharedRecord]) -> int:
        """Store records in one transaction, each under the next number; returns the last one.

        `seq` is the number that the caller saw, 0 for a new record. ConflictError when one was
        changed since, or when a new one says what an open record says that is not among these;
        then nothing is stored.
        """
        ...
