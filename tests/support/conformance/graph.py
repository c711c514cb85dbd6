"""What every store of code graphs must do, as tests. Needs pytest.

An engine's test file subclasses `GraphConformance` and gives it a `store` fixture.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.samples import START
from wellkept.core.graph import Edge, EdgeKind, FileState, Node, NodeKind, SourceFile
from wellkept.core.ports.graph import AnalyzedFile, FileEdges, GraphStore
from wellkept.core.records import replace

_TREE = "tree"


def analysed(path: str, *symbols: str, names: bytes = b"n", facts: bytes = b"f") -> AnalyzedFile:
    """A file with functions of these names."""
    file = SourceFile(
        path=path,
        language="python",
        content_hash=path,
        size_bytes=10,
        mtime_ns=1,
        line_count=5,
        module="m",
        analysed_at=START,
    )
    nodes = tuple(
        Node(
            id=f"{path}::{name}",
            kind=NodeKind.FUNCTION,
            name=name.rpartition(".")[2],
            path=path,
            qualname=name,
            line=place + 1,
            end_line=place + 2,
            language="python",
        )
        for place, name in enumerate(symbols)
    )
    return AnalyzedFile(file=file, symbols=nodes, facts=facts, names=names)


def sheet(path: str, *edges: tuple[str, str], lookups: tuple[int, ...] = ()) -> FileEdges:
    """Calls drawn from a file."""
    drawn = tuple(Edge(source=s, target=t, kind=EdgeKind.CALLS, line=3) for s, t in edges)
    return FileEdges(path=path, edges=drawn, lookups=frozenset(lookups))


class GraphConformance:
    """Promises of `wellkept.core.ports.graph.GraphStore`."""

    @pytest.fixture
    def store(self) -> GraphStore:
        raise NotImplementedError("An engine's tests give a store.")

    @pytest.fixture
    def filled(self, store: GraphStore) -> GraphStore:
        """Two files, one calling into the other."""
        store.put_files(_TREE, [analysed("a.py", "go"), analysed("p/b.py", "C.f", "g")])
        store.put_edges(
            _TREE,
            [
                sheet("a.py", ("a.py::go", "p/b.py::C.f"), ("a.py::go", "gone"), lookups=(7, 8)),
                sheet("p/b.py", ("p/b.py::g", "p/b.py::C.f"), lookups=(9,)),
            ],
        )
        return store

    @pytest.mark.feature("E1")
    def test_files_and_symbols_come_back_as_they_were_written(self, filled: GraphStore) -> None:
        assert [f.path for f in filled.files(_TREE)] == ["a.py", "p/b.py"]
        assert filled.file(_TREE, "a.py") == analysed("a.py").file
        assert [n.qualname for n in filled.symbols(_TREE, ["p/b.py"])] == ["C.f", "g"]
        node = filled.nodes(_TREE, ["p/b.py::C.f", "none"])["p/b.py::C.f"]
        assert (node.kind, node.path, node.module) == (NodeKind.FUNCTION, "p/b.py", "m")
        assert filled.facts(_TREE, ["a.py"]) == {"a.py": b"f"}
        assert filled.names(_TREE) == {"a.py": b"n", "p/b.py": b"n"}

    @pytest.mark.feature("E1")
    def test_an_edge_needs_both_of_its_ends(self, filled: GraphStore) -> None:
        assert [(e.source, e.target) for e in filled.edges(_TREE)] == [
            ("a.py::go", "p/b.py::C.f"),
            ("p/b.py::g", "p/b.py::C.f"),
        ]
        assert [e.source for e in filled.edges(_TREE, targets=["p/b.py::C.f"])] == [
            "a.py::go",
            "p/b.py::g",
        ]
        filled.put_files(_TREE, [analysed("p/b.py", "g")])
        assert filled.edges(_TREE) == []

    @pytest.mark.feature("E2")
    def test_edges_into_symbols_that_stay_survive_a_new_version(self, filled: GraphStore) -> None:
        filled.put_files(_TREE, [analysed("p/b.py", "C.f", "h")])
        assert [(e.source, e.target) for e in filled.edges(_TREE)] == [("a.py::go", "p/b.py::C.f")]
        assert filled.pending_files(_TREE) == ["p/b.py"]

    @pytest.mark.feature("E2")
    def test_files_are_opened_by_what_they_asked(self, filled: GraphStore) -> None:
        assert filled.pending_files(_TREE) == []
        assert filled.mark_pending(_TREE, lookups=[8, 100]) == 1
        assert filled.pending_files(_TREE) == ["a.py"]
        assert filled.mark_pending(_TREE, lookups=None) == 2
        filled.put_edges(_TREE, [sheet("a.py")])
        assert filled.pending_files(_TREE) == ["p/b.py"]
        assert filled.mark_pending(_TREE, lookups=[8]) == 0

    @pytest.mark.feature("E2")
    def test_a_dropped_file_takes_its_edges_along(self, filled: GraphStore) -> None:
        filled.drop_files(_TREE, ["p/b.py", "unknown"])
        assert filled.edges(_TREE) == []
        assert [n.id for n in filled.all_nodes(_TREE)] == ["a.py", "a.py::go"]

    @pytest.mark.feature("E2")
    def test_a_file_is_stale_until_it_is_touched_or_read_again(self, filled: GraphStore) -> None:
        assert filled.mark_stale(_TREE, ["a.py", "unknown"], at=START) == 1
        assert filled.status(_TREE).stale == ("a.py",)
        assert filled.nodes(_TREE, ["a.py::go"])["a.py::go"].stale_at == START
        later = START + timedelta(minutes=1)
        filled.touch_files(_TREE, [replace(analysed("a.py").file, analysed_at=later)])
        assert filled.status(_TREE).stale == ()
        assert filled.nodes(_TREE, ["a.py::go"])["a.py::go"].analysed_at == later

    @pytest.mark.feature("E1")
    def test_notes_survive_what_happens_to_files(self, filled: GraphStore) -> None:
        decision = Node(id="decision:one", kind=NodeKind.DECISION, name="one")
        said = Edge(source="a.py", target="decision:one", kind=EdgeKind.APPLIES_PATTERN, auto=False)
        filled.put_notes(_TREE, nodes=[decision], edges=[said])
        filled.drop_files(_TREE, ["a.py"])
        filled.put_files(_TREE, [analysed("a.py", "go")])
        assert filled.edges(_TREE, sources=["a.py"]) == [said]
        assert len(filled.edge_table(_TREE).sources) == 2
        assert filled.drop_notes(_TREE, ["decision:one"]) == 2
        assert filled.edges(_TREE, sources=["a.py"]) == []

    @pytest.mark.feature("E1")
    def test_containers_are_exactly_those_put_last(self, filled: GraphStore) -> None:
        old = Node(id="p/", kind=NodeKind.DIRECTORY, name="p", path="p")
        new = Node(id="module:m", kind=NodeKind.MODULE, name="m", qualname="m")
        filled.put_containers(_TREE, [old])
        filled.put_containers(_TREE, [new])
        kinds = {n.id for n in filled.all_nodes(_TREE) if n.path is None or n.id.endswith("/")}
        assert kinds == {"module:m"}

    @pytest.mark.feature("E3")
    def test_things_are_found_by_id_name_and_end_of_path(self, filled: GraphStore) -> None:
        def ids(name: str) -> list[str]:
            return [node.id for node in filled.find(_TREE, name)]

        assert ids("a.py") == ["a.py"]
        assert ids("b.py") == ["p/b.py"]
        assert ids("C.f") == ["p/b.py::C.f"]
        assert ids("f") == ["p/b.py::C.f"]
        assert ids("b.py::g") == ["p/b.py::g"]
        assert ids("nothing") == []

    @pytest.mark.feature("E3")
    def test_the_tables_name_the_same_nodes_as_the_rows(self, filled: GraphStore) -> None:
        edges, nodes = filled.edge_table(_TREE), filled.node_table(_TREE)
        every = filled.nodes_by_number(_TREE, list(nodes.numbers))
        assert {node.id for node in every.values()} == {n.id for n in filled.all_nodes(_TREE)}
        pairs = zip(edges.sources, edges.targets, strict=True)
        assert sorted((every[s].id, every[t].id) for s, t in pairs) == [
            (e.source, e.target) for e in filled.edges(_TREE)
        ]
        assert nodes.paths == ("a.py", "p/b.py")
        assert filled.numbers(_TREE, ["a.py"]).keys() == {"a.py"}

    @pytest.mark.feature("E2")
    def test_every_write_is_noticed_and_trees_keep_apart(self, filled: GraphStore) -> None:
        before = filled.version(_TREE)
        filled.put_files("other", [analysed("a.py", "x")])
        assert filled.version(_TREE) == before
        filled.mark_built(_TREE, at=START)
        assert filled.version(_TREE) > before
        assert filled.trees() == ["other", _TREE]
        filled.drop_tree("other")
        assert filled.trees() == [_TREE]
        assert len(filled.files(_TREE)) == 2
        assert filled.version("never") == 0

    @pytest.mark.feature("E2")
    def test_the_status_counts_and_lists_what_is_not_whole(self, filled: GraphStore) -> None:
        from wellkept.core.records import replace

        skipped = analysed("x.py", facts=b"", names=b"")
        bad = replace(skipped.file, state=FileState.SKIPPED, reason="binary")
        filled.put_files(_TREE, [replace(skipped, file=bad)])
        status = filled.status(_TREE)
        assert (status.files, status.lines, status.unresolved) == (3, 15, 0)
        assert status.nodes == {"file": 3, "function": 3}
        assert status.edges == {"calls": 2}
        assert status.languages == {"python": 2}
        assert [f.reason for f in status.skipped] == ["binary"]
