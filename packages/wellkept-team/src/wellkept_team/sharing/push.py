"""What a laptop has to tell the team's server: statements, ends and deletions since last time.

Only chosen scopes and types leave. Memories about the person never do, and text is searched for
secrets once more on its way out; what holds one is named and stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory
from wellkept.core.query import Filter
from wellkept.core.records import field, record, replace
from wellkept.core.team.records import SharedState
from wellkept.core.types import MemoryType, RelationType, Scope
from wellkept.memory.edit import Base, Bases
from wellkept.memory.engine import Engine
from wellkept_team.sharing.shared_file import SHARED_TYPES, shared_form
from wellkept_team.sharing.team_entry import PushAction, PushItem

SCOPES = (Scope.GLOBAL, Scope.MODULE)
"""What is shared unless somebody chooses: what holds for the project and its modules."""
_GET_AT_ONCE = 200


@record(kw_only=True)
class Outgoing:
    """Finds what to push. `refused` are memories that may not leave, by short id."""

    engine: Engine
    project: str
    bases: Bases
    scopes: tuple[Scope, ...] = SCOPES
    types: tuple[MemoryType, ...] = SHARED_TYPES
    refused: dict[str, str] = field(default_factory=dict[str, str])

    def of_everything(self) -> Iterator[PushItem]:
        """Look at every memory of the project, and at what was shared before."""
        shared = self.bases.items()
        where = Filter(project=self.project, types=self.types, scopes=self.scopes)
        seen: set[str] = set()
        for memory in self.engine.store.iterate(where):
            seen.add(memory.id)
            yield from self._of_memory(memory, self.bases.get(memory.id))
        yield from self.of_these(one for one in shared if one not in seen)

    def of_these(self, ids: Iterable[str]) -> Iterator[PushItem]:
        """Look at these memories only."""
        wanted = list(dict.fromkeys(ids))
        for start in range(0, len(wanted), _GET_AT_ONCE):
            some = wanted[start : start + _GET_AT_ONCE]
            found = {one.id: one for one in self.engine.store.get(some)}
            for full_id in some:
                base = self.bases.get(full_id)
                memory = found.get(full_id)
                if memory is not None:
                    yield from self._of_memory(memory, base)
                elif base is not None and base.erase and base.state is not SharedState.ERASED:
                    yield PushItem(action=PushAction.ERASE, id=full_id, base=base.seq)

    def _of_memory(self, memory: Memory, base: Base | None) -> Iterator[PushItem]:
        if memory.project != self.project or (base is not None and base.left):
            return
        if base is not None and base.erase:  # deleted and brought back: it may have changed there
            base = replace(base, erase=False, mark="")
            self.bases.put(memory.id, base)
        if not memory.is_open:
            is_told = base is None or base.asked or base.state is SharedState.CLOSED
            if base is not None and not is_told:
                yield self._end(memory, base)
            return
        if memory.scope not in self.scopes or memory.type not in self.types:
            return
        try:
            shared = shared_form(memory)
        except UsageError as error:
            self.refused[memory.short] = str(error)
            return
        is_back = base is not None and base.state is SharedState.CLOSED
        if base is None or base.mark != shared.mark or is_back:
            yield PushItem(
                action=PushAction.PUT,
                id=memory.id,
                base=base.seq if base else 0,
                shared=shared,
                vouched=is_vouched(memory),
                rivals=self._rivals(memory),
            )

    def _end(self, memory: Memory, base: Base) -> PushItem:
        heirs = self.engine.store.get([memory.superseded_by]) if memory.superseded_by else []
        return PushItem(
            action=PushAction.CLOSE,
            id=memory.id,
            base=base.seq,
            vouched=all(map(is_vouched, heirs)),
            until=memory.valid_to,
            superseded_by=memory.superseded_by,
        )

    def _rivals(self, memory: Memory) -> tuple[str, ...]:
        named = (
            one.target_id
            for one in memory.relations
            if one.type is RelationType.CONFLICTS_WITH and one.target_id
        )
        return tuple(sorted(one for one in named if self.bases.get(one) is not None))[:50]


def is_vouched(memory: Memory) -> bool:
    """Whether a person said or confirmed it."""
    return memory.has_persons_word or memory.pinned
