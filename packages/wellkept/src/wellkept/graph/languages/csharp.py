"""C#: namespaces, using directives, partial classes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from posixpath import dirname
from typing import TYPE_CHECKING

from wellkept.graph.languages.preprocessing import without_conditionals
from wellkept.graph.parse.file_facts import STAR, ExportedNames, Import
from wellkept.graph.parse.language import (
    NOTHING,
    ImportTarget,
    Language,
    ResolvedImport,
    Text,
    package_target,
)
from wellkept.graph.parse.resolver_context import PackageResolver
from wellkept.graph.parse.tree_index import contains

if TYPE_CHECKING:
    from tree_sitter import Node

    from wellkept.graph.parse.resolver_context import ResolverContext

_CSHARP = "csharp"
_PACKAGES = PackageResolver(_CSHARP)
_USING = re.compile(r"(global\s+)?using\s+(static\s+)?(?:(\w+)\s*=\s*)?([\w.]+)")
_GLOBAL_FILES = ("GlobalUsings.cs", "GlobalUsing.cs", "Usings.cs")
"""Files that by convention hold the global usings of a project."""
_FEW, _BY_NAMESPACE = 3, 0.3
"""A using directive names a namespace. If that has many files, the link to each is uncertain."""
_NAMESPACES = ("namespace_declaration", "file_scoped_namespace_declaration")


def read_import(node: Node, text: Text) -> Iterable[Import]:
    """`using A.B;`, `using static A.B.C;`, `using X = A.B.C;`, `global using A.B;`."""
    found = _USING.match(text(node))
    if found is None:
        return
    line = node.start_point.row + 1
    for_all, static, alias, written = found.groups()
    if alias:
        module, _, name = written.rpartition(".")
        yield Import(module, ((name, alias),), form="from", line=line)
    else:
        form = "static" if static else "global" if for_all else "from"
        yield Import(written, ((STAR, ""),), form=form, line=line)


def resolve_import(item: Import, _: str, context: ResolverContext) -> ResolvedImport:
    """Every file of a namespace, or the file of one class."""
    name, here = item.names[0]
    if name == STAR and item.form != "static":
        files = context.package(_CSHARP, item.module)
        sure = 1.0 if len(files) <= _FEW else _BY_NAMESPACE
        stars = (package_target(_CSHARP, item.module),)
        return ResolvedImport(files, stars=stars, confidence=sure) if files else NOTHING
    if name == STAR:
        package, _, name = item.module.rpartition(".")
        here = ""
    else:
        package = item.module
    path = _PACKAGES.defining_file(package, name, context)
    return (
        NOTHING if path is None else ResolvedImport((path,), ((here, (ImportTarget(path, name),)),))
    )


def package_of(root: Node, text: Text) -> str:
    """The first namespace of a file."""
    for child in root.children:
        if child.type in _NAMESPACES:
            name = child.child_by_field_name("name")
            return text(name) if name is not None else ""
    return ""


def implicit_scope(
    path: str, names: ExportedNames, context: ResolverContext
) -> tuple[ImportTarget, ...]:
    """A file sees its own namespace, the enclosing ones, and global usings."""
    parts = names.package.split(".") if names.package else []
    own = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    folder = dirname(path)
    location = ("global usings", folder)
    used = context.cached(location, lambda: _global_usings(folder, context), ())
    return tuple(package_target(_CSHARP, name) for name in dict.fromkeys((*own, *used)))


def _global_usings(folder: str, context: ResolverContext) -> tuple[str, ...]:
    """The global usings that apply to a folder."""
    named = (path for name in _GLOBAL_FILES for path in context.files_named(name))
    files = [context.names(path) for path in named if contains(dirname(path), f"{folder}/")]
    imports = (item for names in files if names is not None for item in names.imports)
    return tuple(item.module for item in imports if item.form == "global")


def is_exported(node: Node, _: str, text: Text) -> bool:
    """Everything that is not private."""
    words = {text(child) for child in node.children if child.type == "modifier"}
    return "private" not in words


LANGUAGES = (
    Language(
        name=_CSHARP,
        grammar=("tree_sitter_c_sharp", "language"),
        query="csharp.scm",
        read_import=read_import,
        resolve_import=resolve_import,
        package_of=package_of,
        is_exported=is_exported,
        simplified=without_conditionals,
        implicit_scope=implicit_scope,
        package_files=_PACKAGES.package_files,
        companion_files=_PACKAGES.companion_files,
        details={"method_declaration": "method", "struct_declaration": "struct",
                 "constructor_declaration": "constructor", "record_declaration": "record"},
        binding_fields={
            "variable_declaration": ("-1", "type"),
            "parameter": ("name", "type"),
            "property_declaration": ("name", "type"),
        },
        rewrites=((re.compile(r"\s+"), ""), (re.compile(r"<[^()]*>"), ""),
                  (re.compile(r"\?\.|!\."), ".")),
        return_field="returns",
        type_wrappers=frozenset({"Task", "ValueTask", "Nullable", "ref", "readonly"}),
        self_names=frozenset({"this"}),
        super_names=frozenset({"base"}),
        implicit_self=True,
        tested_stems=(re.compile(r"^(.+?)Tests?$"),),
    ),
)  # fmt: skip
