"""Go: modules, packages that are folders, methods with receivers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from posixpath import dirname
from typing import TYPE_CHECKING

from wellkept.graph.parse.file_facts import Import
from wellkept.graph.parse.language import (
    NOTHING,
    ImportTarget,
    Language,
    ResolvedImport,
    Text,
    package_target,
)
from wellkept.graph.parse.tree_index import join

if TYPE_CHECKING:
    from tree_sitter import Node

    from wellkept.graph.parse.file_facts import ExportedNames
    from wellkept.graph.parse.resolver_context import ResolverContext

_GO = "go"
_MODULE = re.compile(rb"^\s*module\s+\"?([^\s\"]+)", re.MULTILINE)
_VERSION = re.compile(r"v\d+")


def read_import(node: Node, text: Text) -> Iterable[Import]:
    """`import "a/b"`, `import x "a/b"`, `import . "a/b"`."""
    path, name = node.child_by_field_name("path"), node.child_by_field_name("name")
    if path is None:
        return
    module = text(path).strip('"`')
    alias = text(name) if name is not None else _last(module)
    line = node.start_point.row + 1
    if alias == ".":
        yield Import(module, (("*", ""),), line=line)
    else:
        yield Import(module, alias="" if alias == "_" else alias, line=line)


def _last(module: str) -> str:
    parts = [part for part in module.split("/") if not _VERSION.fullmatch(part)]
    return parts[-1].removeprefix("go-").replace("-", "_") if parts else module


def resolve_import(item: Import, path: str, context: ResolverContext) -> ResolvedImport:
    """The folder of a package inside one of the modules of the tree."""
    manifests = context.tree_index.basenames.get("go.mod", ())
    for manifest in sorted(manifests, key=lambda m: (not path.startswith(dirname(m)), -len(m), m)):
        module = context.document(manifest, _module_name)
        if not isinstance(module, str):
            continue
        if item.module != module and not item.module.startswith(f"{module}/"):
            continue
        folder = join(dirname(manifest), item.module[len(module) + 1 :]).rstrip("/")
        files = [p for p in context.folder(folder, language=_GO) if not p.endswith("_test.go")]
        if files:
            target = package_target(_GO, folder)
            if item.names:
                return ResolvedImport(tuple(files), stars=(target,))
            return ResolvedImport(tuple(files), ((item.alias, (target,)),) if item.alias else ())
    return NOTHING


def _module_name(data: bytes) -> object:
    found = _MODULE.search(data)
    return found.group(1).decode("utf-8", "replace") if found else None


def name_of(node: Node, text: Text) -> str:
    """The name; for a method, with its receiver's type."""
    name = node.child_by_field_name("name")
    receiver = node.child_by_field_name("receiver")
    own = text(name) if name is not None else ""
    if receiver is None:
        return own
    type_ = re.search(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?\s*\)$", text(receiver))
    return f"{type_.group(1)}.{own}" if type_ else own


def is_exported(_: Node, name: str, __: Text) -> bool:
    """Names with a capital letter are exported."""
    return name.rpartition(".")[2][:1].isupper()


def implicit_scope(path: str, _: ExportedNames, __: ResolverContext) -> tuple[ImportTarget, ...]:
    """A file sees its own folder."""
    return (package_target(_GO, dirname(path)),)


def package_files(target: ImportTarget, context: ResolverContext) -> tuple[str, ...]:
    """The files of a package: those of its folder."""
    return context.folder(target.package, language=_GO)


def companion_files(path: str, context: ResolverContext) -> tuple[str, ...]:
    """Other files of the folder: methods of a type may be in any of them."""
    return tuple(p for p in context.folder(dirname(path), language=_GO) if p != path)


LANGUAGES = (
    Language(
        name=_GO,
        grammar=("tree_sitter_go", "language"),
        query="go.scm",
        read_import=read_import,
        resolve_import=resolve_import,
        name_of=name_of,
        is_exported=is_exported,
        implicit_scope=implicit_scope,
        package_files=package_files,
        companion_files=companion_files,
        details={"method_declaration": "method", "type_spec": "type", "type_alias": "type"},
        binding_fields={
            "short_var_declaration": ("left", "right"),
            "field_declaration": ("name", "type"),
        },
        return_field="result",
        rewrites=((re.compile(r"\s+"), ""), (re.compile(r"\[[\w.,*\[\]]*\](?=\(|$)"), "")),
        tested_stems=(re.compile(r"^(.+)_test$"),),
    ),
)
