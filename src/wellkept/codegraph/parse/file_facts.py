"""What a file says by itself, before anything is known of the other files.

Facts depend on the content of one file only, so they are kept by content hash and never go wrong
by a change elsewhere. `ExportedNames` is the part that other files' edges can depend on: it has no
line numbers, so an edit that moves things or changes only bodies leaves it equal.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from wellkept.core.graph import NodeKind

STAR = "*"
UNKNOWN = "?"
"""The head of a dotted name whose receiver is an expression: `?.close`."""


RETURNED = "()"
"""In place of a field's name: the type of what a function returns."""


class Symbol(NamedTuple):
    """A definition. `detail` is what the language calls it."""

    qualname: str
    kind: NodeKind
    detail: str
    line: int
    end_line: int
    is_exported: bool
    is_test: bool
    signature: str


class Import(NamedTuple):
    """One import as written. `names` are (name there, name here); `alias` names the module here.

    `form` tells apart what a language writes differently: "from", "module", "include", "export".
    """

    module: str
    names: tuple[tuple[str, str], ...] = ()
    alias: str = ""
    form: str = "module"
    line: int = 0


class CallFact(NamedTuple):
    """Somebody calls something: the place of the caller among the symbols (-1: the file)."""

    caller: int
    callee: str
    line: int


class Base(NamedTuple):
    """A class and what it says to extend or implement."""

    owner: str
    name: str
    implements: bool


class Binding(NamedTuple):
    """A variable in a scope (a qualified name, "" for the file) and its type as written.

    An empty type means that nothing is known but that the name is taken there.
    """

    scope: str
    name: str
    type: str


@dataclass(frozen=True)
class ExportedNames:
    """What other files can see of a file."""

    package: str = ""
    symbols: dict[str, NodeKind] = field(default_factory=dict[str, NodeKind])
    imports: tuple[Import, ...] = ()
    bases: tuple[Base, ...] = ()
    attributes: tuple[Binding, ...] = ()
    """Types of fields, of what functions return, and of variables of the file: the scope is the
    class, the function, or "" for the file."""
    exports: tuple[tuple[str, str], ...] = ()
    """(name outside, name inside) where a file says itself what it gives away."""

    @cached_property
    def bases_of(self) -> dict[str, list[str]]:
        """Names of the bases by class."""
        found: dict[str, list[str]] = {}
        for base in self.bases:
            found.setdefault(base.owner, []).append(base.name)
        return found

    @cached_property
    def attribute_types(self) -> dict[tuple[str, str], str]:
        """Type of a field by class and name; the first that is said counts."""
        found: dict[tuple[str, str], str] = {}
        for owner, name, type_ in self.attributes:
            found.setdefault((owner, name), type_)
        return found

    def gives(self, name: str) -> bool:
        """Whether a symbol, or a variable whose type is known, has that name."""
        return name in self.symbols or ("", name) in self.attribute_types

    @cached_property
    def heads(self) -> frozenset[str]:
        """Names under which a file may give anything: its own and what it passes on."""
        own = {qualname for qualname in self.symbols if "." not in qualname}
        own |= {name for scope, name, _ in self.attributes if not scope}
        passed = {here for item in self.imports for _, here in item.names if here}
        return frozenset(own | passed | self.imported.keys() | self.exported.keys())

    @cached_property
    def imported(self) -> dict[str, int]:
        """Place of the import that gives a name, by that name; the last one counts."""
        found: dict[str, int] = {}
        for place, item in enumerate(self.imports):
            if item.form == "export":
                continue
            if item.alias:
                found[item.alias] = place
            found.update((here, place) for _, here in item.names if here)
        return found

    @cached_property
    def last_names(self) -> frozenset[str]:
        """The names of all symbols without what they are in."""
        return frozenset(qualname.rpartition(".")[2] for qualname in self.symbols)

    @cached_property
    def exported(self) -> dict[str, str]:
        """Inner name by outer name."""
        return dict(self.exports)

    @cached_property
    def methods_of(self) -> dict[str, list[str]]:
        """Names of methods by class."""
        found: dict[str, list[str]] = {}
        for name, owners in self.members.items():
            for owner in owners:
                found.setdefault(owner, []).append(name)
        return found

    @cached_property
    def members(self) -> dict[str, list[str]]:
        """Names of methods -> the classes of this file that have one."""
        found: dict[str, list[str]] = {}
        for qualname, kind in self.symbols.items():
            owner, _, name = qualname.rpartition(".")
            if owner and kind is NodeKind.FUNCTION:
                found.setdefault(name, []).append(owner)
        return found


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Everything a file says."""

    names: ExportedNames
    symbols: tuple[Symbol, ...] = ()
    calls: tuple[CallFact, ...] = ()
    bindings: tuple[Binding, ...] = ()
    import_lines: tuple[int, ...] = ()
    has_errors: bool = False


def names_to_bytes(names: ExportedNames) -> bytes:
    """The names as they are kept; equal bytes mean equal names."""
    value = [
        names.package,
        [[qualname, kind.value] for qualname, kind in names.symbols.items()],
        [[i.module, i.names, i.alias, i.form] for i in names.imports],
        names.bases,
        names.attributes,
        names.exports,
    ]
    return _packed(value)


def names_from_bytes(data: bytes) -> ExportedNames:
    """The names as they were."""
    package, symbols, imports, bases, attributes, exports = _unpacked(data)
    return ExportedNames(
        package=package,
        symbols={qualname: NodeKind(kind) for qualname, kind in symbols},
        imports=tuple(
            Import(module, tuple((a, b) for a, b in pairs), alias, form)
            for module, pairs, alias, form in imports
        ),
        bases=tuple(Base(*row) for row in bases),
        attributes=tuple(Binding(*row) for row in attributes),
        exports=tuple((outer, inner) for outer, inner in exports),
    )


def uses_to_bytes(facts: FileFacts) -> bytes:
    """What only the file itself needs to draw its edges; the names are kept apart."""
    callers = [symbol.qualname for symbol in facts.symbols]
    return _packed([callers, facts.calls, facts.bindings, facts.import_lines])


@dataclass(frozen=True, slots=True)
class FileUses:
    """The other half of the facts, as the drawing of edges wants it."""

    callers: tuple[str, ...]
    calls: tuple[CallFact, ...]
    bindings: dict[tuple[str, str], str]
    import_lines: tuple[int, ...]


def uses_from_bytes(data: bytes) -> FileUses:
    """The uses as they were."""
    callers, calls, bindings, lines = _unpacked(data)
    types: dict[tuple[str, str], str] = {}
    for scope, name, type_ in bindings:
        before = types.setdefault((scope, name), type_)
        if before != type_:  # several are kept, since they may mean the same; none is unknown
            types[(scope, name)] = f"{before}|{type_}" if before and type_ else ""
    return FileUses(tuple(callers), tuple(CallFact(*row) for row in calls), types, tuple(lines))


def _packed(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


def _unpacked(data: bytes) -> Any:  # shaped by `_packed`
    return json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))
