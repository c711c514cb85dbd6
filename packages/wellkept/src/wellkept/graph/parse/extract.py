"""Extracts facts from source text, with the query and tables of its language.

The query finds definitions, imports, calls, bases and variables in one pass. Nesting follows from
byte ranges. A function inside a function is not a symbol; its calls belong to the outer one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from wellkept.core.graph import NodeKind
from wellkept.graph.parse.file_facts import (
    HANDED,
    RETURNED,
    UNKNOWN,
    Base,
    Binding,
    CallFact,
    ExportedNames,
    FileFacts,
    Import,
    Symbol,
)
from wellkept.graph.parse.grammars import grammar
from wellkept.graph.parse.language import Language
from wellkept.graph.parse.names import NameReader

if TYPE_CHECKING:
    from tree_sitter import Node

    Captures = dict[str, list[Node]]

_KINDS = {
    "function": NodeKind.FUNCTION,
    "class": NodeKind.CLASS,
    "interface": NodeKind.INTERFACE,
    "module": NodeKind.MODULE,
}
_OWNER = "owner"
_MAX_SIGNATURE = 160
_START = attrgetter("start_byte")
_NAME = re.compile(rb"[\w$\x80-\xff]+")


@dataclass(slots=True)
class _Frame:
    """A definition or an owner, with its byte range."""

    start: int
    end: int
    qualname: str
    kind: NodeKind | None
    parent: int
    symbol: int = -1
    """Index of its symbol; -1 for none."""


def extract(source: bytes, language: Language) -> FileFacts:
    """The facts of one file."""
    root = _root(source, language)
    return _Reader(source, language, grammar(language).captures(root)).facts(root)


def _root(source: bytes, language: Language) -> Node:
    """The syntax tree of a file; if it has errors, that of the simplified text if that has
    fewer."""
    loaded = grammar(language)
    if language.embedded is not None:
        source = language.embedded(source)
    root = loaded.parser.parse(source).root_node
    if not root.has_error or language.simplified is None:
        return root
    simpler = loaded.parser.parse(language.simplified(source)).root_node
    return min(root, simpler, key=loaded.error_bytes)


class ParsedSyntax(NamedTuple):
    """Syntax tree of a file, its functions by qualified name, and callees as written by node id (of
    the callee, or of the call if no single node spans the callee)."""

    root: Node
    functions: dict[str, Node]
    calls: dict[int, str]


def parse_syntax(source: bytes, language: Language) -> ParsedSyntax:
    """Parse a file for data flow analysis."""
    root = _root(source, language)
    return _Reader(source, language, grammar(language).captures(root)).syntax(root)


class _Reader:
    """Turns the captures of one file into facts."""

    def __init__(self, source: bytes, language: Language, captures: Captures) -> None:
        self._source = source
        self._language = language
        self._reader = NameReader(source, language)
        self._captures = captures
        self._frames: list[_Frame] = []
        self._starts: list[int] = []
        self._symbols: list[Symbol] = []
        self._nested: list[Binding] = []
        self._returned: list[Binding] = []
        self._variables: list[tuple[Node, str, str]] | None = None

    def facts(self, root: Node) -> FileFacts:
        """All facts. Later parts need earlier ones."""
        self._define()
        imports = self._imports(root)
        bases: list[Base] = []
        for capture in ("extends", "implements"):
            for node in self._in_order(capture):
                owner, name = self._scope(node.start_byte), self._reader.dotted(node)
                if owner and name and not name.startswith(UNKNOWN):
                    bases.append(Base(owner, name, capture == "implements"))
        self._refine_kinds(bases)
        exports = self._exports()
        names = ExportedNames(
            package=self._language.package_of(root, self._reader.text),
            symbols={s.qualname: s.kind for s in self._symbols},
            imports=tuple(imports),
            bases=tuple(dict.fromkeys(bases)),
            exports=tuple(dict.fromkeys(exports)),
        )
        calls = self._calls(names)
        used = {call.callee.removeprefix(HANDED) for call in calls}
        locals_, attributes = self._bindings(names, used)
        return FileFacts(
            names=replace(names, attributes=tuple(dict.fromkeys(attributes))),
            symbols=tuple(self._symbols),
            calls=tuple(calls),
            bindings=tuple(dict.fromkeys(locals_)),
            import_lines=tuple(i.line for i in imports),
            has_errors=root.has_error,
        )

    def syntax(self, root: Node) -> ParsedSyntax:
        """The functions and calls as syntax nodes."""
        self._define()
        functions: dict[str, Node] = {}
        for node in self._in_order("function"):
            frame = self._enclosing(node.start_byte)
            if frame is not None and frame.kind is NodeKind.FUNCTION:
                functions.setdefault(frame.qualname, node)
        written = ((node.id, self._reader.dotted(node)) for node in self._captures.get("call", ()))
        return ParsedSyntax(root, functions, {id_: callee for id_, callee in written if callee})

    def _in_order(self, capture: str) -> list[Node]:
        """Captured nodes in text order; the query returns them in any order."""
        return sorted(self._captures.get(capture, ()), key=_START)

    # -- Definitions ------------------------------------------------------------------------------

    def _define(self) -> None:
        found: list[tuple[int, int, Node, str]] = []
        for capture in (*_KINDS, _OWNER):
            for node in self._captures.get(capture, ()):
                found.append((node.start_byte, -node.end_byte, node, capture))
        found.sort(key=lambda item: item[:2])
        seen: dict[str, int] = {}
        open_: list[int] = []
        last = (-1, -1)
        for start, minus_end, node, capture in found:
            if (start, minus_end) == last:  # matched by two patterns; the first counts
                continue
            last = (start, minus_end)
            while open_ and self._frames[open_[-1]].end <= start:
                open_.pop()
            frame = self._frame(node, capture, open_[-1] if open_ else -1, seen)
            self._frames.append(frame)
            self._starts.append(start)
            open_.append(len(self._frames) - 1)

    def _frame(self, node: Node, capture: str, parent: int, seen: dict[str, int]) -> _Frame:
        name = self._language.name_of(node, self._reader.text)
        above = self._frames[parent] if parent >= 0 else None
        qualname = f"{above.qualname}.{name}" if above and above.qualname else name
        kind = _KINDS.get(capture)
        frame = _Frame(node.start_byte, node.end_byte, qualname, kind, parent)
        if not name or kind is None:
            frame.qualname = qualname if name else (above.qualname if above else "")
            frame.symbol = above.symbol if above else -1
            return frame
        if kind is NodeKind.FUNCTION and self._inside_function(parent):
            assert above is not None
            self._nested.append(Binding(above.qualname, name, ""))
            frame.qualname, frame.symbol = above.qualname, above.symbol
            return frame
        frame.symbol = self._symbol(node, frame, name, seen)
        return frame

    def _inside_function(self, parent: int) -> bool:
        """Whether the nearest enclosing definition is a function."""
        while parent >= 0:
            kind = self._frames[parent].kind
            if kind is not None:
                return kind is NodeKind.FUNCTION
            parent = self._frames[parent].parent
        return False

    def _symbol(self, node: Node, frame: _Frame, name: str, seen: dict[str, int]) -> int:
        """The index of a symbol; a second definition of a name is the same symbol."""
        if frame.qualname in seen:
            return seen[frame.qualname]
        language, kind = self._language, frame.kind
        assert kind is not None
        is_test = language.test_name is not None and language.test_name.search(name) is not None
        inside = frame.parent >= 0 and self._frames[frame.parent].kind is not None
        detail = language.details.get(node.type, kind.value)
        method = kind is NodeKind.FUNCTION and "." in frame.qualname
        if kind is NodeKind.FUNCTION and (returned := self._reader.returned(node)):
            self._returned.append(Binding(frame.qualname, RETURNED, returned))
        index = seen[frame.qualname] = len(self._symbols)
        self._symbols.append(
            Symbol(
                qualname=frame.qualname,
                kind=kind,
                detail="method" if method and detail == "function" else detail,
                line=node.start_point.row + 1,
                end_line=node.end_point.row + 1,
                is_exported=not inside and language.is_exported(node, name, self._reader.text),
                is_test=is_test,
                signature=self._signature(node),
            )
        )
        return index

    def _signature(self, node: Node) -> str:
        end = self._source.find(b"\n", node.start_byte, node.start_byte + _MAX_SIGNATURE)
        stop = end if end >= 0 else min(node.end_byte, node.start_byte + _MAX_SIGNATURE)
        line = self._source[node.start_byte : min(stop, node.end_byte)]
        return line.decode("utf-8", "replace").rstrip(" {:\r").replace("\ufffd", "")

    def _enclosing(self, position: int) -> _Frame | None:
        """The innermost definition at a position."""
        index = bisect_right(self._starts, position) - 1
        while index >= 0 and self._frames[index].end <= position:
            index = self._frames[index].parent
        return self._frames[index] if index >= 0 else None

    def _scope(self, position: int) -> str:
        frame = self._enclosing(position)
        return frame.qualname if frame is not None else ""

    # -- Imports, bases, exports ------------------------------------------------------------------

    def _imports(self, root: Node) -> list[Import]:
        found: list[Import] = []
        for node in self._in_order("import"):
            found.extend(self._language.read_import(node, self._reader.text))
        stray = self._language.stray_imports
        if root.has_error and stray is not None:
            seen = {item.line for item in found}
            found.extend(item for item in stray(self._source) if item.line not in seen)
        return [*found, *self._language.implicit_imports]

    def _refine_kinds(self, bases: Sequence[Base]) -> None:
        decide = self._language.kind_of
        if decide is None:
            return
        by_owner: dict[str, list[str]] = {}
        for base in bases:
            by_owner.setdefault(base.owner, []).append(base.name)
        for index, symbol in enumerate(self._symbols):
            if symbol.qualname in by_owner:
                kind = decide(symbol.kind, tuple(by_owner[symbol.qualname]))
                self._symbols[index] = symbol._replace(kind=kind)

    def _exports(self) -> list[tuple[str, str]]:
        read = self._language.read_exports
        if read is None:
            return []
        return [pair for node in self._in_order("export") for pair in read(node, self._reader.text)]

    # -- Calls and variables ----------------------------------------------------------------------

    def _calls(self, names: ExportedNames) -> list[CallFact]:
        """Each callee once per caller, at its first call; then the names that are handed on."""
        found: dict[tuple[int, str], Node] = {}
        dotted, enclosing = self._reader.dotted, self._enclosing
        calls = [(node, dotted(node)) for node in self._in_order("call")]
        bound = self._bound_methods({callee for _, callee in calls})
        for node, written in calls:
            if written:
                frame = enclosing(node.start_byte)
                callee = written
                if bound and "." not in written:
                    scope = frame.qualname if frame is not None else ""
                    callee = bound.get((scope, written), written)
                found.setdefault((frame.symbol if frame is not None else -1, callee), node)
        for node, written in self._handed(names):
            frame = enclosing(node.start_byte)
            caller = frame.symbol if frame is not None else -1
            if (caller, written) not in found:
                found.setdefault((caller, HANDED + written), node)
        return [
            CallFact(caller, callee, node.start_point.row + 1)
            for (caller, callee), node in found.items()
        ]

    def _bound(self) -> list[tuple[Node, str, str]]:
        """The variables in text order, each with its name and type; read once."""
        if self._variables is None:
            read = self._reader.variable
            self._variables = [(node, *read(node)) for node in self._in_order("bind")]
        return self._variables

    def _handed(self, names: ExportedNames) -> Iterator[tuple[Node, str]]:
        """Names handed on that may be functions: known here, or of a variable whose type may be."""
        nodes = self._captures.get("handed", ())
        if not nodes:
            return
        variables = {name for _, name, _ in self._bound()}
        owners = variables | self._language.self_names | names.imported.keys()
        functions = {
            name for name, kind in names.symbols.items() if kind is NodeKind.FUNCTION
        } | names.imported.keys()
        everywhere = self._language.implicit_scope
        if not everywhere:  # most names are of neither: look at the text before anything else
            source, head_at = self._source, _NAME.match
            heads = {name.encode("utf-8", "replace") for name in owners | functions}
            nodes = [
                node
                for node in nodes
                if (head := head_at(source, node.start_byte)) is not None and head[0] in heads
            ]
        for node in sorted(nodes, key=_START):
            written = self._reader.dotted(node)
            head, _, member = written.partition(".")
            if head in owners if member else (head in functions or everywhere):
                yield node, written

    def _bound_methods(self, callees: Set[str]) -> dict[tuple[str, str], str]:
        """Called names that stand for a method, by scope: after `append = text.append` a call of
        `append` calls `text.append`. A name that is bound more than once may stand for the method
        of something unknown."""
        found: dict[tuple[str, str], str] = {}
        counts: Counter[tuple[str, str]] = Counter()
        for node in self._captures.get("bound", ()):
            name = node.named_child(0)
            if name is None or (written := self._reader.text(name)) not in callees:
                continue
            value = node.child_by_field_name("right") or node.child_by_field_name("value")
            if value is not None:
                key = (self._scope(node.start_byte), written)
                found[key] = self._reader.dotted(value)
                counts[key] += 1
        if not found:
            return {}
        names = {name for _, name in found}
        for node, name, _ in self._bound():
            if name in names:
                counts[(self._scope(node.start_byte), name)] += 1
        # Of a name that is bound to several values, only the method's name is known.
        return {
            key: value if counts[key] == 1 else f"{UNKNOWN}.{value.rpartition('.')[2]}"
            for key, value in found.items()
            if "." in value
        }

    def _bindings(
        self, names: ExportedNames, callees: Iterable[str]
    ) -> tuple[list[Binding], list[Binding]]:
        """Variables that are receivers of calls or shadow a name; and the fields of classes."""
        heads = {callee.partition(".")[0] for callee in callees}
        shadowed = heads & (names.symbols.keys() | names.imported.keys())
        locals_ = [b for b in self._nested if b.name in shadowed]
        attributes = self._returned
        types: dict[tuple[str, str], str] = {}
        for node, name, type_ in self._bound():
            scope = self._scope(node.start_byte)
            head, _, attribute = name.partition(".")
            inside = names.symbols.get(scope) in (NodeKind.CLASS, NodeKind.INTERFACE)
            if attribute and head in self._language.self_names:
                if "." in scope:
                    attributes.append(Binding(scope.rpartition(".")[0], attribute, type_))
            elif not name or "." in name or type_.partition(".")[0] == name:
                continue
            elif inside or not scope:
                attributes.append(Binding(scope, name, type_))
            elif self._is_promoted(node):
                attributes.append(Binding(scope.rpartition(".")[0], name, type_))
            types[(scope, name)] = type_
            if not inside and name in heads and (scope or type_):
                locals_.append(Binding(scope, name, type_))
        attributes += self._aliases(types)
        for node in self._in_order("local") if shadowed else ():
            name = self._reader.text(node)
            if name in shadowed and (scope := self._scope(node.start_byte)):
                locals_.append(Binding(scope, name, ""))
        return locals_, [a for a in attributes if a.type]

    def _aliases(self, types: Mapping[tuple[str, str], str]) -> Iterator[Binding]:
        """Fields assigned from a variable: `self.cart = cart` has the type of the parameter."""
        for node in self._in_order("alias"):
            left, right = (node.child_by_field_name(name) for name in ("left", "right"))
            scope = self._scope(node.start_byte)
            if left is not None and right is not None:
                head, _, name = self._reader.dotted(left).partition(".")
                type_ = types.get((scope, self._reader.text(right)), "")
                if head in self._language.self_names and type_:
                    yield Binding(scope.rpartition(".")[0], name, type_)

    def _is_promoted(self, parameter: Node) -> bool:
        """Whether a constructor parameter is also a field."""
        modifiers = self._language.promotion_modifiers
        return bool(modifiers) and any(child.type in modifiers for child in parameter.children[:3])
