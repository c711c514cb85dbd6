"""The tables of the code graph, which live in a file of their own beside the memories.

Canonical: what somebody noted (`noted_edges`, and nodes without a file that are no container).
Everything else is derived from source and can be built again. Edges carry the file that gave
rise to them, and are removed with it; they have no foreign keys, because checking two for each
of millions of rows costs more than the explicit deletes.
"""

from __future__ import annotations

from wellkept.store.sqlite.connection.database import Connection
from wellkept.store.sqlite.migrations import Migration

# "WlGr": tells a graph file from a file of memories.
APPLICATION_ID = 0x576C4772

_FIRST = (
    """CREATE TABLE trees (
        tree INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        version INTEGER NOT NULL,
        built_ms INTEGER
    ) STRICT""",
    """CREATE TABLE files (
        file INTEGER PRIMARY KEY,
        tree INTEGER NOT NULL REFERENCES trees (tree),
        path TEXT NOT NULL,
        language TEXT NOT NULL,
        content_hash TEXT NOT NULL,
        size_bytes INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        line_count INTEGER NOT NULL,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        module TEXT NOT NULL,
        is_test INTEGER NOT NULL,
        stale_ms INTEGER,
        analysed_ms INTEGER,
        is_open INTEGER NOT NULL,
        UNIQUE (tree, path)
    ) STRICT""",
    "CREATE INDEX files_open ON files (tree) WHERE is_open = 1",
    # Apart from `files`, so that listing the files of a tree does not read past their facts.
    """CREATE TABLE facts (
        file INTEGER PRIMARY KEY REFERENCES files (file) ON DELETE CASCADE,
        facts BLOB NOT NULL,
        names BLOB NOT NULL
    ) STRICT""",
    """CREATE TABLE nodes (
        node INTEGER PRIMARY KEY,
        tree INTEGER NOT NULL REFERENCES trees (tree),
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        file INTEGER REFERENCES files (file) ON DELETE CASCADE,
        qualname TEXT NOT NULL,
        line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        detail TEXT NOT NULL,
        signature TEXT NOT NULL,
        is_exported INTEGER NOT NULL,
        is_test INTEGER NOT NULL,
        language TEXT NOT NULL,
        UNIQUE (tree, id)
    ) STRICT""",
    "CREATE INDEX nodes_name ON nodes (tree, name)",
    "CREATE INDEX nodes_file ON nodes (file)",
    """CREATE TABLE edges (
        source INTEGER NOT NULL,
        target INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        file INTEGER NOT NULL,
        confidence REAL NOT NULL,
        line INTEGER NOT NULL,
        PRIMARY KEY (source, target, kind, file)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX edges_target ON edges (target)",
    "CREATE INDEX edges_file ON edges (file)",
    """CREATE TABLE lookups (
        lookup INTEGER NOT NULL,
        file INTEGER NOT NULL,
        PRIMARY KEY (lookup, file)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX lookups_file ON lookups (file)",
    """CREATE TABLE noted_edges (
        tree INTEGER NOT NULL REFERENCES trees (tree),
        source TEXT NOT NULL,
        target TEXT NOT NULL,
        kind INTEGER NOT NULL,
        confidence REAL NOT NULL,
        PRIMARY KEY (tree, source, target, kind)
    ) STRICT, WITHOUT ROWID""",
)


def _first(db: Connection) -> None:
    for statement in _FIRST:
        db.execute(statement)


STEPS: tuple[Migration, ...] = (Migration(1, "trees, files, nodes, edges", _first),)
