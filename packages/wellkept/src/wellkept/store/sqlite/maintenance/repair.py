"""Rebuilds derived data from the rows. Each function runs in its own transaction."""

from __future__ import annotations

from collections.abc import Callable

from wellkept.store.sqlite.connection.database import Connection
from wellkept.store.sqlite.maintenance.checks import expected_labels
from wellkept.store.sqlite.schema import FRAGMENTS_TABLE, WORDS_TABLE


def _drop_orphans(db: Connection) -> None:
    db.execute("DELETE FROM vectors WHERE memory NOT IN (SELECT row FROM memories)")
    db.execute("DELETE FROM vectors WHERE model NOT IN (SELECT model FROM models)")


def _drop_wrong_dimensions(db: Connection) -> None:
    """A vector of the wrong length can only be recomputed by a re-index."""
    db.execute(
        "DELETE FROM vectors WHERE length(codes) <>"
        " (SELECT dimension FROM models d WHERE d.model = vectors.model)"
    )


def _fix_homes(db: Connection) -> None:
    db.execute(
        "INSERT OR REPLACE INTO vectors (memory, model, home, scale, codes, checksum)"
        " SELECT v.memory, v.model, m.home, v.scale, v.codes, v.checksum FROM vectors v"
        " JOIN memories m ON m.row = v.memory WHERE v.home <> m.home"
    )


def _fix_short_ids(db: Connection) -> None:
    db.execute("UPDATE memories SET short = short_of(id) WHERE short IS NOT short_of(id)")


def _rebuild_indexes(db: Connection) -> None:
    db.execute("REINDEX")


def _rebuild_labels(db: Connection) -> None:
    db.execute("DELETE FROM labels")
    db.execute(f"INSERT OR IGNORE INTO labels {expected_labels(step=1)}")


def _rebuild_words(db: Connection) -> None:
    # Recreated instead of rebuilt in place: also repairs a table that FTS5 cannot read.
    db.execute("DROP TABLE words")
    db.execute(WORDS_TABLE)
    db.execute("INSERT INTO words (words) VALUES ('rebuild')")
    db.execute("UPDATE text_edits SET count = count + 1")
    # A gap in the numbers invalidates all cached lengths.
    db.execute("INSERT INTO edited_texts SELECT coalesce(max(number), 0) + 2, 0 FROM edited_texts")


def _rebuild_fragments(db: Connection) -> None:
    db.execute("DROP TABLE fragments")
    db.execute(FRAGMENTS_TABLE)
    db.execute("INSERT INTO fragments (fragments) VALUES ('rebuild')")


REPAIRS: tuple[Callable[[Connection], None], ...] = (
    _rebuild_indexes,
    _drop_orphans,
    _drop_wrong_dimensions,
    _fix_homes,
    _fix_short_ids,
    _rebuild_labels,
    _rebuild_words,
    _rebuild_fragments,
)
