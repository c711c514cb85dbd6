"""The shared records of one transaction: read, changed in memory, written all or nothing."""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.ports.store import SharedRecordStore
from wellkept.core.records import replace
from wellkept.core.team.records import OPEN_STATES, SharedRecord, SharedState
from wellkept_team.sharing.team_entry import TeamEntry, body_of, entry_of


class TeamLedger:
    """Records by id. One that was not loaded is read when it is asked for."""

    def __init__(self, store: SharedRecordStore, project: str) -> None:
        self._store = store
        self._project = project
        self._records: dict[str, SharedRecord | None] = {}
        self._entries: dict[str, TeamEntry] = {}
        self._changed: dict[str, None] = {}
        self._twins: dict[str, str] = {}

    def load(self, ids: Sequence[str], statements: Sequence[str]) -> None:
        """Read what will be needed, in two questions."""
        wanted = list(dict.fromkeys(ids))
        self._records |= dict.fromkeys(wanted)
        found = self._store.shared_records(self._project, wanted)
        # The team's come last and count.
        twins = self._store.shared_statements(self._project, list(dict.fromkeys(statements)))
        twins.sort(key=lambda one: (one.state is SharedState.TEAM, -one.seq))
        self._twins |= {one.statement: one.id for one in twins}
        self._records |= {one.id: one for one in (*found, *twins)}

    def find(self, full_id: str) -> SharedRecord | None:
        """A record, or None."""
        if full_id not in self._records:
            found = self._store.shared_records(self._project, [full_id])
            self._records[full_id] = found[0] if found else None
        return self._records[full_id]

    def known(self, full_id: str) -> SharedRecord:
        """A record that is there."""
        found = self.find(full_id)
        assert found is not None
        return found

    def entry(self, full_id: str) -> TeamEntry:
        """What a record that is there says."""
        if full_id not in self._entries:
            self._entries[full_id] = entry_of(self.known(full_id))
        return self._entries[full_id]

    def twin(self, statement: str) -> str | None:
        """The open record that says this, if there is one."""
        found = self._twins.get(statement)
        known = self.find(found) if found else None
        return found if known is not None and known.state in OPEN_STATES else None

    def put(
        self,
        full_id: str,
        entry: TeamEntry,
        *,
        state: SharedState | None = None,
        owner: str | None = None,
    ) -> None:
        """Change a record, or make it."""
        known = self.find(full_id)
        old = known or SharedRecord(
            id=full_id,
            project=self._project,
            state=SharedState.PROPOSED,
            owner="",
            statement="",
            waiting=False,
            body="",
        )
        now = state or old.state
        if now is SharedState.TEAM and not entry.was_team:
            entry = replace(entry, was_team=True)
        statement = entry.shared.statement if entry.shared else ""
        waiting = now in (SharedState.PROPOSED, SharedState.BROUGHT_BACK) or (
            now is SharedState.TEAM and bool(entry.withdrawn_by or entry.rivals)
        )
        made = replace(
            old,
            state=now,
            owner=old.owner if owner is None else owner,
            statement=statement,
            waiting=waiting,
            body=body_of(entry),
        )
        self._entries[full_id] = entry
        if statement and now in OPEN_STATES:
            self._twins[statement] = self.twin(statement) or full_id
        if made != known:
            self._records[full_id] = made
            self._changed[full_id] = None

    def commit(self) -> None:
        """Write what changed, and take over the new numbers."""
        changed = [self.known(one) for one in self._changed]
        if not changed:
            return
        last = self._store.put_shared_records(self._project, changed)
        for number, one in enumerate(changed, start=last - len(changed) + 1):
            self._records[one.id] = replace(one, seq=number)
        self._changed = {}
