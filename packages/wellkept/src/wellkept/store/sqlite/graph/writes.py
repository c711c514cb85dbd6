"""The writes of the code graph, each on a connection inside a transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from wellkept.core.graph import NOTED_KINDS, Edge, Node, NodeKind, SourceFile
from wellkept.core.ports.graph import AnalyzedFile, FileEdges
from wellkept.store.sqlite.connection.database import Connection, placeholders
from wellkept.store.sqlite.graph.rows import (
    FILE_COLUMNS,
    KIND_NUMBERS,
    file_node,
    file_values,
    ms_of,
    node_values,
)

_CHUNK = 500
_PUT_FILE = (
    f"INSERT INTO files (tree, {FILE_COLUMNS}, is_open) VALUES (?, {', '.join('?' * 12)}, ?)"
    f" ON CONFLICT (tree, path) DO UPDATE SET ({FILE_COLUMNS}, is_open) ="
    f" ({', '.join('excluded.' + c.strip() for c in FILE_COLUMNS.split(','))}, excluded.is_open)"
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
        row = db.execute(_PUT_FILE, (tree, *file_values(file), int(has_facts))).fetchone()
        number = int(row[0])
        _put_nodes(db, tree, number, [file_node(file), *analysed.symbols])
        db.execute(
            "INSERT OR REPLACE INTO facts VALUES (?, ?, ?)",
            (number, analysed.facts, analysed.names),
        )
        if not has_facts:
            _drop_drawings(db, [number])


def _put_nodes(db: Connection, tree: int, file: int, nodes: Sequence[Node]) -> None:
    known = dict(db.execute("SELECT id, node FROM nodes WHERE file = ?", (file,)).fetchall())
    gone = [known[id_] for id_ in known.keys() - {node.id for node in nodes}]
    _drop_nodes(db, gone)
    db.executemany(_PUT_NODE, [node_values(tree, node, file) for node in nodes])


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
