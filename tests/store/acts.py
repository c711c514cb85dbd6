"""What others do to a store while a process keeps facts of it; also the process that does so.

An act is told by its name and a number from which everything random in it follows. Run as a script
it reads lines of JSON (path, name, number), does each act as a process of its own, and answers
each with a line. An act that finds nothing to act on does nothing.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from tests.support.conformance.fixtures import EVERYTHING
from tests.support.samples import START
from wellkept.api.maintenance.reindex import reindex
from wellkept.context.delete_project import clear_project
from wellkept.core.changes import Close, Delete, IndexEntry, Insert, Mark, Replace, Rescore
from wellkept.core.clock import to_ms
from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.core.ids import IdSource
from wellkept.core.memory import Memory, MemoryDraft, MemoryPatch, Relation
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter
from wellkept.core.records import replace
from wellkept.core.types import MemoryType, RelationType, Scope
from wellkept.memory.edit import forget, relate, revise
from wellkept.memory.engine import Engine, extra_text
from wellkept.memory.exchange.jsonl import export_jsonl_file, full_export, import_jsonl
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import RecallRequest
from wellkept.memory.remember import remember
from wellkept.store import open_store, restore_store
from wellkept.testing.fakes import ManualClock, WordEmbedder

PROJECTS = ("one", "two")
WORDS = ("alpha", "kilo", "tango", "zulu", "delta", "x_y", "日本語", "café", "run")
EMBEDDERS = (WordEmbedder(), WordEmbedder(dimension=64, model_id="words-64"))


class Scene(NamedTuple):
    """Where an act takes place."""

    engine: Engine
    chance: random.Random
    path: Path

    @property
    def store(self) -> Store:
        return self.engine.store

    def text(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=self.chance.randint(1, 6)))

    def memory(self) -> Memory:
        """A new memory that is not stored yet."""
        chance, now = self.chance, self.engine.clock()
        return Memory(
            id=self.engine.new_id(),
            project=chance.choice(PROJECTS),
            type=chance.choice((MemoryType.FACT, MemoryType.GOTCHA)),
            content=self.text(),
            created_at=now,
            updated_at=now,
            valid_from=now - timedelta(days=chance.randrange(90)),
            accessed_at=now,
            scope=chance.choice((Scope.GLOBAL, Scope.GLOBAL, Scope.USER)),
            session_id=chance.choice((None, "s", "t")),
            seq=chance.choice((None, *range(8))),
            author=chance.choice((None, "robin", "user")),
            importance=chance.random(),
            tags=tuple(tag for tag in ("red", "green", "blue") if chance.random() < 0.4),
            files=tuple(file for file in ("a.py", "b.py") if chance.random() < 0.4),
            needs_review=chance.random() < 0.3,
        )

    def known(self) -> list[Memory]:
        """One of the memories that are stored, if there is any."""
        stored = list(self.store.iterate(EVERYTHING))
        return [self.chance.choice(stored)] if stored else []


def _insert(scene: Scene) -> None:
    made = [scene.memory() for _ in range(scene.chance.choice((1, 1, 7)))]
    cards = scene.engine.index_entries(made)
    scene.store.apply([Insert(m, card) for m, card in zip(made, cards, strict=True)])


def _insert_without_vector(scene: Scene) -> None:
    scene.store.apply([Insert(scene.memory(), IndexEntry("extra words"))])


def _remember(scene: Scene) -> None:
    project = scene.chance.choice(PROJECTS)
    remember(scene.engine, MemoryDraft(content=scene.text()), project=project)


def _edit(scene: Scene) -> None:
    for old in scene.known():
        new = replace(scene.memory(), id=old.id)
        card = scene.engine.index_entry(new) if scene.chance.random() < 0.5 else None
        scene.store.apply([Replace(new, card)])


def _correct(scene: Scene) -> None:
    for old in scene.known():
        with suppress(ConflictError):
            revise(scene.engine, old.id, MemoryPatch(content=scene.text()))


def _supersede(scene: Scene) -> None:
    for old in scene.known():
        new = scene.memory()
        closed = Close(old.id, scene.engine.clock(), new.id)
        scene.store.apply([Insert(new, scene.engine.index_entry(new)), closed])


def _forget(scene: Scene) -> None:
    for old in scene.known():
        forget(scene.engine, [old.id], keep_history=scene.chance.random() < 0.4)


def _forget_and_take_in_again(scene: Scene) -> None:
    for old in scene.known():
        scene.store.apply([Delete(old.id), Insert(old, scene.engine.index_entry(old))])


def _relate(scene: Scene) -> None:
    for one, other in zip(scene.known(), scene.known(), strict=True):
        if one.id != other.id:
            relate(scene.engine, one.id, Relation(RelationType.VALIDATES, target_id=other.id))


def _mark(scene: Scene) -> None:
    for old in scene.known():
        what = "stale" if scene.chance.random() < 0.5 else "archived"
        at = scene.chance.choice((None, scene.engine.clock()))
        scene.store.apply([Mark(old.id, what, at)])


def _rescore(scene: Scene) -> None:
    scene.store.apply([Rescore(m.id, scene.chance.random()) for m in scene.known()])


def _recall(scene: Scene) -> None:
    where = Filter(project=scene.chance.choice(PROJECTS))
    recall(scene.engine, RecallRequest(query=scene.text(), where=where))
    scene.store.flush()


def _fail(scene: Scene) -> None:
    """A transaction that is undone at its end."""
    for old in scene.known():
        undone = [Insert(scene.memory(), IndexEntry()), Delete(old.id), Delete(old.id)]
        with suppress(NotFoundError):
            scene.store.apply(undone)
            raise AssertionError


def _merge_projects(scene: Scene) -> None:
    if scene.chance.random() < 0.3:
        scene.store.merge_projects("two", into="one")


def _clear(scene: Scene) -> None:
    clear_project(scene.store, scene.chance.choice(PROJECTS), dry_run=False)


def _back_up(scene: Scene) -> None:
    scene.store.backup(scene.path.with_name(f"backup-{scene.engine.new_id()}.db"))


def _restore(scene: Scene) -> None:
    """Put a backup in place while others have the file open."""
    backups = sorted(scene.path.parent.glob("backup-*.db"))
    if backups:
        restore_store(scene.chance.choice(backups), scene.path)


def _export(scene: Scene) -> None:
    target = scene.path.with_name("export.jsonl")
    export_jsonl_file(scene.engine, full_export(None), target, overwrite=True)


def _import(scene: Scene) -> None:
    source = scene.path.with_name("export.jsonl")
    if source.exists():
        import_jsonl(scene.engine, source)


def _reindex(scene: Scene) -> None:
    """Make all vectors again, with this model or the other."""
    embedder = scene.chance.choice(EMBEDDERS)
    reindex(replace(scene.engine, embedder=lambda: embedder), force=True)


def _drop_vectors(scene: Scene) -> None:
    scene.store.drop_vectors(model_id=scene.chance.choice(EMBEDDERS).model_id)


def _take_vectors_away(scene: Scene) -> None:
    """As an edit without an embedder does; nothing else of the memories changes."""
    chosen = [scene.known()[0] for _ in range(4)] if scene.known() else []
    scene.store.put_index_entries(
        [(memory.id, IndexEntry(extra_text(memory))) for memory in chosen]
    )


def _vacuum(scene: Scene) -> None:
    scene.store.compact_storage()


def _repair(scene: Scene) -> None:
    """Damage what is derived, and have it mended."""
    with closing(_raw(scene)) as db:
        db.execute("DELETE FROM labels")
        db.execute("UPDATE vectors SET home = 'wrong' WHERE seq % 3 = 0")
        db.execute("INSERT INTO words (words) VALUES ('delete-all')")
        db.commit()
    scene.store.repair()


def _checkpoint(scene: Scene) -> None:
    with closing(_raw(scene)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _change_more_than_is_listed(scene: Scene) -> None:
    """As if thousands of changes were made since anybody looked."""
    _edit(scene)
    with closing(_raw(scene)) as db:
        for table in ("changed_rows", "edited_texts"):
            db.execute(f"DELETE FROM {table} WHERE number < (SELECT max(number) FROM {table})")
        db.commit()


def _raw(scene: Scene) -> sqlite3.Connection:
    return sqlite3.connect(scene.path, timeout=30)


ACTS: dict[str, Callable[[Scene], None]] = {
    act.__name__.strip("_"): act
    for act in (
        _insert, _insert_without_vector, _remember, _edit, _correct, _supersede, _forget,
        _forget_and_take_in_again, _relate, _mark, _rescore, _recall, _fail, _merge_projects,
        _clear, _back_up, _restore, _export, _import, _reindex, _drop_vectors, _take_vectors_away,
        _vacuum, _repair, _checkpoint, _change_more_than_is_listed,
    )
}  # fmt: skip


def perform(name: str, number: int, *, path: Path, store: Store) -> None:
    """Do one act on a store that is open."""
    clock = ManualClock(START + timedelta(minutes=number))
    chance = random.Random(number)
    engine = Engine(
        store=store,
        embedder=lambda: EMBEDDERS[number % 2],
        clock=clock,
        new_id=IdSource(lambda: to_ms(clock()), random_bits=chance.getrandbits),
    )
    ACTS[name](Scene(engine, chance, path))


def perform_beside(name: str, number: int, *, path: Path) -> None:
    """Do one act as a process does that opens the store for it."""
    with closing(open_store(path)) as store:
        perform(name, number, path=path, store=store)


def main() -> None:
    """Do what is asked for, line by line."""
    for line in sys.stdin:
        path, name, number = json.loads(line)
        perform_beside(name, number, path=Path(path))
        print("done", flush=True)


if __name__ == "__main__":
    main()
