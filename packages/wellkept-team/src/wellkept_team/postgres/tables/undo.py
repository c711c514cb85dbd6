"""How a memory is kept for an undo: its row, and its vectors with the name of their model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wellkept.core.changes import IndexEntry, Insert
from wellkept.core.errors import NotFoundError
from wellkept.store.tables.undo import Undo
from wellkept_team.postgres.tables.apply_changes import (
    delete_memory,
    insert_memories,
    replace_memory,
)
from wellkept_team.postgres.tables.memory_rows import SELECTED, to_memory
from wellkept_team.postgres.tables.text_index import IndexWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept_team.postgres.connection.database import Connection


class PostgresUndo(Undo):
    """The `UndoLog` port."""

    def _kept(self, db: Connection, memory_id: str) -> dict[str, Any]:
        row = db.row(
            f"SELECT m.extra, m.home, m.number, {SELECTED} FROM memories m"
            " WHERE m.tenant = :tenant AND m.id = :id",
            id=memory_id,
        )
        if row is None:
            raise NotFoundError(f"There is no memory {memory_id!r}.")
        vectors = db.rows(
            "SELECT d.model_id, v.codes::text FROM vectors v JOIN models d"
            " ON d.tenant = v.tenant AND d.model = v.model"
            " WHERE v.tenant = :tenant AND v.home = :home AND v.number = :number",
            home=row[1],
            number=row[2],
        )
        return {"extra": row[0], "row": list(row[3:]), "vectors": vectors}

    def _take_back(
        self, db: Connection, made: Sequence[str], before: Sequence[dict[str, Any]]
    ) -> None:
        index = IndexWriter(db)
        for one in made:
            delete_memory(db, index, one)
        for kept in before:
            memory, entry = to_memory(kept["row"]), IndexEntry(kept["extra"])
            if db.row("SELECT 1 FROM memories WHERE tenant = :tenant AND id = :id", id=memory.id):
                replace_memory(db, index, memory, entry, None)
            else:
                insert_memories(db, index, [Insert(memory, entry)])
            db.many(
                "INSERT INTO vectors (tenant, home, model, number, codes)"
                " SELECT m.tenant, m.home, d.model, m.number, %(codes)s::halfvec FROM memories m"
                " JOIN models d ON d.tenant = m.tenant AND d.model_id = %(model_id)s"
                " WHERE m.tenant = %(tenant)s AND m.id = %(id)s",
                [
                    {"id": memory.id, "model_id": name, "codes": codes}
                    for name, codes in kept["vectors"]
                ],
            )
        index.finish()
