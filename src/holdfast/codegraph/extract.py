"""Source text -> facts, by the language's query and tables.

The query finds definitions, imports, calls, bases and variables in one pass; everything else is
ranges: what stands inside what. A function inside a function is no symbol of its own, its calls
are those of the outer one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from holdfast.codegraph.facts import UNKNOWN, Base, Binding, Call, Facts, Import, Names, Symbol
from holdfast.codegraph.grammars import grammar
from holdfast.codegraph.language import Language
from holdfast.core.graph import NodeKind

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
_DOTTED = re.compile(r"[\w$@]+(?:\.[\w$@]+)*")
_PLAIN = re.compile(r"\w+(?:\.\w+)*")
_LAST = re.compile(r"\.([\w$]+)$")
_TYPE = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|\\)[A-Za-z_$][\w$]*)*")
_CALLS = frozenset(
    "call call_expression new_expression object_creation_expression method_invocation"
    " composite_literal struct_expression await_expression".split()
)
_CALLED = ("function", "constructor", "type", "name")
_LONGEST_NAME, _LONGEST_SIGNATURE = 300, 160


@dataclass(slots=True)
class _Frame:
    """A definition or an owner with the range it covers."""

    start: int
    end: int
    qualname: str
    kind: NodeKind | None
    parent: int
    place: int = -1
    """Among the symbols; -1 for an owner and for a function inside a function."""
    children: list[str] = field(default_factory=list[str])


def extract(source: bytes, language: Language) -> Facts:
    """The facts of one file."""
    loaded = grammar(language)
    root = loaded.parser.parse(source).root_node
    if root.has_error and language.simplified is not None:
        simpler = loaded.parser.parse(language.simplified(source)).root_node
        root = min(root, simpler, key=loaded.error_bytes)
    return _Reader(source, language, loaded.captures(root)).facts(root)


class Opened(NamedTuple):
    """A file as its parser sees it: its functions by qualified name, and what is called as
    written, by the syntax node of the call."""

    root: Node
    functions: dict[str, Node]
    calls: dict[int, str]


def opened(source: bytes, language: Language) -> Opened:
    """The functions and calls of a file, to be looked into."""
    loaded = grammar(language)
    root = loaded.parser.parse(source).root_node
    return _Reader(source, language, loaded.captures(root)).opened(root)


class _Reader:
    """Turns the captures of one file into facts."""

    def __init__(self, source: bytes, language: Language, captures: Captures) -> None:
        self._source = source
        self._language = language
        self._captures = captures
        self._frames: list[_Frame] = []
        self._starts: list[int] = []
        self._symbols: list[Symbol] = []
        self._hidden: list[Binding] = []

    def facts(self, root: Node) -> Facts:
        """Everything, in the order in which later parts need earlier ones."""
        self._define()
        imports = self._imports()
        bases = self._bases()
        self._see_kinds_again(bases)
        calls = self._calls()
        exports = self._exports()
        names = Names(
            package=self._language.package_of(root, self._text),
            symbols={s.qualname: s.kind for s in self._symbols},
            imports=tuple(imports),
            bases=tuple(dict.fromkeys(bases)),
            exports=tuple(dict.fromkeys(exports)),
        )
        locals_, attributes = self._bindings(names, {call.callee for call in calls})
        return Facts(
            names=Names(
                package=names.package,
                symbols=names.symbols,
                imports=names.imports,
                bases=names.bases,
                attributes=tuple(dict.fromkeys(attributes)),
                exports=names.exports,
            ),
            symbols=tuple(self._symbols),
            calls=tuple(calls),
            bindings=tuple(dict.fromkeys(locals_)),
            import_lines=tuple(i.line for i in imports),
            has_errors=root.has_error,
        )

    def opened(self, root: Node) -> Opened:
        """The functions and calls themselves."""
        self._define()
        functions: dict[str, Node] = {}
        for node in self._in_order("function"):
            frame = self._around(node.start_byte)
            if frame is not None and frame.kind is NodeKind.FUNCTION:
                functions.setdefault(frame.qualname, node)
        written = ((self._call_of(node), self._dotted(node)) for node in self._in_order("call"))
        calls = {call.id: callee for call, callee in written if call is not None and callee}
        return Opened(root, functions, calls)

    def _call_of(self, callee: Node) -> Node | None:
        """The node of the whole call, arguments and all."""
        if callee.type in self._language.call_fields or callee.parent is None:
            return callee
        call = callee.parent
        if call.type == "generic_function":
            call = call.parent
        return None if call is None or call.type in ("decorator", "body_statement") else call

    def _in_order(self, capture: str) -> list[Node]:
        """Captured nodes as they stand in the text; the query gives them in any order."""
        return sorted(self._captures.get(capture, ()), key=lambda node: node.start_byte)

    # -- Text -------------------------------------------------------------------------------------

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _dotted(self, node: Node) -> str:
        """A name with dots; only its last part, after `?`, when the rest is an expression."""
        fields = self._language.call_fields.get(node.type)
        if fields is not None:
            receiver, name = (node.child_by_field_name(f) for f in fields)
            if name is None:
                return ""
            if receiver is None:
                return dotted(self._text(name), self._language)
            before = self._dotted(receiver)
            return f"{before or UNKNOWN}.{self._text(name)}"
        if node.end_byte - node.start_byte > _LONGEST_NAME:
            text = self._source[node.end_byte - _LONGEST_NAME : node.end_byte]
            shown = "()" + text.decode("utf-8", "ignore")
        else:
            shown = self._text(node)
        return dotted(shown, self._language)

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
            if (start, minus_end) == last:  # two patterns found the same node; the first counts
                continue
            last = (start, minus_end)
            while open_ and self._frames[open_[-1]].end <= start:
                open_.pop()
            frame = self._frame(node, capture, open_[-1] if open_ else -1, seen)
            self._frames.append(frame)
            self._starts.append(start)
            open_.append(len(self._frames) - 1)

    def _frame(self, node: Node, capture: str, parent: int, seen: dict[str, int]) -> _Frame:
        name = self._language.name_of(node, self._text)
        above = self._frames[parent] if parent >= 0 else None
        qualname = f"{above.qualname}.{name}" if above and above.qualname else name
        kind = _KINDS.get(capture)
        frame = _Frame(node.start_byte, node.end_byte, qualname, kind, parent)
        if not name or kind is None:
            frame.qualname = qualname if name else (above.qualname if above else "")
            frame.place = above.place if above else -1
            return frame
        if kind is NodeKind.FUNCTION and self._inside_function(parent):
            assert above is not None
            self._hidden.append(Binding(above.qualname, name, ""))
            frame.qualname, frame.place = above.qualname, above.place
            return frame
        frame.place = self._symbol(node, frame, name, seen)
        return frame

    def _inside_function(self, parent: int) -> bool:
        """Whether the nearest definition around is a function."""
        while parent >= 0:
            kind = self._frames[parent].kind
            if kind is not None:
                return kind is NodeKind.FUNCTION
            parent = self._frames[parent].parent
        return False

    def _symbol(self, node: Node, frame: _Frame, name: str, seen: dict[str, int]) -> int:
        """The place of a symbol; a second definition of the same name is the same symbol."""
        if frame.qualname in seen:
            return seen[frame.qualname]
        language, kind = self._language, frame.kind
        assert kind is not None
        is_test = language.test_name is not None and language.test_name.search(name) is not None
        inside = frame.parent >= 0 and self._frames[frame.parent].kind is not None
        detail = language.details.get(node.type, kind.value)
        method = kind is NodeKind.FUNCTION and "." in frame.qualname
        place = seen[frame.qualname] = len(self._symbols)
        self._symbols.append(
            Symbol(
                qualname=frame.qualname,
                kind=kind,
                detail="method" if method and detail == "function" else detail,
                line=node.start_point.row + 1,
                end_line=node.end_point.row + 1,
                is_exported=not inside and language.is_exported(node, name, self._text),
                is_test=is_test,
                signature=self._signature(node),
            )
        )
        return place

    def _signature(self, node: Node) -> str:
        end = self._source.find(b"\n", node.start_byte, node.start_byte + _LONGEST_SIGNATURE)
        stop = end if end >= 0 else min(node.end_byte, node.start_byte + _LONGEST_SIGNATURE)
        line = self._source[node.start_byte : min(stop, node.end_byte)]
        return line.decode("utf-8", "replace").rstrip(" {:\r").replace("\ufffd", "")

    def _around(self, position: int) -> _Frame | None:
        """The innermost definition that holds a position."""
        place = bisect_right(self._starts, position) - 1
        while place >= 0 and self._frames[place].end <= position:
            place = self._frames[place].parent
        return self._frames[place] if place >= 0 else None

    def _scope(self, position: int) -> str:
        frame = self._around(position)
        return frame.qualname if frame is not None else ""

    # -- Imports, bases, exports ------------------------------------------------------------------

    def _imports(self) -> list[Import]:
        found: list[Import] = []
        for node in self._in_order("import"):
            found.extend(self._language.read_import(node, self._text))
        return [*found, *self._language.implicit_imports]

    def _bases(self) -> list[Base]:
        found: list[Base] = []
        for capture in ("extends", "implements"):
            for node in self._in_order(capture):
                owner, name = self._scope(node.start_byte), self._dotted(node)
                if owner and name and not name.startswith(UNKNOWN):
                    found.append(Base(owner, name, capture == "implements"))
        return found

    def _see_kinds_again(self, bases: Sequence[Base]) -> None:
        decide = self._language.kind_of
        if decide is None:
            return
        by_owner: dict[str, list[str]] = {}
        for base in bases:
            by_owner.setdefault(base.owner, []).append(base.name)
        for place, symbol in enumerate(self._symbols):
            if symbol.qualname in by_owner:
                kind = decide(symbol.kind, tuple(by_owner[symbol.qualname]))
                self._symbols[place] = symbol._replace(kind=kind)

    def _exports(self) -> list[tuple[str, str]]:
        read = self._language.read_exports
        if read is None:
            return []
        return [pair for node in self._in_order("export") for pair in read(node, self._text)]

    # -- Calls and variables ----------------------------------------------------------------------

    def _calls(self) -> list[Call]:
        """Each callee once for each caller, where it is called first."""
        found: dict[tuple[int, str], int] = {}
        for node in self._captures.get("call", ()):
            callee = self._dotted(node)
            if callee:
                frame = self._around(node.start_byte)
                spot = (frame.place if frame is not None else -1, callee)
                line = node.start_point.row + 1
                found[spot] = min(found.get(spot, line), line)
        return sorted(Call(caller, callee, line) for (caller, callee), line in found.items())

    def _bindings(
        self, names: Names, callees: Iterable[str]
    ) -> tuple[list[Binding], list[Binding]]:
        """Variables that a call starts from, or that hide a name; and the fields of classes."""
        heads = {callee.partition(".")[0] for callee in callees}
        taken = heads & (names.symbols.keys() | names.imported.keys())
        locals_ = [b for b in self._hidden if b.name in taken]
        attributes: list[Binding] = []
        for node in self._in_order("bind"):
            name, type_ = self._variable(node)
            scope = self._scope(node.start_byte)
            head, _, attribute = name.partition(".")
            if attribute and head in self._language.self_names and type_:
                attributes.append(Binding(scope.rpartition(".")[0], attribute, type_))
            elif name and "." not in name:
                if names.symbols.get(scope) in (NodeKind.CLASS, NodeKind.INTERFACE):
                    attributes.append(Binding(scope, name, type_))
                elif name in heads and (scope or type_):
                    locals_.append(Binding(scope, name, type_))
        for node in self._in_order("local"):
            scope = self._scope(node.start_byte)
            if scope and (name := self._text(node)) in taken:
                locals_.append(Binding(scope, name, ""))
        return locals_, [a for a in attributes if a.type and a.scope]

    def _variable(self, node: Node) -> tuple[str, str]:
        """The name of a variable and its type as written, or what is called to make it."""
        name_field, type_fields = self._language.binding_fields.get(node.type, ("name", "type"))
        holder = _child(node, name_field)
        if holder is None:
            return "", ""
        holder = holder.child_by_field_name("name") or holder
        for type_field in type_fields.split("|"):
            said = node.child_by_field_name(type_field)
            if said is not None:
                return dotted(self._text(holder), self._language), self._type(said)
        return dotted(self._text(holder), self._language), ""

    def _type(self, node: Node) -> str:
        if node.type in _CALLS:
            for name in _CALLED:
                called = node.child_by_field_name(name)
                if called is not None:
                    node = called
                    break
        text = self._source[node.start_byte : min(node.end_byte, node.start_byte + 200)]
        found = _TYPE.search(text.decode("utf-8", "replace"))
        return dotted(found.group(), self._language) if found else ""


def _child(node: Node, name: str) -> Node | None:
    """A child by its field, or by the number it has, where -1 is the last."""
    if name.lstrip("-").isdigit():
        place = int(name)
        return node.named_child(place if place >= 0 else node.named_child_count + place)
    return node.child_by_field_name(name)


def dotted(text: str, language: Language) -> str:
    """A written name as identifiers with dots; `?.last` when its beginning is no name."""
    if text.isidentifier():
        return text
    if _PLAIN.fullmatch(text) and not text.endswith(".new"):  # Ruby's way to call a class
        return text
    for pattern, replacement in language.rewrites:
        text = pattern.sub(replacement, text)
    if _DOTTED.fullmatch(text):
        return text
    last = _LAST.search(text)
    return f"{UNKNOWN}.{last.group(1)}" if last else ""
