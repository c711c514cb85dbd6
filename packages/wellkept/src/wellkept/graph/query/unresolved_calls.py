"""Calls of a method on values of unknown type, which no edge of the graph stands for.

A type that is not written down cannot be followed, so an impact may miss callers. What is left
unresolved is told instead: calls of that name in files that depend on the method's file, unless
the graph links them to another method or they go to something imported.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import Final

from wellkept.core.graph import SYMBOL_MARK, EdgeKind, Node, NodeKind, UnresolvedCall
from wellkept.core.ports.graph import GraphStore
from wellkept.graph.parse.file_facts import HANDED, names_from_bytes, uses_from_bytes

MAX_FILES: Final = 150
"""Dependent files that are searched, nearest first."""
_CALLED = re.compile(rb'\.(\w+)",\d+\]')


class UnresolvedCalls:
    """Finds unresolved calls in one version of a graph."""

    def __init__(self, store: GraphStore, tree: str) -> None:
        self._store = store
        self._tree = tree
        self._called: dict[str, frozenset[bytes]] = {}
        self._calls: dict[str, dict[str, list[UnresolvedCall]]] = {}

    def of(self, method: Node, files: Sequence[str]) -> list[UnresolvedCall]:
        """Calls in files that may be calls of a method, in the order of the files."""
        if method.kind is not NodeKind.FUNCTION or "." not in method.qualname:
            return []
        searched = list(files[:MAX_FILES])
        self._note_names(searched)
        wanted = method.name.encode()
        holding = [path for path in searched if wanted in self._called[path]]
        self._read([path for path in holding if path not in self._calls])
        candidates = [call for path in holding for call in self._calls[path].get(method.name, ())]
        linked = self._linked(candidates, method.name)
        return [call for call in candidates if call.caller not in linked]

    def _note_names(self, paths: Sequence[str]) -> None:
        """Note which methods files call, without reading their facts in full."""
        unknown = [path for path in paths if path not in self._called]
        facts = self._store.facts(self._tree, unknown) if unknown else {}
        for path in unknown:
            data = facts.get(path)
            names = _CALLED.findall(zlib.decompress(data)) if data else ()
            self._called[path] = frozenset(names)

    def _read(self, paths: Sequence[str]) -> None:
        """Read the calls of files on something that is not imported, by the method's name."""
        facts = self._store.facts(self._tree, paths) if paths else {}
        names = self._store.names(self._tree, paths) if paths else {}
        for path, data in facts.items():
            imported = names_from_bytes(names[path]).imported if path in names else {}
            by_name = self._calls[path] = dict[str, list[UnresolvedCall]]()
            uses = uses_from_bytes(data)
            for caller, callee, line in uses.calls:
                head, _, rest = callee.partition(".")
                if not rest or head in imported or callee.startswith(HANDED):
                    continue
                scope = uses.callers[caller] if caller >= 0 else ""
                source = f"{path}{SYMBOL_MARK}{scope}" if scope else path
                call = UnresolvedCall(path=path, line=line, caller=source, callee=callee)
                by_name.setdefault(rest.rpartition(".")[2], []).append(call)

    def _linked(self, calls: Sequence[UnresolvedCall], name: str) -> frozenset[str]:
        """The callers whose call of that name the graph links to a method."""
        if not calls:
            return frozenset()
        edges = self._store.edges(self._tree, sources=sorted({call.caller for call in calls}))
        return frozenset(
            edge.source
            for edge in edges
            if edge.kind is EdgeKind.CALLS and edge.target.endswith((f".{name}", f"::{name}"))
        )
