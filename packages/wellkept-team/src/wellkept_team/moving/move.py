"""Moves a store to another engine: `wellkept admin move`. The source is never changed.

In chunks, each in one transaction; how far it is lies in the target, so that a move that was cut
off goes on where it was. At the end both sides are read and compared: counts, and a checksum over
every record of every table and every vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from wellkept.core.changes import Change, IndexEntry, Insert, Replace
from wellkept.core.clock import Clock, system_clock
from wellkept.core.codec import Json, record_to_json
from wellkept.core.errors import ConflictError, StoreError, UsageError
from wellkept.core.query import Filter, Validity
from wellkept.core.records import field, record
from wellkept.memory.engine import extra_text
from wellkept.store import is_address, open_store, quantization
from wellkept_team.moving import open_side
from wellkept_team.moving.engine_io import Row, Side
from wellkept_team.moving.tables import TABLES, MovedTable

if TYPE_CHECKING:
    from wellkept.core.ports.models import Vector
    from wellkept.core.ports.store import Store
    from wellkept.core.types import Progress

CHUNK = 500
_Item = TypeVar("_Item")
_MARKER = "move"
_EVERYTHING = Filter(project=None, validity=Validity.ANY, archived=None)
_MEMORIES, _VECTORS, _ACTIVITY = "memories", "vectors", "activity"


@record(kw_only=True)
class TableSum:
    """How many records a table has, and a checksum over them in any order."""

    name: str
    records: int
    checksum: str


@record(kw_only=True)
class MoveReport:
    """What was moved, or would be."""

    source: str
    target: str
    dry_run: bool
    resumed: bool = False
    tables: tuple[TableSum, ...] = ()

    @property
    def records(self) -> int:
        """All of them."""
        return sum(one.records for one in self.tables)


def move_store(
    source: Path | str,
    target: Path | str,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
    clock: Clock = system_clock,
    organisation: str | None = None,
    person: str | None = None,
) -> MoveReport:
    """Copy everything of one store into another, which must be empty or a move that was cut off.

    `organisation` is the one of the side that is a server. What is moved into it belongs to
    `person`, so that personal memories stay personal; out of it goes everything, as for whoever
    owns the database.
    StoreError when the copy differs from the source in the end; both stay as they are then.
    """
    if str(source) == str(target):
        raise UsageError("Source and target are the same store.", hint="Name another target.")
    if not ((isinstance(source, str) and is_address(source)) or Path(source).exists()):
        raise UsageError(f"There is no store at {shown(source)}.", hint="Nothing to move.")
    of_source, of_target = _organisations(source, target, organisation, person)
    with (
        closing(open_store(source, clock=clock, read_only=True, tenant=of_source)) as old,
        closing(open_side(source, clock=clock, read_only=True, tenant=of_source)) as old_rows,
    ):
        if dry_run:
            names = shown(source), shown(target)
            sums = tuple(_sums(old, old_rows, lambda _: None))
            return MoveReport(source=names[0], target=names[1], dry_run=True, tables=sums)
        with (
            closing(open_store(target, clock=clock, tenant=of_target)) as new,
            closing(open_side(target, clock=clock, read_only=False, tenant=of_target)) as new_rows,
        ):
            if person is not None:
                new_rows.require_owner(person)
            move = _Move(old, old_rows, new, new_rows, shown(source), progress, person)
            return move.run(shown(target))


def _organisations(
    source: Path | str, target: Path | str, organisation: str | None, person: str | None
) -> tuple[str | None, str | None]:
    """The organisation of either side; UsageError where it cannot be told."""
    if organisation is None:
        if person is not None:
            raise UsageError("A person belongs to an organisation.", hint="Give --organisation.")
        return None, None
    sides = [isinstance(one, str) and is_address(one) for one in (source, target)]
    if sum(sides) != 1:
        raise UsageError(
            "An organisation is chosen where exactly one side is a server.",
            hint="Move through a file, in two steps.",
        )
    if sides[1] and person is None:
        raise UsageError(
            "What is moved into an organisation needs an owner, who alone sees what is personal.",
            hint="Give --person NAME.",
        )
    if sides[0] and person is not None:
        raise UsageError("Out of an organisation goes everything.", hint="Leave out --person.")
    return (organisation, None) if sides[0] else (None, organisation)


def shown(location: Path | str) -> str:
    """A location for people, without user and password."""
    if isinstance(location, Path) or not is_address(location):
        return str(location)
    rest = location.partition("://")[2].rpartition("@")[2]
    return f"postgresql://{rest.partition('?')[0]}"


@record(frozen=False)
class _Move:
    """One move."""

    old: Store
    old_rows: Side
    new: Store
    new_rows: Side
    name: str
    progress: Progress | None
    person: str | None = None
    done: int = 0
    total: int = 0
    state: dict[str, Json] = field(default_factory=dict[str, Json])

    def run(self, target: str) -> MoveReport:
        """Copy, verify, and take the marker away."""
        resumed = self._begin()
        counts = [self.old_rows.count(table) for table in TABLES]
        self.total = sum(counts) + sum(n for _, n in self.old.projects())
        self._memories()
        self._vectors()
        for table in TABLES:
            self._table(table)
        if self.person is not None:
            self.new_rows.give_to(self.person)
        sums = self._verified()
        self.new.put_value(_MARKER, "state", None)
        return MoveReport(
            source=self.name, target=target, dry_run=False, resumed=resumed, tables=sums
        )

    def _begin(self) -> bool:
        found = self.new.get_value(_MARKER, "state")
        if isinstance(found, dict):
            if found.get("source") != self.name:
                raise ConflictError(
                    f"A move from {found.get('source')} into this store was cut off.",
                    hint="Finish that one, or choose another target.",
                )
            self.state = dict(found)
            return True
        if self.new.projects() or any(
            self.new_rows.count(table) for table in TABLES if table.name == "sessions"
        ):
            raise ConflictError("The target is not empty.", hint="Choose an empty one.")
        self.state = {"source": self.name}
        self._keep()
        return False

    # -- Copying ----------------------------------------------------------------------------------

    def _memories(self) -> None:
        """A memory that is there already is compared, so that this can be repeated."""
        if self.state.get(_MEMORIES) == "done":
            return
        for some in _chunks(self.old.iterate(_EVERYTHING)):
            known = {one.id: one for one in self.new.get([one.id for one in some])}
            changes: list[Change] = []
            for memory in some:
                there = known.get(memory.id)
                if there is None:
                    changes.append(Insert(memory, IndexEntry(extra_text(memory))))
                elif there != memory:
                    changes.append(Replace(memory, IndexEntry(extra_text(memory))))
            if changes:
                self.new.apply(changes)
            self._tell(len(some))
        self._finish(_MEMORIES)

    def _vectors(self) -> None:
        if self.state.get(_VECTORS) == "done":
            return
        for model in self.old.vector_models():
            pairs = self.old.vectors(model_id=model.model_id, where=_EVERYTHING)
            for some in _chunks(pairs):
                texts = {one.id: one for one in self.new.get([full_id for full_id, _ in some])}
                self.new.put_index_entries(
                    [
                        (
                            full_id,
                            IndexEntry(extra_text(texts[full_id]), model.model_id, vector),
                        )
                        for full_id, vector in some
                        if full_id in texts
                    ]
                )
        self._finish(_VECTORS)

    def _table(self, table: MovedTable) -> None:
        known = self.state.get(table.name)
        if known == "done":
            return
        after = tuple(cast("list[Json]", known)) if isinstance(known, list) else None
        if after is None and table.name == _ACTIVITY:
            self.new_rows.clear(table)  # what the copy itself caused
        while rows := self.old_rows.read(table, after=after, limit=CHUNK):
            self.new_rows.write(table, rows)
            after = _key(table, rows[-1])
            self.state[table.name] = list(after)
            self._keep()
            self._tell(len(rows))
        self._finish(table.name)

    def _finish(self, name: str) -> None:
        self.state[name] = "done"
        self._keep()

    def _keep(self) -> None:
        self.new.put_value(_MARKER, "state", self.state)

    def _tell(self, count: int) -> None:
        self.done += count
        if self.progress is not None:
            self.progress(min(self.done, self.total), self.total)

    # -- Verifying --------------------------------------------------------------------------------

    def _verified(self) -> tuple[TableSum, ...]:
        self.new.flush()
        there = tuple(_sums(self.old, self.old_rows, lambda _: None))
        here = tuple(_sums(self.new, self.new_rows, lambda _: None))
        differ = [a.name for a, b in zip(there, here, strict=True) if a != b]
        if differ:
            # The next run looks at everything again.
            self.state = {"source": self.name}
            self._keep()
            raise StoreError(
                f"The copy differs from the source in {', '.join(differ)}.",
                hint="Something may have been written meanwhile: stop it and run the move again.",
            )
        return here


def _sums(store: Store, rows: Side, told: Callable[[str], None]) -> Iterator[TableSum]:
    yield _sum(_MEMORIES, (_text(record_to_json(one)) for one in store.iterate(_EVERYTHING)))
    yield _sum(_VECTORS, _vector_texts(store))
    for table in TABLES:
        told(table.name)
        yield _sum(table.name, (_text(list(row)) for row in _all_rows(rows, table)))


def _vector_texts(store: Store) -> Iterator[str]:
    for model in store.vector_models():
        for full_id, vector in store.vectors(model_id=model.model_id, where=_EVERYTHING):
            yield f"{full_id} {model.model_id} {vector_text(vector)}"


def _sum(name: str, texts: Iterator[str]) -> TableSum:
    from hashlib import blake2b

    count = total = 0
    for text in texts:
        count += 1
        total += int.from_bytes(blake2b(text.encode(), digest_size=16).digest(), "big")
    return TableSum(name=name, records=count, checksum=f"{total % (1 << 128):032x}")


def _all_rows(side: Side, table: MovedTable) -> Iterator[Row]:
    after: Row | None = None
    while rows := side.read(table, after=after, limit=CHUNK):
        yield from rows
        after = _key(table, rows[-1])


def _key(table: MovedTable, row: Row) -> Row:
    return tuple(row[table.columns.index(name)] for name in table.key)


def _text(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _chunks(items: Iterator[_Item]) -> Iterator[list[_Item]]:
    left = iter(items)
    while some := list(islice(left, CHUNK)):
        yield some


# -- What of a vector has to be the same on both engines: its codes -------------------------------


def vector_text(vector: Vector) -> str:
    """The codes of a stored vector as text; packing what was unpacked gives the same codes."""
    return quantization.pack(vector)[1].hex()
