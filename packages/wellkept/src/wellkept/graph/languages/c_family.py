"""C and C++: includes, headers and their sources, members defined out of line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from posixpath import basename, dirname, normpath
from typing import TYPE_CHECKING, Any

from wellkept.graph.languages.preprocessing import without_macros
from wellkept.graph.parse.file_facts import STAR, Import
from wellkept.graph.parse.language import NOTHING, ImportTarget, Language, ResolvedImport, Text
from wellkept.graph.parse.resolver_context import stem
from wellkept.graph.parse.tree_index import join

if TYPE_CHECKING:
    from tree_sitter import Node

    from wellkept.graph.parse.resolver_context import ResolverContext

_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".m", ".mm")
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".inl")
_NAMED = ("identifier", "field_identifier", "qualified_identifier", "type_identifier",
          "destructor_name", "operator_name", "operator_cast")  # fmt: skip
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*("[^"\n]+"|<[^>\n]+>)', re.MULTILINE)
_TESTS = frozenset({"TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"})
"""Macros that define a test; their arguments name the suite and the test."""
_ARGUMENTS = re.compile(r"\w+\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")


def read_import(node: Node, text: Text) -> Iterable[Import]:
    """`#include "a.h"` and `#include <a.h>`."""
    path = node.child_by_field_name("path")
    if path is not None and path.type in ("string_literal", "system_lib_string"):
        yield _included(text(path), node.start_point.row + 1)


def _included(written: str, line: int) -> Import:
    form = "system" if written.startswith("<") else "include"
    return Import(written.strip('"<>'), ((STAR, ""),), form=form, line=line)


def stray_imports(source: bytes) -> Iterable[Import]:
    """Includes anywhere in the text, even inside an array or enum."""
    line, start = 1, 0
    for found in _INCLUDE.finditer(source):
        line, start = line + source.count(b"\n", start, found.start(1)), found.start(1)
        yield _included(found[1].decode("utf-8", "replace"), line)


def resolve_import(item: Import, path: str, context: ResolverContext) -> ResolvedImport:
    """The header, by folder or by path suffix, and the sources that implement it."""
    header = _header(item, path, context)
    if header is None:
        return NOTHING
    sources = [p for p in companions(header, context) if p != path]
    return ResolvedImport((header,), stars=(ImportTarget(header), *map(ImportTarget, sources)))


def _header(item: Import, path: str, context: ResolverContext) -> str | None:
    beside = normpath(join(dirname(path), item.module))
    if item.form == "include" and context.has(beside):
        return beside
    ends = [p for p in context.files_named(basename(item.module))
            if p == item.module or p.endswith(f"/{item.module}")]  # fmt: skip
    if not ends or (item.form == "system" and "/" not in item.module and len(ends) > 1):
        return None
    return max(ends, key=lambda p: (_shared(p, path), -len(p), p))


def _shared(path: str, other: str) -> int:
    mine, theirs = path.split("/"), other.split("/")
    return next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), 0)


def companions(path: str, context: ResolverContext) -> tuple[str, ...]:
    """Sources with the name of a header, or headers with the name of a source."""
    endings = _SOURCES if path.endswith(_HEADERS) else _HEADERS
    found = [p for ending in endings for p in context.files_named(f"{stem(path)}{ending}")]
    near = max((_shared(p, path) for p in found), default=0)
    return tuple(p for p in found if _shared(p, path) == near)


def name_of(node: Node, text: Text) -> str:
    """The name inside a declarator; `Class::method` as `Class.method`."""
    named = node.child_by_field_name("name")
    if named is not None:
        return text(named).partition("<")[0].rstrip().rpartition("::")[2]
    inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type not in _NAMED:
        inner = inner.child_by_field_name("declarator") or next(
            (c for c in inner.named_children if c.type in _NAMED or c.type.endswith("declarator")),
            None,
        )
    if inner is None:
        return ""
    written = text(inner)
    if written in _TESTS and node.type == "function_definition":
        given = _ARGUMENTS.match(text(node))
        return f"{given[1]}.{given[2]}" if given is not None else written
    parts = re.sub(r"<[^()]*>", "", written.partition("(")[0] or written).split("::")
    return ".".join(part.strip() for part in parts[-2:])


def is_exported(node: Node, _: str, text: Text) -> bool:
    """`static` keeps a function in its file."""
    return not any(text(c) == "static" for c in node.children if c.type.startswith("storage"))


_SHARED: dict[str, Any] = {
    "read_import": read_import,
    "resolve_import": resolve_import,
    "stray_imports": stray_imports,
    "name_of": name_of,
    "is_exported": is_exported,
    "companion_files": companions,
    "simplified": without_macros,
    "skips_namespaces": True,
    "details": {"struct_specifier": "struct", "enum_specifier": "enum",
                "union_specifier": "union"},
    "binding_fields": {
        "declaration": ("declarator", "type"),
        "field_declaration": ("declarator", "type"),
        "parameter_declaration": ("declarator", "type"),
    },
    "rewrites": ((re.compile(r"\s+"), ""), (re.compile(r"<[^()]*>"), ""),
                 (re.compile(r"->|::"), "."), (re.compile(r"^[*&.]+|=.*$|[*&]"), "")),
    "return_field": "type",
    "type_wrappers": frozenset({"const", "struct", "unique_ptr", "shared_ptr", "optional"}),
    "self_names": frozenset({"this"}),
    "implicit_self": True,
    "tested_stems": (re.compile(r"^test_(.+)$"), re.compile(r"^(.+)[_-](?:unit)?tests?$")),
}  # fmt: skip

_CPP = Language(name="cpp", grammar=("tree_sitter_cpp", "language"), query="cpp.scm", **_SHARED)
_ONLY_IN_CPP = re.compile(
    rb"^[ \t]*(?:(?:inline )?namespace\b[^;=]*\{|class\s+\w[^;(]*\{|template\s*<|using\s+\w|"
    rb"(?:public|private|protected)\s*:)",
    re.MULTILINE,
)


def in_cpp(source: bytes) -> Language | None:
    """C++ if a header has syntax that C lacks."""
    return _CPP if _ONLY_IN_CPP.search(source) else None


LANGUAGES = (
    Language(
        name="c", grammar=("tree_sitter_c", "language"), query="c.scm", dialect=in_cpp, **_SHARED
    ),
    _CPP,
)
