"""The description of a programming language as one record.

A language is a grammar, a query for definitions, imports and calls, some tables, and two functions:
one reads an import statement, one resolves it to files. The modules in `languages` define these
records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from wellkept.core.languages import BY_NAME, SourceLanguage
from wellkept.core.records import field, record

if TYPE_CHECKING:
    import tree_sitter

    from wellkept.core.graph import NodeKind
    from wellkept.graph.parse.file_facts import ExportedNames, Import
    from wellkept.graph.parse.resolver_context import ResolverContext

Text = Callable[["tree_sitter.Node"], str]
"""The source text of a syntax node."""


class ImportTarget(NamedTuple):
    """The target of a name: a file, a symbol in it (`qualname`), or a package with the path
    `language:name/`."""

    path: str
    qualname: str = ""

    @property
    def is_package(self) -> bool:
        """Whether it is a package, not a file."""
        return self.path.endswith("/")

    @property
    def package(self) -> str:
        """The name of the package."""
        return self.path.partition(":")[2][:-1]


def package_target(language: str, name: str) -> ImportTarget:
    """A package of a language."""
    return ImportTarget(f"{language}:{name}/")


class ResolvedImport(NamedTuple):
    """A resolved import: imported files, bound names with their targets, and star-imported
    targets."""

    files: tuple[str, ...] = ()
    binds: tuple[tuple[str, tuple[ImportTarget, ...]], ...] = ()
    stars: tuple[ImportTarget, ...] = ()
    confidence: float = 1.0


NOTHING = ResolvedImport()
BY_NODE_KINDS = ""
"""Instead of a query name: find definitions by the node kinds of the grammar."""


def _no_package(_: tree_sitter.Node, __: Text) -> str:
    return ""


def _always(_: tree_sitter.Node, __: str, ___: Text) -> bool:
    return True


def _field_name(node: tree_sitter.Node, text: Text) -> str:
    child = node.child_by_field_name("name")
    return "" if child is None else text(child)


@record(kw_only=True)
class Language:
    """One language."""

    name: str
    """As in `core.languages`, which knows its extensions and tests."""
    grammar: tuple[str, str]
    """Python module of the grammar, and the function that returns it."""
    query: str
    """File names in `queries`, separated by spaces. A capture is named after what it finds."""
    read_import: Callable[[tree_sitter.Node, Text], Iterable[Import]]
    resolve_import: Callable[[Import, str, ResolverContext], ResolvedImport]
    name_of: Callable[[tree_sitter.Node, Text], str] = _field_name
    details: Mapping[str, str] = field(default_factory=dict[str, str])
    """The language's term for a definition, by node type."""
    binding_fields: Mapping[str, tuple[str, str]] = field(
        default_factory=dict[str, tuple[str, str]]
    )
    """Fields of a variable and of its type or value, by node type. A number selects a child without
    a field."""
    return_field: str = ""
    """The field of a function's return type."""
    type_wrappers: frozenset[str] = frozenset()
    """Type names to look through, such as `Optional`."""
    promotion_modifiers: frozenset[str] = frozenset()
    """Node types of modifiers that make a constructor parameter a field."""
    is_exported: Callable[[tree_sitter.Node, str, Text], bool] = _always
    package_of: Callable[[tree_sitter.Node, Text], str] = _no_package
    read_exports: Callable[[tree_sitter.Node, Text], Iterable[tuple[str, str]]] | None = None
    kind_of: Callable[[NodeKind, tuple[str, ...]], NodeKind] | None = None
    """Refines a symbol's kind when its bases are known."""
    call_fields: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Fields of a call's receiver and name, if no single node spans both."""
    stray_imports: Callable[[bytes], Iterable[Import]] | None = None
    """Finds imports in the text of a file with syntax errors, where the grammar misses them."""
    implicit_imports: tuple[Import, ...] = ()
    """Names that every file has, such as `crate`."""
    autoload: Callable[[str, str, ResolverContext], tuple[ImportTarget, ...]] | None = None
    """Resolves an undefined name by convention."""
    skips_namespaces: bool = False
    """Whether unresolved qualifiers are skipped, like C++ namespaces."""
    rewrites: tuple[tuple[re.Pattern[str], str], ...] = ()
    """Replacements that turn a written name into a dotted name."""
    self_names: frozenset[str] = frozenset()
    super_names: frozenset[str] = frozenset()
    outer_names: frozenset[str] = frozenset()
    """Words for the enclosing module."""
    dialect: Callable[[bytes], Language | None] | None = None
    """Detects by content that a file is in another language."""
    embedded: Callable[[bytes], bytes] | None = None
    """Extracts the part of a file in the language. Keeps byte positions; the rest is blank."""
    simplified: Callable[[bytes], bytes] | None = None
    """Simplifies the text of a file with syntax errors. Keeps byte positions."""
    implicit_self: bool = False
    """Whether a bare name may be a member of the enclosing class."""
    submodule: Callable[[ImportTarget, str, ResolverContext], ImportTarget | None] | None = None
    """Resolves a name below a module or package that is not a symbol."""
    implicit_scope: (
        Callable[[str, ExportedNames, ResolverContext], tuple[ImportTarget, ...]] | None
    ) = None
    """Files and packages that are visible without an import."""
    package_files: Callable[[ImportTarget, ResolverContext], tuple[str, ...]] | None = None
    """The files of a package."""
    companion_files: Callable[[str, ResolverContext], tuple[str, ...]] | None = None
    """Other files that may define members of a file's classes."""
    test_name: re.Pattern[str] | None = None
    tested_stems: tuple[re.Pattern[str], ...] = ()
    """Patterns of test file stems; the first group is the stem of the tested file."""

    @property
    def facts(self) -> SourceLanguage:
        """What everybody knows of it."""
        return BY_NAME[self.name]
