"""PHP: namespaces, use declarations, PSR-4 folders, require."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from posixpath import dirname, normpath
from typing import TYPE_CHECKING, Any, cast

from wellkept.graph.parse.file_facts import STAR, Import
from wellkept.graph.parse.language import NOTHING, ImportTarget, Language, ResolvedImport, Text
from wellkept.graph.parse.resolver_context import PackageResolver
from wellkept.graph.parse.tree_index import join

if TYPE_CHECKING:
    from tree_sitter import Node

    from wellkept.graph.parse.resolver_context import ResolverContext

_PHP = "php"
_PACKAGES = PackageResolver(_PHP)
_USE = re.compile(r"^use\s+(function\s+|const\s+)?(.*?);?$", re.DOTALL)
_GROUP = re.compile(r"^(.*?)\\?\{(.*)\}$", re.DOTALL)
_STRING = re.compile(r"""["']([^"']+)["']""")


def read_import(node: Node, text: Text) -> Iterable[Import]:
    """`use A\\B;`, `use A\\{B, C as D};`, `require "a.php";`."""
    line = node.start_point.row + 1
    written = " ".join(text(node).split())
    if node.type != "namespace_use_declaration":
        found = _STRING.search(written)
        if found is not None:
            yield Import(found.group(1).lstrip("/"), ((STAR, ""),), form="include", line=line)
        return
    use = _USE.match(written)
    if use is None:
        return
    group = _GROUP.match(use.group(2))
    head, parts = (group.group(1), group.group(2)) if group else ("", use.group(2))
    for part in parts.split(","):
        full, _, alias = part.strip().partition(" as ")
        dotted = "\\".join(filter(None, (head, full.strip()))).strip("\\").replace("\\", ".")
        module, _, name = dotted.rpartition(".")
        if name:
            yield Import(module, ((name, alias.strip() or name),), form="from", line=line)


def resolve_import(item: Import, path: str, context: ResolverContext) -> ResolvedImport:
    """The file that defines a class, by namespace, else by the folders of composer.json."""
    name, here = item.names[0]
    if item.form == "include":
        locations = (normpath(join(dirname(path), item.module)), item.module)
        file = next((location for location in locations if context.has(location)), None)
        return NOTHING if file is None else ResolvedImport((file,), stars=(ImportTarget(file),))
    home = _PACKAGES.defining_file(item.module, name, context)
    if home is None:
        home = next((p for p in _by_folders(f"{item.module}.{name}", context)
                     if context.has(p)), None)  # fmt: skip
    return (
        NOTHING if home is None else ResolvedImport((home,), ((here, (ImportTarget(home, name),)),))
    )


def _by_folders(full: str, context: ResolverContext) -> Iterable[str]:
    """Possible files of a class by PSR-4."""
    for manifest in context.tree_index.basenames.get("composer.json", ()):
        document = context.document(manifest, _folders)
        for prefix, folder in cast("dict[str, str]", document or {}).items():
            if full.startswith(prefix):
                below = full[len(prefix) :].replace(".", "/")
                yield normpath(join(dirname(manifest), f"{folder}/{below}.php"))


def _folders(data: bytes) -> object:
    try:
        document = cast("dict[str, Any]", json.loads(data))
    except ValueError:
        return None
    found: dict[str, str] = {}
    for section in ("autoload", "autoload-dev"):
        for prefix, folders in document.get(section, {}).get("psr-4", {}).items():
            listed = cast("list[object]", folders if isinstance(folders, list) else [folders])
            first = listed[0] if listed else None
            if isinstance(first, str):
                found[str(prefix).replace("\\", ".")] = first.rstrip("/")
    return found


def package_of(root: Node, text: Text) -> str:
    """The namespace of a file, with dots."""
    for child in root.children:
        name = child.child_by_field_name("name") if child.type == "namespace_definition" else None
        if name is not None:
            return text(name).replace("\\", ".")
    return ""


LANGUAGES = (
    Language(
        name=_PHP,
        grammar=("tree_sitter_php", "language_php"),
        query="php.scm",
        read_import=read_import,
        resolve_import=resolve_import,
        package_of=package_of,
        implicit_scope=_PACKAGES.implicit_scope,
        package_files=_PACKAGES.package_files,
        details={"method_declaration": "method", "trait_declaration": "trait",
                 "enum_declaration": "enum"},
        call_fields={
            "member_call_expression": ("object", "name"),
            "nullsafe_member_call_expression": ("object", "name"),
            "scoped_call_expression": ("scope", "name"),
        },
        binding_fields={
            "simple_parameter": ("name", "type"),
            "property_promotion_parameter": ("name", "type"),
            "property_declaration": ("-1", "type"),
            "assignment_expression": ("left", "right"),
        },
        rewrites=((re.compile(r"\s+"), ""), (re.compile(r"^\\"), ""), (re.compile(r"\$"), ""),
                  (re.compile(r"->|\?->|::|\\"), ".")),
        return_field="return_type",
        promotion_modifiers=frozenset({"visibility_modifier", "readonly_modifier"}),
        self_names=frozenset({"this", "self", "static"}),
        super_names=frozenset({"parent"}),
        tested_stems=(re.compile(r"^(.+)Test$"),),
    ),
)  # fmt: skip
