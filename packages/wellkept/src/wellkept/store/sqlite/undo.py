"""How a memory is kept for an undo: its row as it is stored, and its vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from wellkept.core.errors import NotFoundError
from wellkept.store.memory_rows import COLUMNS, SELECTED, to_memory
from wellkept.store.sqlite.checksums import vector_checksum
from wellkept.store.tables.undo import Undo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.store.sqlite.database import Connection

_ALL: Final = (*COLUMNS, "checksum", "extra")
_INSERT: Final = f"INSERT INTO memories ({', '.join(_ALL)}) VALUES ({', '.join('?' * len(_ALL))})"
_UPDATE: Final = f"UPDATE memories SET {', '.join(f'{name} = ?' for name in _ALL)} WHERE row = ?"


class SqliteUndo(Undo):
    """The `UndoLog` port."""

    def _kept(self, db: Connection, memory_id: str) -> dict[str, Any]:
        row = db.execute(
            f"SELECT {', '.join(_ALL)}, row FROM memories WHERE id = ?", (memory_id,)
        ).fetchone()
        if row is None:
            raise NotFoundError(f"There is no memory {memory_id!r}.")
        vectors = db.execute(
            "SELECT model, home, scale, hex(codes) FROM vectors WHERE memory = ?", (row[-1],)
        ).fetchall()
        return {"row": list(row[:-1]), "vectors": vectors}

    def _take_back(
        self, db: Connection, made: Sequence[str], before: Sequence[dict[str, Any]]
    ) -> None:
        for one in made:
            db.execute("DELETE FROM memories WHERE id = ?", (one,))
        for kept in before:
            _bring_back(db, kept)


def _bring_back(db: Connection, kept: dict[str, Any]) -> None:
    from wellkept.store.sqlite.apply_changes import put_labels
    from wellkept.store.sqlite.schema import INDEX_FRAGMENTS, INDEX_WORDS

    found = db.execute("SELECT row FROM memories WHERE id = ?", (kept["id"],)).fetchone()
    if found is not None:
        row = found[0]
        db.execute(_UPDATE, (*kept["row"], row))
        db.execute("DELETE FROM labels WHERE memory = ?", (row,))
        db.execute("DELETE FROM vectors WHERE memory = ?", (row,))
    else:
        row = int(db.execute(_INSERT, kept["row"]).lastrowid or 0)
        values = dict(zip(_ALL, kept["row"], strict=True))
        db.execute(INDEX_WORDS, (row, values["content"], values["extra"]))
        db.execute(INDEX_FRAGMENTS, (row, values["content"]))
    (stored,) = db.execute(f"SELECT {SELECTED} FROM memories m WHERE m.row = ?", (row,)).fetchall()
    put_labels(db, row, to_memory(stored))
    db.executemany(
        "INSERT INTO vectors (memory, model, home, scale, codes, checksum)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (row, model, home, scale, packed, vector_checksum(scale, packed))
            for model, home, scale, codes in kept["vectors"]
            for packed in (bytes.fromhex(codes),)
        ],
    )
