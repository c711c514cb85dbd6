"""The tables of the code graph, its records as rows, and its writes, each inside a transaction.

Canonical: what somebody noted (`noted_edges`, and nodes without a file that are no container).
Everything else is derived from source and can be built again. Edges carry the file that gave
rise to them, and are removed with it; they have no foreign keys, because checking two for each
of millions of rows costs more than the explicit deletes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.graph import NOTED_KINDS, Edge, EdgeKind, Node, NodeKind, SourceFile
from wellkept.core.ports.graph import KIND_ORDER, AnalyzedFile, FileEdges
from wellkept.store.rows import FILES, Row, SqlValue
from wellkept.store.sqlite.database import Connection, placeholders
from wellkept.store.sqlite.migrations import Migration, execute_all

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


STEPS: tuple[Migration, ...] = (Migration(1, "trees, files, nodes, edges", execute_all(_FIRST)),)


KIND_NUMBERS: dict[EdgeKind, int] = {kind: place for place, kind in enumerate(KIND_ORDER)}

NODE_COLUMNS = (
    "n.id, n.kind, n.name, f.path, n.qualname, n.line, n.end_line, n.language, n.detail,"
    " n.signature, f.module, n.is_exported, n.is_test, f.stale_ms, f.analysed_ms"
)
NODES = "nodes n LEFT JOIN files f ON f.file = n.file"
_KINDS = {kind.value: kind for kind in NodeKind}


def node_values(tree: int, node: Node, file: int | None) -> tuple[SqlValue, ...]:
    """The values of a row of `nodes` after its number."""
    return (
        tree, node.id, node.kind.value, node.name, file, node.qualname, node.line, node.end_line,
        node.detail, node.signature, int(node.is_exported), int(node.is_test), node.language,
    )  # fmt: skip


def file_node(file: SourceFile) -> Node:
    """The node that stands for a file."""
    return Node(
        id=file.path,
        kind=NodeKind.FILE,
        name=file.path.rpartition("/")[2],
        path=file.path,
        line=1,
        end_line=file.line_count,
        language=file.language,
        is_test=file.is_test,
        is_exported=True,
    )


def to_node(row: Row) -> Node:
    """The node of a row with `NODE_COLUMNS`."""
    kind = _KINDS[row[1]]
    return Node(
        id=row[0],
        kind=kind,
        name=row[2],
        path=row[0].rstrip("/") if kind is NodeKind.DIRECTORY else row[3],
        qualname=row[4],
        line=row[5],
        end_line=row[6],
        language=row[7],
        detail=row[8],
        signature=row[9],
        module=row[10] or "",
        is_exported=bool(row[11]),
        is_test=bool(row[12]),
        stale_at=_moment(row[13]),
        analysed_at=_moment(row[14]),
    )


def to_edge(row: Row) -> Edge:
    """The edge of a row (source id, target id, kind, confidence, line, said by somebody)."""
    return Edge(
        source=row[0],
        target=row[1],
        kind=KIND_ORDER[int(row[2])],
        confidence=row[3],
        line=row[4],
        auto=not row[5],
    )


def ms_of(moment: datetime | None) -> int | None:
    """A moment as it is kept, if there is one."""
    return None if moment is None else to_ms(moment)


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_ms(value)


_CHUNK = 500
_PUT_FILE = (
    f"INSERT INTO files (tree, {FILES.listed()}, is_open) VALUES (?, {', '.join('?' * 12)}, ?)"
    f" ON CONFLICT (tree, path) DO UPDATE SET ({FILES.listed()}, is_open) ="
    f" ({FILES.listed('excluded')}, excluded.is_open)"
    " RETURNING file"
)
_PUT_NODE = (
    "INSERT INTO nodes (tree, id, kind, name, file, qualname, line, end_line, detail, signature,"
    f" is_exported, is_test, language) VALUES ({', '.join('?' * 13)})"
    " ON CONFLICT (tree, id) DO UPDATE SET kind = excluded.kind, name = excluded.name,"
    " file = excluded.file, qualname = excluded.qualname, line = excluded.line,"
    " end_line = excluded.end_line, detail = excluded.detail, signature = excluded.signature,"
    " is_exported = excluded.is_exported, is_test = excluded.is_test,"
    " language = excluded.language"
)
_CONTAINERS = (NodeKind.DIRECTORY.value, NodeKind.MODULE.value)


def chunks(values: Collection[object]) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Values in portions, each with its `?,?,?`."""
    listed = list(values)
    for start in range(0, len(listed), _CHUNK):
        part = tuple(listed[start : start + _CHUNK])
        yield placeholders(part), part


def put_files(db: Connection, tree: int, files: Sequence[AnalyzedFile]) -> None:
    """Write files with their symbols in place of what was known of them."""
    for analysed in files:
        file = analysed.file
        has_facts = bool(analysed.facts)
        row = db.execute(_PUT_FILE, (tree, *FILES.values(file), int(has_facts))).fetchone()
        number = int(row[0])
        nodes = [file_node(file), *analysed.symbols]
        known = dict(db.execute("SELECT id, node FROM nodes WHERE file = ?", (number,)).fetchall())
        _drop_nodes(db, [known[one] for one in known.keys() - {node.id for node in nodes}])
        db.executemany(_PUT_NODE, [node_values(tree, node, number) for node in nodes])
        db.execute(
            "INSERT OR REPLACE INTO facts VALUES (?, ?, ?)",
            (number, analysed.facts, analysed.names),
        )
        if not has_facts:
            _drop_drawings(db, [number])


def _drop_nodes(db: Connection, numbers: Collection[int]) -> None:
    for marks, part in chunks(numbers):
        for column in ("source", "target"):
            db.execute(f"DELETE FROM edges WHERE {column} IN ({marks})", part)
        db.execute(f"DELETE FROM nodes WHERE node IN ({marks})", part)


def _drop_drawings(db: Connection, files: Collection[int]) -> None:
    for marks, part in chunks(files):
        for table in ("edges", "lookups"):
            db.execute(f"DELETE FROM {table} WHERE file IN ({marks})", part)


def drop_files(db: Connection, tree: int, paths: Collection[str]) -> None:
    """Remove files with their symbols and every edge from or to them."""
    files = file_numbers(db, tree, paths).values()
    _drop_drawings(db, files)
    for file in files:
        rows = db.execute("SELECT node FROM nodes WHERE file = ?", (file,)).fetchall()
        _drop_nodes(db, [row[0] for row in rows])
        db.execute("DELETE FROM files WHERE file = ?", (file,))


def file_numbers(db: Connection, tree: int, paths: Collection[str]) -> dict[str, int]:
    """The rows of files by path."""
    found: dict[str, int] = {}
    for marks, part in chunks(paths):
        query = f"SELECT path, file FROM files WHERE tree = ? AND path IN ({marks})"
        found.update(db.execute(query, (tree, *part)).fetchall())
    return found


def node_numbers(db: Connection, tree: int, ids: Collection[str]) -> dict[str, int]:
    """The numbers of nodes by id."""
    found: dict[str, int] = {}
    for marks, part in chunks(ids):
        query = f"SELECT id, node FROM nodes WHERE tree = ? AND id IN ({marks})"
        found.update(db.execute(query, (tree, *part)).fetchall())
    return found


def put_edges(db: Connection, tree: int, drawn: Sequence[FileEdges]) -> None:
    """Write the edges of files in place of those before, and close the files."""
    drawn = list({sheet.path: sheet for sheet in drawn}.values())
    files = file_numbers(db, tree, [sheet.path for sheet in drawn])
    ends = {end for sheet in drawn for edge in sheet.edges for end in (edge.source, edge.target)}
    nodes = node_numbers(db, tree, ends)
    _drop_drawings(db, files.values())
    db.executemany(
        "INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?, ?, ?)",
        [
            (nodes[e.source], nodes[e.target], KIND_NUMBERS[e.kind], file, e.confidence, e.line)
            for sheet in drawn
            if (file := files.get(sheet.path)) is not None
            for e in sheet.edges
            if e.source in nodes and e.target in nodes
        ],
    )
    # In the order of the index, which a batch then walks through once.
    asked = sorted(
        (lookup, file)
        for sheet in drawn
        if (file := files.get(sheet.path)) is not None
        for lookup in sheet.lookups
    )
    db.executemany("INSERT INTO lookups VALUES (?, ?)", asked)
    for marks, part in chunks(files.values()):
        db.execute(f"UPDATE files SET is_open = 0 WHERE file IN ({marks})", part)


def mark_pending(db: Connection, tree: int, lookups: Collection[int] | None) -> int:
    """Open every file that asked one of these questions, or all."""
    analysed = "tree = ? AND length((SELECT facts FROM facts WHERE file = files.file)) > 0"
    if lookups is None:
        return db.execute(f"UPDATE files SET is_open = 1 WHERE {analysed}", (tree,)).rowcount
    asking: set[int] = set()
    for marks, part in chunks(lookups):
        query = (
            "SELECT l.file FROM lookups l JOIN files f ON f.file = l.file AND f.tree = ?"
            f" WHERE l.lookup IN ({marks})"
        )
        asking.update(row[0] for row in db.execute(query, (tree, *part)).fetchall())
    db.executemany("UPDATE files SET is_open = 1 WHERE file = ?", [(n,) for n in asking])
    return len(asking)


def touch_files(db: Connection, tree: int, files: Iterable[SourceFile]) -> None:
    """Renew what may change about a file while its content stays."""
    db.executemany(
        "UPDATE files SET size_bytes = ?, mtime_ns = ?, state = ?, reason = ?, analysed_ms = ?,"
        " stale_ms = NULL WHERE tree = ? AND path = ?",
        [
            (f.size_bytes, f.mtime_ns, f.state.value, f.reason, ms_of(f.analysed_at), tree, f.path)
            for f in files
        ],
    )


def put_containers(db: Connection, tree: int, nodes: Sequence[Node]) -> None:
    """Make these the directories and modules of the tree, and no others."""
    wanted = {node.id for node in nodes}
    rows = db.execute(
        "SELECT id, node FROM nodes WHERE tree = ? AND file IS NULL AND kind IN (?, ?)",
        (tree, *_CONTAINERS),
    ).fetchall()
    _drop_nodes(db, [number for id_, number in rows if id_ not in wanted])
    known = {row[0] for row in rows}
    new = [node_values(tree, node, None) for node in nodes if node.id not in known]
    db.executemany(_PUT_NODE, new)


def put_notes(db: Connection, tree: int, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
    """Add or replace what somebody said."""
    db.executemany(_PUT_NODE, [node_values(tree, node, None) for node in nodes])
    db.executemany(
        "INSERT OR REPLACE INTO noted_edges VALUES (?, ?, ?, ?, ?)",
        [(tree, e.source, e.target, KIND_NUMBERS[e.kind], e.confidence) for e in edges],
    )


def drop_notes(db: Connection, tree: int, ids: Collection[str]) -> int:
    """Remove noted nodes, and noted edges at these ids."""
    count = 0
    noted = tuple(kind.value for kind in NOTED_KINDS)
    for marks, part in chunks(ids):
        for column in ("source", "target"):
            query = f"DELETE FROM noted_edges WHERE tree = ? AND {column} IN ({marks})"
            count += db.execute(query, (tree, *part)).rowcount
        query = (
            f"DELETE FROM nodes WHERE tree = ? AND id IN ({marks})"
            f" AND kind IN ({placeholders(noted)})"
        )
        count += db.execute(query, (tree, *part, *noted)).rowcount
    return count


def drop_tree(db: Connection, tree: int) -> None:
    """Forget a tree."""
    in_tree = "(SELECT file FROM files WHERE tree = ?)"
    for table in ("edges", "lookups"):
        db.execute(f"DELETE FROM {table} WHERE file IN {in_tree}", (tree,))
    for table in ("noted_edges", "nodes", "files", "trees"):
        db.execute(f"DELETE FROM {table} WHERE tree = ?", (tree,))
