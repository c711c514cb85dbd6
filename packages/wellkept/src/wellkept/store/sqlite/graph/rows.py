"""Records of the code graph as rows and back."""

from __future__ import annotations

from datetime import datetime

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.graph import Edge, EdgeKind, FileState, Node, NodeKind, SourceFile
from wellkept.core.ports.graph import KIND_ORDER
from wellkept.store.rows import Row
from wellkept.store.sqlite.connection.database import SqlValue

KIND_NUMBERS: dict[EdgeKind, int] = {kind: place for place, kind in enumerate(KIND_ORDER)}

FILE_COLUMNS = (
    "path, language, content_hash, size_bytes, mtime_ns, line_count, state, reason, module,"
    " is_test, stale_ms, analysed_ms"
)
NODE_COLUMNS = (
    "n.id, n.kind, n.name, f.path, n.qualname, n.line, n.end_line, n.language, n.detail,"
    " n.signature, f.module, n.is_exported, n.is_test, f.stale_ms, f.analysed_ms"
)
NODES = "nodes n LEFT JOIN files f ON f.file = n.file"
_KINDS = {kind.value: kind for kind in NodeKind}


def file_values(file: SourceFile) -> tuple[SqlValue, ...]:
    """The values of `FILE_COLUMNS`."""
    return (
        file.path, file.language, file.content_hash, file.size_bytes, file.mtime_ns,
        file.line_count, file.state.value, file.reason, file.module, int(file.is_test),
        ms_of(file.stale_at), ms_of(file.analysed_at),
    )  # fmt: skip


def to_file(row: Row) -> SourceFile:
    """The file of a row with `FILE_COLUMNS`."""
    return SourceFile(
        path=row[0],
        language=row[1],
        content_hash=row[2],
        size_bytes=row[3],
        mtime_ns=row[4],
        line_count=row[5],
        state=FileState(row[6]),
        reason=row[7],
        module=row[8],
        is_test=bool(row[9]),
        stale_at=_moment(row[10]),
        analysed_at=_moment(row[11]),
    )


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
