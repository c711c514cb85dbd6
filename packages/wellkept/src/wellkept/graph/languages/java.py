"""Java: packages, imports of classes and of members, nested classes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from wellkept.graph.parse.file_facts import STAR, Import
from wellkept.graph.parse.language import (
    NOTHING,
    ImportTarget,
    Language,
    ResolvedImport,
    Text,
    package_target,
)
from wellkept.graph.parse.resolver_context import PackageResolver

if TYPE_CHECKING:
    from tree_sitter import Node

    from wellkept.graph.parse.resolver_context import ResolverContext

_JAVA = "java"
_PACKAGES = PackageResolver(_JAVA)
_IMPORT = re.compile(r"import\s+(static\s+)?([\w.]+?)(\.\*)?\s*;")


def read_import(node: Node, text: Text) -> Iterable[Import]:
    """`import a.b.C;`, `import a.b.*;`, `import static a.b.C.m;`."""
    found = _IMPORT.match(text(node))
    if found is None:
        return
    line = node.start_point.row + 1
    form = "static" if found.group(1) else "from"
    if found.group(3):
        yield Import(found.group(2), ((STAR, ""),), form=form, line=line)
    else:
        module, _, name = found.group(2).rpartition(".")
        yield Import(module, ((name, name),), form=form, line=line)


def resolve_import(item: Import, _: str, context: ResolverContext) -> ResolvedImport:
    """The file of a class by its package, or every file of a package."""
    name, here = item.names[0]
    if name == STAR:
        files = context.package(_JAVA, item.module)
        if files:
            return ResolvedImport(files, stars=(package_target(_JAVA, item.module),))
        home = _class_home(item.module, context)
        return NOTHING if home is None else ResolvedImport((home.path,))
    target = _class_home(f"{item.module}.{name}", context)
    return NOTHING if target is None else ResolvedImport((target.path,), ((here, (target,)),))


def _class_home(full: str, context: ResolverContext) -> ImportTarget | None:
    """The class or member of a full name. The package is the longest prefix that is one."""
    parts = full.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        path = _PACKAGES.defining_file(".".join(parts[:cut]), parts[cut], context)
        if path is not None:
            return ImportTarget(path, ".".join(parts[cut:]))
    return None


def package_of(root: Node, text: Text) -> str:
    """The declared package."""
    for child in root.children:
        if child.type == "package_declaration":
            return re.sub(r"^.*?package\s+|[\s;]", "", text(child), count=0)
    return ""


def is_exported(node: Node, _: str, text: Text) -> bool:
    """Everything that is not private."""
    first = node.child(0)
    return first is None or first.type != "modifiers" or "private" not in text(first)


LANGUAGES = (
    Language(
        name=_JAVA,
        grammar=("tree_sitter_java", "language"),
        query="java.scm",
        read_import=read_import,
        resolve_import=resolve_import,
        package_of=package_of,
        is_exported=is_exported,
        implicit_scope=_PACKAGES.implicit_scope,
        package_files=_PACKAGES.package_files,
        details={
            "method_declaration": "method",
            "constructor_declaration": "constructor",
            "enum_declaration": "enum",
            "record_declaration": "record",
        },
        call_fields={"method_invocation": ("object", "name")},
        binding_fields={
            "local_variable_declaration": ("declarator", "type"),
            "field_declaration": ("declarator", "type"),
            "formal_parameter": ("name", "type"),
        },
        rewrites=((re.compile(r"\s+"), ""), (re.compile(r"<[^()]*>"), "")),
        return_field="type",
        self_names=frozenset({"this"}),
        super_names=frozenset({"super"}),
        implicit_self=True,
        tested_stems=(re.compile(r"^(.+?)(?:Tests?|IT)$"), re.compile(r"^Test(.+)$")),
    ),
)
