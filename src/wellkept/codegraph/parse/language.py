"""What is to know about a programming language, as one record each.

A language is a grammar, a query that finds its definitions, imports and calls, a few tables, and
two functions: one reads an import statement, the other finds the files that an import means. The
modules in `languages` hold one such record; nothing else in this package names a language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from wellkept.core.records import field, record

if TYPE_CHECKING:
    import tree_sitter

    from wellkept.codegraph.parse.file_facts import ExportedNames, Import
    from wellkept.codegraph.parse.resolver_context import ResolverContext
    from wellkept.core.graph import NodeKind

Text = Callable[["tree_sitter.Node"], str]
"""The source text of a syntax node."""


class ImportTarget(NamedTuple):
    """Something a name can stand for: a file, a symbol in it (`qualname`), or a package, whose
    path is `language:name/`."""

    path: str
    qualname: str = ""

    @property
    def is_package(self) -> bool:
        """Whether it is no single file."""
        return self.path.endswith("/")

    @property
    def package(self) -> str:
        """The name of the package."""
        return self.path.partition(":")[2][:-1]


def package_target(language: str, name: str) -> ImportTarget:
    """A package of a language."""
    return ImportTarget(f"{language}:{name}/")


class ResolvedImport(NamedTuple):
    """What an import means: files it reaches, names it gives, and files whose every name it
    gives. A target for the name "" is the file itself."""

    files: tuple[str, ...] = ()
    binds: tuple[tuple[str, tuple[ImportTarget, ...]], ...] = ()
    stars: tuple[ImportTarget, ...] = ()
    confidence: float = 1.0


NOTHING = ResolvedImport()
BY_NODE_KINDS = ""
"""In place of a query's name: look for what the grammar itself calls definitions."""


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
    extensions: tuple[str, ...]
    grammar: tuple[str, str]
    """Module of the grammar and the function in it that gives it."""
    query: str
    """Names of files in `queries`, with spaces between; a capture is named after what it finds."""
    read_import: Callable[[tree_sitter.Node, Text], Iterable[Import]]
    find_import: Callable[[Import, str, ResolverContext], ResolvedImport]
    name_of: Callable[[tree_sitter.Node, Text], str] = _field_name
    details: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the language calls a definition, by the type of its syntax node."""
    binding_fields: Mapping[str, tuple[str, str]] = field(
        default_factory=dict[str, tuple[str, str]]
    )
    """Fields that hold the variable and its type or value, by the type of the syntax node; a
    child without a field is given by its number."""
    return_field: str = ""
    """The field of a function that says what it returns."""
    type_wrappers: frozenset[str] = frozenset()
    """Words in a type that stand around the one that matters."""
    promoting: frozenset[str] = frozenset()
    """Types of the nodes that make a parameter a field as well."""
    is_exported: Callable[[tree_sitter.Node, str, Text], bool] = _always
    package_of: Callable[[tree_sitter.Node, Text], str] = _no_package
    read_exports: Callable[[tree_sitter.Node, Text], Iterable[tuple[str, str]]] | None = None
    kind_of: Callable[[NodeKind, tuple[str, ...]], NodeKind] | None = None
    """A kind seen again when the bases of a class are known."""
    call_fields: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Fields that hold the receiver and the name of a call, where no one node spans both."""
    stray_imports: Callable[[bytes], Iterable[Import]] | None = None
    """Imports by the text of a file with errors: they may stand where the grammar has no place for
    them."""
    implicit_imports: tuple[Import, ...] = ()
    """Names that every file has, such as that of its crate."""
    autoload: Callable[[str, str, ResolverContext], tuple[ImportTarget, ...]] | None = None
    """What a name that nothing defines may mean by convention, for a file."""
    skips_namespaces: bool = False
    """Whether a qualifier that means nothing here is passed over, as C++ namespaces are."""
    rewrites: tuple[tuple[re.Pattern[str], str], ...] = ()
    """How a dotted name is brought to identifiers with dots between."""
    self_names: frozenset[str] = frozenset()
    super_names: frozenset[str] = frozenset()
    outer_names: frozenset[str] = frozenset()
    """Words for what is around the module that they stand in."""
    dialect: Callable[[bytes], Language | None] | None = None
    """Another language that a file with such a name may be written in, told by its text."""
    embedded: Callable[[bytes], bytes] | None = None
    """The part of a file that is in the language, every byte in its place, blanks for the rest."""
    simplified: Callable[[bytes], bytes] | None = None
    """The text of a file with errors in an easier form, every byte in its place."""
    implicit_self: bool = False
    """Whether a bare name may mean a member of the enclosing class."""
    submodule: Callable[[ImportTarget, str, ResolverContext], ImportTarget | None] | None = None
    """What a name below a module or a package is when no symbol has it."""
    scope_of: Callable[[str, ExportedNames, ResolverContext], tuple[ImportTarget, ...]] | None = (
        None
    )
    """Files and packages whose names are seen without an import."""
    files_of: Callable[[ImportTarget, ResolverContext], tuple[str, ...]] | None = None
    """The files of a package."""
    spread: Callable[[str, ResolverContext], tuple[str, ...]] | None = None
    """Other files in which the classes of a file may go on."""
    test_path: re.Pattern[str] = re.compile(r"(?:^|/)(?:tests?|spec|__tests__)/")
    test_name: re.Pattern[str] | None = None
    tested_stems: tuple[re.Pattern[str], ...] = ()
    """The first group is the stem of the file that a test file of that name is about."""
