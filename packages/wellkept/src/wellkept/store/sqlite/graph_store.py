"""The `GraphStore` port over one SQLite file.

Its own file, not that of the memories: a build writes for seconds, and a hook that keeps a memory
must not wait for it; and a backup of memories need not carry what can be built again.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import datetime

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.graph import Edge, FileState, GraphStatus, Node, SourceFile
from wellkept.core.ports.graph import KIND_ORDER, AnalyzedFile, EdgeTable, FileEdges, NodeTable
from wellkept.store.rows import FILES
from wellkept.store.sqlite import graph_tables as writes
from wellkept.store.sqlite.database import Connection
from wellkept.store.sqlite.graph_tables import (
    APPLICATION_ID,
    NODE_COLUMNS,
    NODES,
    STEPS,
    chunks,
    to_edge,
    to_node,
)
from wellkept.store.sqlite.opening import DerivedFile

_READ_EDGES = """
    SELECT s.id, t.id, e.kind, max(e.confidence), min(e.line), 0
    FROM edges e JOIN nodes s ON s.node = e.source JOIN nodes t ON t.node = e.target
    WHERE s.tree = ?{drawn} GROUP BY e.source, e.target, e.kind
    UNION ALL
    SELECT source, target, kind, confidence, 0, 1 FROM noted_edges WHERE tree = ?{noted}
    ORDER BY 1, 2, 3"""
_TABLE = """
    SELECT e.source, e.target, e.kind, e.confidence
    FROM edges e JOIN files f ON f.file = e.file AND f.tree = ?
    UNION ALL
    SELECT s.node, t.node, x.kind, x.confidence FROM noted_edges x
    JOIN nodes s ON s.tree = x.tree AND s.id = x.source
    JOIN nodes t ON t.tree = x.tree AND t.id = x.target WHERE x.tree = ?"""


class SqliteGraph(DerivedFile):
    """Graphs of source trees in one file."""

    steps = STEPS
    application_id = APPLICATION_ID

    # -- Files ------------------------------------------------------------------------------------

    def files(self, tree: str) -> list[SourceFile]:
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {FILES.listed()} FROM files WHERE tree = ? ORDER BY path",
                (_number(db, tree),),
            ).fetchall()
        return list(map(FILES.read, rows))

    def file(self, tree: str, path: str) -> SourceFile | None:
        with self._database.reading() as db:
            row = db.execute(
                f"SELECT {FILES.listed()} FROM files WHERE tree = ? AND path = ?",
                (_number(db, tree), path),
            ).fetchone()
        return None if row is None else FILES.read(row)

    def put_files(self, tree: str, files: Sequence[AnalyzedFile]) -> None:
        with self._writing(tree) as (db, number):
            writes.put_files(db, number, files)

    def touch_files(self, tree: str, files: Sequence[SourceFile]) -> None:
        with self._writing(tree) as (db, number):
            writes.touch_files(db, number, files)

    def drop_files(self, tree: str, paths: Collection[str]) -> None:
        with self._writing(tree) as (db, number):
            writes.drop_files(db, number, paths)

    def mark_stale(self, tree: str, paths: Collection[str], *, at: datetime) -> int:
        with self._writing(tree) as (db, number):
            return sum(
                db.execute(
                    "UPDATE files SET stale_ms = coalesce(stale_ms, ?)"
                    f" WHERE tree = ? AND path IN ({marks})",
                    (to_ms(at), number, *part),
                ).rowcount
                for marks, part in chunks(paths)
            )

    # -- Edges ------------------------------------------------------------------------------------

    def facts(self, tree: str, paths: Collection[str]) -> dict[str, bytes]:
        return self._blobs(tree, "facts", paths)

    def names(self, tree: str, paths: Collection[str] | None = None) -> dict[str, bytes]:
        if paths is not None:
            return self._blobs(tree, "names", paths)
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT f.path, x.names FROM files f JOIN facts x ON x.file = f.file"
                " WHERE f.tree = ?",
                (_number(db, tree),),
            ).fetchall()
        return dict(rows)

    def _blobs(self, tree: str, column: str, paths: Collection[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        with self._database.reading() as db:
            number = _number(db, tree)
            for marks, part in chunks(paths):
                query = (
                    f"SELECT f.path, x.{column} FROM files f JOIN facts x ON x.file = f.file"
                    f" WHERE f.tree = ? AND f.path IN ({marks})"
                )
                found.update(db.execute(query, (number, *part)).fetchall())
        return found

    def pending_files(self, tree: str) -> list[str]:
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT path FROM files WHERE tree = ? AND is_open = 1 ORDER BY path",
                (_number(db, tree),),
            ).fetchall()
        return [row[0] for row in rows]

    def mark_pending(self, tree: str, *, lookups: Collection[int] | None) -> int:
        with self._writing(tree) as (db, number):
            return writes.mark_pending(db, number, lookups)

    def put_edges(self, tree: str, edges: Sequence[FileEdges]) -> None:
        with self._writing(tree) as (db, number):
            writes.put_edges(db, number, edges)

    def put_containers(self, tree: str, nodes: Sequence[Node]) -> None:
        with self._writing(tree) as (db, number):
            writes.put_containers(db, number, nodes)

    def put_notes(self, tree: str, *, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        with self._writing(tree) as (db, number):
            writes.put_notes(db, number, nodes, edges)

    def drop_notes(self, tree: str, ids: Collection[str]) -> int:
        with self._writing(tree) as (db, number):
            return writes.drop_notes(db, number, ids)

    # -- Questions --------------------------------------------------------------------------------

    def nodes(self, tree: str, ids: Collection[str]) -> dict[str, Node]:
        found = self._nodes(tree, "n.id", ids)
        return {node.id: node for _, node in found}

    def nodes_by_number(self, tree: str, numbers: Collection[int]) -> dict[int, Node]:
        return dict(self._nodes(tree, "n.node", numbers))

    def symbols(self, tree: str, paths: Collection[str]) -> list[Node]:
        found = [node for _, node in self._nodes(tree, "f.path", paths) if node.qualname]
        return sorted(found, key=lambda node: (node.path or "", node.line, node.id))

    def _nodes(self, tree: str, column: str, values: Collection[object]) -> list[tuple[int, Node]]:
        found: list[tuple[int, Node]] = []
        # With a plus no index is used: for many numbers SQLite would rather read the whole tree.
        in_tree = "+n.tree" if column == "n.node" else "n.tree"
        with self._database.reading() as db:
            number = _number(db, tree)
            for marks, part in chunks(values):
                query = (
                    f"SELECT {NODE_COLUMNS}, n.node FROM {NODES}"
                    f" WHERE {in_tree} = ? AND {column} IN ({marks})"
                )
                if column == "f.path":
                    query += " AND f.tree = n.tree"
                rows = db.execute(query, (number, *part)).fetchall()  # pyright: ignore[reportArgumentType]
                found.extend((row[-1], to_node(row)) for row in rows)
        return found

    def numbers(self, tree: str, ids: Collection[str]) -> dict[str, int]:
        with self._database.reading() as db:
            return writes.node_numbers(db, _number(db, tree), ids)

    def find(self, tree: str, name: str, *, limit: int = 20) -> list[Node]:
        last = name.rpartition("::")[2].rpartition("/")[2].rpartition(".")[2]
        with self._database.reading() as db:
            number = _number(db, tree)
            rows = db.execute(
                f"SELECT {NODE_COLUMNS} FROM {NODES} WHERE n.node IN"
                " (SELECT node FROM nodes WHERE tree = :tree AND id = :name UNION"
                " SELECT node FROM nodes WHERE tree = :tree AND name IN (:name, :last, :file))"
                " AND (n.id = :name"
                " OR (n.name IN (:name, :last) AND (n.name = :name OR n.qualname = :name"
                " OR substr(n.id, -length(:name) - 1)"
                " IN ('/' || :name, ':' || :name, '.' || :name)))"
                " OR (n.kind = 'file' AND n.name = :file"
                " AND substr(n.id, -length(:name) - 1) = '/' || :name))"
                " ORDER BY n.id <> :name, n.kind <> 'file', n.id LIMIT :limit",
                {
                    "tree": number,
                    "name": name,
                    "last": last,
                    "file": name.rpartition("/")[2],
                    "limit": limit,
                },
            ).fetchall()
        return list(map(to_node, rows))

    def all_nodes(self, tree: str) -> Iterable[Node]:
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {NODE_COLUMNS} FROM {NODES} WHERE n.tree = ? ORDER BY n.id",
                (_number(db, tree),),
            ).fetchall()
        return map(to_node, rows)

    def edges(
        self, tree: str, *, sources: Collection[str] = (), targets: Collection[str] = ()
    ) -> list[Edge]:
        if sources or targets:
            return self._edges_at(tree, sources=sources, targets=targets)
        with self._database.reading() as db:
            number = _number(db, tree)
            rows = db.execute(_READ_EDGES.format(drawn="", noted=""), (number, number)).fetchall()
        return list(map(to_edge, rows))

    def _edges_at(
        self, tree: str, *, sources: Collection[str], targets: Collection[str]
    ) -> list[Edge]:
        """Looks from the smaller side that was given and sieves by the other."""
        side, given, other = ("source", sources, set(targets)) if sources else (
            "target", targets, set[str]()
        )  # fmt: skip
        found: list[Edge] = []
        with self._database.reading() as db:
            number = _number(db, tree)
            for marks, part in chunks(given):
                numbers = (
                    f" AND e.{side} IN (SELECT node FROM nodes WHERE tree = {number}"
                    f" AND id IN ({marks}))"
                )
                query = _READ_EDGES.format(drawn=numbers, noted=f" AND {side} IN ({marks})")
                rows = db.execute(query, (number, *part, number, *part)).fetchall()  # pyright: ignore[reportArgumentType]
                found.extend(map(to_edge, rows))
        return [edge for edge in found if not other or edge.target in other]

    def edge_table(self, tree: str) -> EdgeTable:
        with self._database.snapshot() as db:
            number = _number(db, tree)
            version = _version(db, tree)
            rows = db.execute(_TABLE, (number, number)).fetchall()
        sources, targets, kinds, sure = zip(*rows, strict=True) if rows else ((), (), (), ())
        return EdgeTable(
            sources=array("q", sources),
            targets=array("q", targets),
            kinds=bytes(kinds),
            confidences=array("d", sure),
            version=version,
        )

    def node_table(self, tree: str) -> NodeTable:
        with self._database.snapshot() as db:
            number = _number(db, tree)
            files = db.execute(
                "SELECT file, path, module FROM files WHERE tree = ? ORDER BY path", (number,)
            ).fetchall()
            rows = db.execute(
                "SELECT node, coalesce(file, -1), is_test FROM nodes WHERE tree = ?", (number,)
            ).fetchall()
        places = {row[0]: place for place, row in enumerate(files)}
        return NodeTable(
            numbers=array("q", [row[0] for row in rows]),
            files=array("q", [places.get(row[1], -1) for row in rows]),
            tests=bytes([row[2] for row in rows]),
            paths=tuple(row[1] for row in files),
            modules=tuple(row[2] for row in files),
        )

    # -- The whole --------------------------------------------------------------------------------

    def version(self, tree: str) -> int:
        with self._database.reading() as db:
            return _version(db, tree)

    def mark_built(self, tree: str, *, at: datetime) -> None:
        with self._writing(tree) as (db, number):
            db.execute("UPDATE trees SET built_ms = ? WHERE tree = ?", (to_ms(at), number))

    def status(self, tree: str) -> GraphStatus:
        files = self.files(tree)
        with self._database.snapshot() as db:
            number = _number(db, tree)
            built = db.execute("SELECT built_ms FROM trees WHERE tree = ?", (number,)).fetchone()
            open_ = db.execute(
                "SELECT count(*) FROM files WHERE tree = ? AND is_open = 1", (number,)
            ).fetchone()[0]
            nodes = db.execute(
                "SELECT kind, count(*) FROM nodes WHERE tree = ? GROUP BY kind ORDER BY 2 DESC, 1",
                (number,),
            ).fetchall()
            edges = db.execute(
                f"SELECT kind, count(*) FROM ({_TABLE}) GROUP BY kind ORDER BY 2 DESC, 1",
                (number, number),
            ).fetchall()
        return GraphStatus(
            files=len(files),
            lines=sum(f.line_count for f in files),
            size_bytes=sum(f.size_bytes for f in files if f.state is not FileState.SKIPPED),
            nodes=dict(nodes),
            edges={KIND_ORDER[int(kind)].value: count for kind, count in edges},
            languages=_by_language(files),
            stale=tuple(f.path for f in files if f.stale_at is not None),
            skipped=tuple(f for f in files if f.state is FileState.SKIPPED),
            failed=tuple(f for f in files if f.state in (FileState.FAILED, FileState.PARTLY)),
            unresolved=open_,
            built_at=from_ms(built[0]) if built and built[0] is not None else None,
        )

    def trees(self) -> list[str]:
        with self._database.reading() as db:
            return [row[0] for row in db.execute("SELECT name FROM trees ORDER BY name")]

    def drop_tree(self, tree: str) -> None:
        with self._database.writing() as db:
            writes.drop_tree(db, _number(db, tree))

    @contextmanager
    def _writing(self, tree: str) -> Generator[tuple[Connection, int], None, None]:
        """A transaction on a tree, which is made and counted up."""
        with self._database.writing() as db:
            row = db.execute(
                "INSERT INTO trees (name, version) VALUES (?, 1)"
                " ON CONFLICT (name) DO UPDATE SET version = version + 1 RETURNING tree",
                (tree,),
            ).fetchone()
            yield db, int(row[0])


def _number(db: Connection, tree: str) -> int:
    """The row of a tree; 0, which none has, for an unknown one."""
    row = db.execute("SELECT tree FROM trees WHERE name = ?", (tree,)).fetchone()
    return 0 if row is None else int(row[0])


def _version(db: Connection, tree: str) -> int:
    row = db.execute("SELECT version FROM trees WHERE name = ?", (tree,)).fetchone()
    return 0 if row is None else int(row[0])


def _by_language(files: Sequence[SourceFile]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for file in files:
        if file.state is not FileState.SKIPPED:
            counts[file.language] = counts.get(file.language, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
