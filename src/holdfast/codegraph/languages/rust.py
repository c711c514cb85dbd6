"""Rust: crates, modules that are files, `use` trees, impl blocks."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from posixpath import basename, dirname
from typing import TYPE_CHECKING

from holdfast.codegraph.facts import STAR, Import
from holdfast.codegraph.language import NOTHING, Found, Language, Target, Text
from holdfast.codegraph.layout import joined
from holdfast.codegraph.outlook import stem

if TYPE_CHECKING:
    from tree_sitter import Node

    from holdfast.codegraph.outlook import Outlook

_ROOTS = ("lib.rs", "main.rs")
_INNER = re.compile(r"^(.*?)\{(.*)\}$", re.DOTALL)
_ALIAS = re.compile(r"^(.*?)\s+as\s+(\w+)$")
_GENERIC = re.compile(r"<.*$", re.DOTALL)


def read_import(node: Node, text: Text) -> Iterable[Import]:
    """`mod a;` and every leaf of a `use` tree."""
    line = node.start_point.row + 1
    if node.type == "mod_item":
        name = node.child_by_field_name("name")
        if node.child_by_field_name("body") is None and name is not None:
            yield Import(f"self.{text(name)}", alias=text(name), form="mod", line=line)
        return
    argument = node.child_by_field_name("argument")
    written = re.sub(r"\s+", " ", text(argument)) if argument is not None else ""
    for path, here in _leaves(written.strip(), ""):
        module, _, name = path.rpartition(".")
        if name == STAR:
            yield Import(module, ((STAR, ""),), form="from", line=line)
        elif not module:
            yield Import(name, alias=here, line=line)
        else:
            yield Import(module, ((name, here),), form="from", line=line)


def _leaves(written: str, before: str) -> Iterable[tuple[str, str]]:
    """(dotted path, name here) of each leaf of a use tree."""
    inner = _INNER.match(written)
    if inner is not None:
        head = inner.group(1).strip().removesuffix("::").strip()
        above = ".".join(filter(None, (before, head.replace("::", "."))))
        for part in _split(inner.group(2)):
            yield from _leaves(part, above)
        return
    alias = _ALIAS.match(written)
    path, here = (alias.group(1), alias.group(2)) if alias else (written, "")
    dotted = path.strip().replace(" ", "").replace("::", ".").lstrip(".")
    if dotted == "self" and before:
        yield before, here or before.rpartition(".")[2]
    elif dotted:
        full = ".".join(filter(None, (before, dotted)))
        yield full, here or full.rpartition(".")[2]


def _split(text: str) -> Iterable[str]:
    """The parts between commas that are in no inner braces."""
    depth, start = 0, 0
    for place, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


def find_import(item: Import, path: str, outlook: Outlook) -> Found:
    """The file of a module path, and what it gives."""
    if item.names and item.names[0][0] == STAR:
        module = _find(item.module.split("."), path, outlook)
        return Found((module.path,), stars=(module,)) if module is not None else NOTHING
    if not item.names:
        target = _find(item.module.split("."), path, outlook)
        if target is None:
            return NOTHING
        files = () if item.form == "implicit" else (target.path,)
        return Found(files, ((item.alias, (target,)),))
    name, here = item.names[0]
    target = _find([*item.module.split("."), name], path, outlook)
    if target is None or target.path == path:
        return NOTHING if target is None else Found((), ((here, (target,)),))
    return Found((target.path,), ((here, (target,)),))


def _find(parts: list[str], path: str, outlook: Outlook) -> Target | None:
    """Follow a module path file by file; what is left of it is a symbol."""
    head, rest = parts[0], parts[1:]
    if head == "crate":
        start = _crate_root(path, outlook)
    elif head == "self":
        start = path
    elif head == "super":
        start = _parent(path, outlook)
        while rest and rest[0] == "super" and start is not None:
            start, rest = _parent(start, outlook), rest[1:]
    else:
        start = _named_crate(head, outlook)
        if start is None:
            start = submodule_file(path, head, outlook)
    if start is None:
        return None
    while rest:
        below = submodule_file(start, rest[0], outlook)
        if below is None:
            break
        start, rest = below, rest[1:]
    return Target(start, ".".join(rest))


def _children(path: str) -> str:
    """The folder that the modules below a file are in."""
    return (
        dirname(path)
        if basename(path) in (*_ROOTS, "mod.rs")
        else joined(dirname(path), stem(path))
    )


def submodule_file(path: str, name: str, outlook: Outlook) -> str | None:
    """The file of a module below another."""
    folder = _children(path)
    for candidate in (joined(folder, f"{name}.rs"), joined(folder, f"{name}/mod.rs")):
        if outlook.has(candidate) and candidate != path:
            return candidate
    return None


def submodule(target: Target, name: str, outlook: Outlook) -> Target | None:
    """A module below a module."""
    found = None if target.is_package else submodule_file(target.path, name, outlook)
    return None if found is None else Target(found)


def _parent(path: str, outlook: Outlook) -> str | None:
    folder = dirname(path)
    names = [joined(dirname(folder), f"{basename(folder)}.rs")]
    names += [joined(dirname(folder) if basename(path) == "mod.rs" else folder, n)
              for n in ("mod.rs", *_ROOTS)]  # fmt: skip
    return next((n for n in names if n != path and outlook.has(n)), None)


def _crate_root(path: str, outlook: Outlook) -> str | None:
    manifest = outlook.nearest(path, "Cargo.toml")
    return _root_of(manifest, outlook) if manifest is not None else None


def _root_of(manifest: str, outlook: Outlook) -> str | None:
    folder = dirname(manifest)
    spots = (joined(folder, f"src/{name}") for name in _ROOTS)
    return next((spot for spot in spots if outlook.has(spot)), None)


def _named_crate(name: str, outlook: Outlook) -> str | None:
    for manifest in outlook.layout.basenames.get("Cargo.toml", ()):
        found = outlook.document(manifest, _crate_name)
        if found == name:
            return _root_of(manifest, outlook)
    return None


def _crate_name(data: bytes) -> object:
    try:
        document = tomllib.loads(data.decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError:
        return None
    name = document.get("package", {}).get("name")
    return name.replace("-", "_") if isinstance(name, str) else None


def name_of(node: Node, text: Text) -> str:
    """The name of an item; of an impl block, that of its type."""
    if node.type == "impl_item":
        type_ = node.child_by_field_name("type")
        written = _GENERIC.sub("", text(type_)) if type_ is not None else ""
        return written.rpartition("::")[2].strip("& ")
    name = node.child_by_field_name("name")
    return text(name) if name is not None else ""


def is_exported(node: Node, _: str, text: Text) -> bool:
    """`pub` gives an item away."""
    first = node.child(0)
    return first is not None and first.type == "visibility_modifier" and text(first) != "pub(self)"


LANGUAGES = (
    Language(
        name="rust",
        extensions=(".rs",),
        grammar=("tree_sitter_rust", "language"),
        query="rust.scm",
        read_import=read_import,
        find_import=find_import,
        name_of=name_of,
        is_exported=is_exported,
        submodule=submodule,
        implicit_imports=(
            Import("crate", alias="crate", form="implicit"),
            Import("super", alias="super", form="implicit"),
        ),
        details={"struct_item": "struct", "enum_item": "enum", "trait_item": "trait"},
        binding_fields={
            "let_declaration": ("pattern", "type|value"),
            "parameter": ("pattern", "type"),
            "field_declaration": ("name", "type"),
        },
        rewrites=(
            (re.compile(r"\s+"), ""),
            (re.compile(r"::<[^()]*>"), ""),
            (re.compile(r"<[^()]*>"), ""),
            (re.compile(r"::"), "."),
        ),
        return_field="return_type",
        type_wrappers=frozenset(
            "mut dyn impl const Option Result Box Arc Rc Cow RefCell Cell Mutex RwLock Pin".split()
        ),
        self_names=frozenset({"self", "Self"}),
        test_path=re.compile(r"(?:^|/)(?:tests|benches)/.*\.rs$|(?:^|/)tests?\.rs$"),
        test_name=re.compile(r"^tests?$"),
    ),
)
