"""The last version of each shared record that a laptop and its team's server both had."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from wellkept.core.records import record
from wellkept.core.team.shared_records import SharedState

if TYPE_CHECKING:
    from wellkept.core.codec import Json
    from wellkept.core.memory import Memory
    from wellkept.memory.engine import Engine

NAMESPACE = "remote.base"


@record(kw_only=True)
class Base:
    """The last version of a record that both sides had."""

    seq: int
    mark: str = ""
    state: SharedState = SharedState.TEAM
    asked: bool = False
    """Whether the server was asked to close it, and lets it wait."""
    left: bool = False
    """Whether it is no longer shared from here."""
    erase: bool = False
    """Whether it was deleted here on purpose, and the server does not know yet."""
    rivals: tuple[str, ...] = ()


class Bases:
    """The bases of a project, kept in the store and read when they are asked for."""

    def __init__(self, engine: Engine, project: str, *, namespace: str = NAMESPACE) -> None:
        self._store = engine.store
        self._project = project
        self._namespace = namespace
        self._known: dict[str, Base | None] = {}

    def get(self, full_id: str) -> Base | None:
        """The base of a memory."""
        if full_id not in self._known:
            value = self._store.get_value(self._namespace, self._key(full_id))
            self._known[full_id] = _base(value) if isinstance(value, dict) else None
        return self._known[full_id]

    def items(self) -> dict[str, Base]:
        """All of them, by memory id."""
        found: dict[str, Base] = {}
        for key, value in self._store.values(self._namespace).items():
            home, _, full_id = key.rpartition(" ")
            if home == self._project and isinstance(value, dict):
                found[full_id] = _base(value)
        self._known |= found
        return found

    def put(self, full_id: str, base: Base | None) -> None:
        """Set it; None forgets it. Nothing is written when it is the same."""
        if base == self.get(full_id):
            return
        value: Json = None if base is None else _base_json(base)
        self._store.put_value(self._namespace, self._key(full_id), value)
        self._known[full_id] = base

    def clear(self) -> None:
        """Forget them all."""
        for full_id in self.items():
            self.put(full_id, None)

    def _key(self, full_id: str) -> str:
        return f"{self._project} {full_id}"


def note_erased(engine: Engine, memories: Iterable[Memory]) -> None:
    """Remember that shared memories are being deleted on purpose, so that it travels."""
    for memory in memories:
        key = f"{memory.project} {memory.id}"
        known = engine.store.get_value(NAMESPACE, key)
        if isinstance(known, dict):
            engine.store.put_value(NAMESPACE, key, {**known, "erase": True})


def _base(value: dict[str, Json]) -> Base:
    seq = value.get("seq")
    rivals = value.get("rivals")
    return Base(
        seq=seq if isinstance(seq, int) else 0,
        mark=str(value.get("mark") or ""),
        state=SharedState(str(value.get("state") or SharedState.TEAM)),
        asked=value.get("asked") is True,
        left=value.get("left") is True,
        erase=value.get("erase") is True,
        rivals=tuple(map(str, cast("list[Json]", rivals))) if isinstance(rivals, list) else (),
    )


def _base_json(base: Base) -> Json:
    flags = {name: True for name in ("asked", "left", "erase") if getattr(base, name)}
    rivals: Json = list(base.rivals)
    return {
        "seq": base.seq,
        "mark": base.mark,
        "state": base.state.value,
        **flags,
        **({"rivals": rivals} if base.rivals else {}),
    }
