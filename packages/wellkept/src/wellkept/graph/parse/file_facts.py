"""Facts extracted from one file, without knowledge of other files.

Facts depend on the content of one file only, so a change elsewhere never invalidates them.
`ExportedNames` is the part that edges of other files can depend on. It has no line numbers, so
edits that only move code or change function bodies leave it equal."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from wellkept.core.graph import NodeKind

_KINDS = {kind.value: kind for kind in NodeKind}
STAR = "*"
UNKNOWN = "?"
"""Start of a dotted name whose receiver is an expression: `?.close`."""
HANDED = "&"
"""Start of a callee that is not called here, but handed on to be called: `&self.show`."""
RETURNED = "()"
"""Instead of a field name: the return type of a function."""


class Symbol(NamedTuple):
    """A definition. `detail` is the language's own term."""

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

    `form` is the syntax used, such as "from", "module", "include" or "export".
    """

    module: str
    names: tuple[tuple[str, str], ...] = ()
    alias: str = ""
    form: str = "module"
    line: int = 0


class CallFact(NamedTuple):
    """A call, or a name that is handed on where it may stand for a function (`HANDED`). `caller` is
    an index into the symbols; -1 means the file's top level."""

    caller: int
    callee: str
    line: int


class Base(NamedTuple):
    """A class and one of its declared bases."""

    owner: str
    name: str
    implements: bool


class Binding(NamedTuple):
    """A variable in a scope (qualified name, "" for the file) and its type as written.

    An empty type means that the name is bound there to something unknown.
    """

    scope: str
    name: str
    type: str


@dataclass(frozen=True)
class ExportedNames:
    """The names of a file that other files can see."""

    package: str = ""
    symbols: dict[str, NodeKind] = field(default_factory=dict[str, NodeKind])
    imports: tuple[Import, ...] = ()
    bases: tuple[Base, ...] = ()
    attributes: tuple[Binding, ...] = ()
    """Types of fields, function results and file variables. The scope is the class, the function,
    or "" for the file."""
    exports: tuple[tuple[str, str], ...] = ()
    """Explicit exports as (exported name, local name)."""

    @cached_property
    def bases_of(self) -> dict[str, list[str]]:
        """Names of the bases by class."""
        found: dict[str, list[str]] = {}
        for base in self.bases:
            found.setdefault(base.owner, []).append(base.name)
        return found

    @cached_property
    def attribute_types(self) -> dict[tuple[str, str], str]:
        """Type of a field by class and name; the first one counts."""
        found: dict[tuple[str, str], str] = {}
        for owner, name, type_ in self.attributes:
            found.setdefault((owner, name), type_)
        return found

    def defines(self, name: str) -> bool:
        """Whether a symbol, or a variable of known type, has that name."""
        return name in self.symbols or ("", name) in self.attribute_types

    @cached_property
    def visible_names(self) -> frozenset[str]:
        """All names that a file may export: its own, and imported ones."""
        own = {qualname for qualname in self.symbols if "." not in qualname}
        own |= {name for scope, name, _ in self.attributes if not scope}
        passed = {here for item in self.imports for _, here in item.names if here}
        return frozenset(own | passed | self.imported.keys() | self.exported.keys())

    @cached_property
    def imported(self) -> dict[str, int]:
        """Index of the import that binds each name; the last one counts."""
        found: dict[str, int] = {}
        for index, item in enumerate(self.imports):
            if item.form == "export":
                continue
            if item.alias:
                found[item.alias] = index
            found.update((here, index) for _, here in item.names if here)
        return found

    @cached_property
    def simple_names(self) -> frozenset[str]:
        """Unqualified names of all symbols."""
        return frozenset(qualname.rpartition(".")[2] for qualname in self.symbols)

    @cached_property
    def exported(self) -> dict[str, str]:
        """Local name by exported name."""
        return dict(self.exports)

    @cached_property
    def methods_of(self) -> dict[str, list[str]]:
        """Method names by class."""
        found: dict[str, list[str]] = {}
        for name, owners in self.members.items():
            for owner in owners:
                found.setdefault(owner, []).append(name)
        return found

    @cached_property
    def members(self) -> dict[str, list[str]]:
        """Classes of this file by method name."""
        found: dict[str, list[str]] = {}
        for qualname, kind in self.symbols.items():
            owner, _, name = qualname.rpartition(".")
            if owner and kind is NodeKind.FUNCTION:
                found.setdefault(name, []).append(owner)
        return found


@dataclass(frozen=True, slots=True)
class FileFacts:
    """All facts of a file."""

    names: ExportedNames
    symbols: tuple[Symbol, ...] = ()
    calls: tuple[CallFact, ...] = ()
    bindings: tuple[Binding, ...] = ()
    import_lines: tuple[int, ...] = ()
    has_errors: bool = False


def names_to_bytes(names: ExportedNames) -> bytes:
    """Serialise names; equal bytes mean equal names."""
    imports = [item[:4] for item in names.imports]  # without their lines
    symbols = [*names.symbols.items()]
    return _packed((names.package, symbols, imports, names.bases, names.attributes, names.exports))


def names_from_bytes(data: bytes) -> ExportedNames:
    """Deserialise names."""
    package, symbols, imports, bases, attributes, exports = _unpacked(data)
    return ExportedNames(
        package,
        {qualname: _KINDS[kind] for qualname, kind in symbols},
        tuple(
            Import(module, tuple((a, b) for a, b in pairs), alias, form)
            for module, pairs, alias, form in imports
        ),
        tuple(map(Base._make, bases)),
        tuple(map(Binding._make, attributes)),
        tuple((outer, inner) for outer, inner in exports),
    )


def uses_to_bytes(facts: FileFacts) -> bytes:
    """Serialise what only the file's own edges need. Names are stored separately."""
    callers = [symbol.qualname for symbol in facts.symbols]
    return _packed((callers, facts.calls, facts.bindings, facts.import_lines))


@dataclass(frozen=True, slots=True)
class FileUses:
    """The facts that only the file's own edges need."""

    callers: tuple[str, ...]
    calls: tuple[CallFact, ...]
    bindings: dict[tuple[str, str], str]
    import_lines: tuple[int, ...]


def uses_from_bytes(data: bytes) -> FileUses:
    """Deserialise uses."""
    callers, calls, bindings, lines = _unpacked(data)
    types: dict[tuple[str, str], str] = {}
    for scope, name, type_ in bindings:
        before = types.setdefault((scope, name), type_)
        if before != type_:  # keep all: they may resolve to the same class
            types[(scope, name)] = f"{before}|{type_}" if before and type_ else ""
    return FileUses(tuple(callers), tuple(map(CallFact._make, calls)), types, tuple(lines))


def _packed(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


def _unpacked(data: bytes) -> Any:  # shaped by `_packed`
    return json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))
