"""Impact to depth 3 in three ways: `python -m bench.closure [--nodes N] [--edges N] [--json]`.

A closure table, recursive SQL over edges, and the walk in memory that the product uses, on one
random graph with hubs: time to build, room, cost of a one-file update, and latency.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.report import Timing, finish, machine, parser, say, table, timed, timed_each
from wellkept.core.codec import Json
from wellkept.core.ports.graph import EdgeTable, NodeTable
from wellkept.graph.query.traversal import GraphSnapshot

_DEPTH = 3
_FILE_NODES = 20
"""Nodes that one file holds; an update replaces their edges."""
_WALK = f"""
    WITH RECURSIVE reached (node, depth) AS (
        SELECT ?, 0 UNION
        SELECT e.source, r.depth + 1 FROM reached r JOIN edges e ON e.target = r.node
        WHERE r.depth < {_DEPTH}
    ) SELECT node, min(depth) FROM reached GROUP BY node"""
Edges = list[tuple[int, int]]


def random_edges(nodes: int, edges: int, *, seed: int = 1) -> Edges:
    """Distinct edges whose targets follow a power law, as imports and calls do."""
    chance = random.Random(seed)
    found: set[tuple[int, int]] = set()
    while len(found) < edges:
        target = min(nodes - 1, int(nodes * chance.random() ** 3))
        source = chance.randrange(nodes)
        if source != target:
            found.add((source, target))
    return sorted(found)


def closure_of(nodes: Sequence[int], above: dict[int, list[int]]) -> Edges:
    """(node, what depends on it within the depth) for the given nodes."""
    rows: Edges = []
    for node in nodes:
        seen, frontier = {node}, [node]
        for _ in range(_DEPTH):
            frontier = [s for n in frontier for s in above.get(n, ()) if s not in seen]
            seen.update(frontier)
        rows.extend((node, reached) for reached in seen)
    return rows


def by_target(edges: Edges) -> dict[int, list[int]]:
    """Sources by target."""
    above: dict[int, list[int]] = {}
    for source, target in edges:
        above.setdefault(target, []).append(source)
    return above


class Closure:
    """A table of everything that depends on everything else, three steps deep."""

    def __init__(self, path: Path, edges: Edges, nodes: int) -> None:
        self._db = sqlite3.connect(path)
        self._db.execute(
            "CREATE TABLE closure (ancestor INT, descendant INT, PRIMARY KEY (ancestor,"
            " descendant)) WITHOUT ROWID"
        )
        self._edges, self._nodes = edges, nodes

    def build(self) -> None:
        """Work out every pair."""
        above = by_target(self._edges)
        with self._db:
            for start in range(0, self._nodes, 2_000):
                rows = closure_of(range(start, min(start + 2_000, self._nodes)), above)
                self._db.executemany("INSERT INTO closure VALUES (?, ?)", rows)

    def update(self) -> None:
        """Replace the pairs that the edges of one file can have touched."""
        down: dict[int, list[int]] = {}
        for source, target in self._edges:
            down.setdefault(source, []).append(target)
        touched = {d for _, d in closure_of(range(_FILE_NODES), down)}
        rows = closure_of(sorted(touched), by_target(self._edges))
        with self._db:
            self._db.executemany("DELETE FROM closure WHERE ancestor = ?", [(n,) for n in touched])
            self._db.executemany("INSERT INTO closure VALUES (?, ?)", rows)

    def ask(self, node: int) -> object:
        """What depends on a node."""
        query = "SELECT descendant FROM closure WHERE ancestor = ?"
        return self._db.execute(query, (node,)).fetchall()


class Recursive:
    """Edges in a table, followed by one recursive query."""

    def __init__(self, path: Path, edges: Edges) -> None:
        self._db = sqlite3.connect(path)
        self._db.execute(
            "CREATE TABLE edges (source INT, target INT, PRIMARY KEY (target, source))"
            " WITHOUT ROWID"
        )
        self._edges = edges

    def build(self) -> None:
        """Write the edges."""
        with self._db:
            self._db.executemany("INSERT INTO edges VALUES (?, ?)", self._edges)

    def update(self) -> None:
        """Replace the edges of one file."""
        own = [edge for edge in self._edges if edge[0] < _FILE_NODES]
        with self._db:
            self._db.executemany("DELETE FROM edges WHERE source = ? AND target = ?", own)
            self._db.executemany("INSERT INTO edges VALUES (?, ?)", own)

    def ask(self, node: int) -> object:
        """What depends on a node."""
        return self._db.execute(_WALK, (node,)).fetchall()


class InMemory:
    """Edges in a table, read into arrays, walked level by level."""

    def __init__(self, recursive: Recursive, edges: Edges, nodes: int) -> None:
        self._recursive, self._edges, self._nodes = recursive, edges, nodes

    def build(self) -> None:
        """Read the edges; the table is that of the recursive query."""
        count = len(self._edges)
        edges = EdgeTable(
            sources=array("q", [source for source, _ in self._edges]),
            targets=array("q", [target for _, target in self._edges]),
            kinds=bytes(count),
            confidences=array("d", [1.0]) * count,
            version=1,
        )
        every = array("q", range(self._nodes))
        nodes = NodeTable(
            numbers=every, files=every, tests=bytes(self._nodes),
            paths=tuple(map(str, range(self._nodes))), modules=("",) * self._nodes,
        )  # fmt: skip
        self._map = GraphSnapshot(edges, nodes)

    def update(self) -> None:
        """Write the edges of one file and read all again."""
        self._recursive.update()
        self.build()

    def ask(self, node: int) -> object:
        """What depends on a node."""
        return self._map.traverse(self._map.indices([node]), depth=_DEPTH, backwards=True)


def measure(folder: Path, *, nodes: int, edges: int, count: int) -> dict[str, dict[str, Json]]:
    """Figures of the three ways."""
    drawn = random_edges(nodes, edges)
    recursive = Recursive(folder / "edges.db", drawn)
    ways: dict[str, tuple[Closure | Recursive | InMemory, Path]] = {
        "recursive SQL": (recursive, folder / "edges.db"),
        "walk in memory": (InMemory(recursive, drawn, nodes), folder / "edges.db"),
        "closure table": (Closure(folder / "closure.db", drawn, nodes), folder / "closure.db"),
    }
    degree = {node: len(sources) for node, sources in by_target(drawn).items()}
    hubs = sorted(degree, key=lambda n: -degree[n])[: count // 4]
    chosen = random.Random(2).sample(range(nodes), count)
    figures: dict[str, dict[str, Json]] = {}
    for name, (way, path) in ways.items():
        say(name)
        built = timed(way.build)
        figures[name] = {
            "build_s": round(built, 3),
            "room_mb": round(path.stat().st_size / 1e6, 1),
            "update_ms": round(timed(way.update) * 1000, 1),
            "random": _asked(way.ask, chosen).as_json(),
            "hubs": _asked(way.ask, hubs).as_json(),
        }
    return figures


def _asked(ask: Callable[[int], object], nodes: Sequence[int]) -> Timing:
    return timed_each(ask, nodes, warm_up=2, budget_s=30)


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    made = parser(__doc__)
    made.add_argument("--nodes", type=int, default=50_000)
    made.add_argument("--edges", type=int, default=200_000)
    made.add_argument("--queries", type=int, default=200)
    chosen = made.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="wellkept-closure-") as folder:
        figures = measure(
            Path(folder), nodes=chosen.nodes, edges=chosen.edges, count=chosen.queries
        )
    rows = [
        [name, *(str(f[key]) for key in ("build_s", "room_mb", "update_ms")),
         *(str(f[key]["p50_ms"]) for key in ("random", "hubs"))]  # type: ignore[index,call-overload]
        for name, f in figures.items()
    ]  # fmt: skip
    header = ["way", "build s", "MB", "update ms", "random ms", "hubs ms"]
    finish("closure", {"machine": machine(), "ways": {**figures}}, as_json=chosen.json,
           lines=table(header, rows))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
