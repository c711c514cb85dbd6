"""Ruby: require, require_relative, and constants that are autoloaded by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from posixpath import dirname, normpath
from typing import TYPE_CHECKING

from wellkept.graph.parse.file_facts import STAR, Import
from wellkept.graph.parse.language import NOTHING, ImportTarget, Language, ResolvedImport, Text
from wellkept.graph.parse.tree_index import join

if TYPE_CHECKING:
    from tree_sitter import Node

    from wellkept.graph.parse.resolver_context import ResolverContext

_REQUIRES = frozenset({"require", "require_relative", "load", "autoload"})
_TESTS = frozenset({"test", "spec"})
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def read_import(node: Node, text: Text) -> Iterable[Import]:
    """`require "a/b"`, `require_relative "a"`, `autoload :A, "a"`."""
    method, arguments = (node.child_by_field_name(n) for n in ("method", "arguments"))
    if method is None or arguments is None or text(method) not in _REQUIRES:
        return
    first = arguments.named_child(1 if text(method) == "autoload" else 0)
    if first is not None and first.type == "string":
        form = "relative" if text(method) == "require_relative" else "path"
        line = node.start_point.row + 1
        yield Import(text(first).strip("\"'"), ((STAR, ""),), form=form, line=line)


def resolve_import(item: Import, path: str, context: ResolverContext) -> ResolvedImport:
    """The required file: next to the file, or below a folder of the load path."""
    name = item.module if item.module.endswith(".rb") else f"{item.module}.rb"
    beside = normpath(join(dirname(path), name))
    if item.form == "relative" or item.module.startswith("."):
        locations = [beside]
    else:
        ends = context.files_named(name.rpartition("/")[2])
        near = sorted(ends, key=lambda p: (not p.startswith("lib/"), len(p), p))
        locations = [p for p in near if _is_looked_in(p.removesuffix(name), path)]
    found = next((location for location in locations if context.has(location)), None)
    return NOTHING if found is None else ResolvedImport((found,), stars=(ImportTarget(found),))


def _is_looked_in(folder: str, path: str) -> bool:
    """Whether a folder is on the load path: the root, any `lib`, and for tests their own."""
    last = f"/{folder}".split("/")[-2] if folder.endswith("/") else ""
    return not folder or last == "lib" or (last in _TESTS and path.startswith(folder))


def autoload(name: str, path: str, context: ResolverContext) -> tuple[ImportTarget, ...]:
    """`UserMailer` is expected in `user_mailer.rb`."""
    if not name[:1].isupper():
        return ()
    files = context.files_named(f"{_HUMP.sub('_', name).lower()}.rb")
    found: list[ImportTarget] = []
    for file in files:
        names = context.names(file) if file != path else None
        for qualname in names.symbols if names is not None else ():
            if qualname == name or qualname.endswith(f".{name}"):
                found.append(ImportTarget(file, qualname))
                break
    return tuple(found) if len(found) == 1 else ()


def name_of(node: Node, text: Text) -> str:
    """The name of a definition; `class A::B` is in A."""
    name = node.child_by_field_name("name")
    return text(name).replace("::", ".").lstrip(".") if name is not None else ""


LANGUAGES = (
    Language(
        name="ruby",
        grammar=("tree_sitter_ruby", "language"),
        query="ruby.scm",
        read_import=read_import,
        resolve_import=resolve_import,
        autoload=autoload,
        name_of=name_of,
        call_fields={"call": ("receiver", "method")},
        binding_fields={"assignment": ("left", "right")},
        rewrites=(
            (re.compile(r"\s+"), ""),
            (re.compile(r"&\.|::"), "."),
            (re.compile(r"\.new$"), ""),
            (re.compile(r"[?!]$"), ""),
        ),
        self_names=frozenset({"self"}),
        super_names=frozenset({"super"}),
        implicit_self=True,
        skips_namespaces=True,
        tested_stems=(re.compile(r"^(.+)_(?:test|spec)$"), re.compile(r"^test_(.+)$")),
    ),
)
