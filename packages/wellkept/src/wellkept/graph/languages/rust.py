"""Rust: crates, modules that are files, `use` trees, impl blocks."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from posixpath import basename, dirname, normpath
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from wellkept.graph.parse.file_facts import STAR, Import
from wellkept.graph.parse.language import NOTHING, ImportTarget, Language, ResolvedImport, Text
from wellkept.graph.parse.resolver_context import stem
from wellkept.graph.parse.tree_index import ancestors, join

if TYPE_CHECKING:
    from tree_sitter import Node

    from wellkept.graph.parse.resolver_context import ResolverContext

_ROOTS = ("lib.rs", "main.rs")
_TARGET = re.compile(r"(?:src/bin|tests|examples|benches)/[^/]+\.rs|build\.rs")
"""Locations of crate roots by convention."""
_PATH = re.compile(r"""path\s*=\s*"([^"]+)\"""")
_INNER = re.compile(r"^(.*?)\{(.*)\}$", re.DOTALL)
_ALIAS = re.compile(r"^(.*?)\s+as\s+(\w+)$")
_GENERIC = re.compile(r"<.*$", re.DOTALL)


def read_import(node: Node, text: Text) -> Iterable[Import]:
    """`mod a;` and every leaf of a `use` tree."""
    line = node.start_point.row + 1
    around = _modules_around(node, text)
    if node.type == "mod_item":
        name = node.child_by_field_name("name")
        if node.child_by_field_name("body") is None and name is not None:
            path_attribute = _path_of(node, text)
            module = path_attribute or ".".join(("self", *around, text(name)))
            form = "path" if path_attribute else "mod"
            yield Import(module, alias=text(name), form=form, line=line)
        return
    argument = node.child_by_field_name("argument")
    written = re.sub(r"\s+", " ", text(argument)) if argument is not None else ""
    for written_path, here in _leaves(written.strip(), ""):
        path = _from_file(written_path, around)
        module, _, name = path.rpartition(".")
        if name == STAR:
            yield Import(module, ((STAR, ""),), form="from", line=line)
        elif not module:
            yield Import(name, alias=here, line=line)
        else:
            yield Import(module, ((name, here),), form="from", line=line)


def _modules_around(node: Node, text: Text) -> list[str]:
    """The enclosing modules in the same file, outermost first."""
    found: list[str] = []
    while node.parent is not None:
        node = node.parent
        name = node.child_by_field_name("name") if node.type == "mod_item" else None
        if name is not None:
            found.insert(0, text(name))
    return found


def _from_file(path: str, around: list[str]) -> str:
    """A path used inside modules of a file, as it would be written at the top level."""
    head, _, rest = path.partition(".")
    if not around or head not in ("self", "super"):
        return path
    inner = around if head == "self" else around[:-1]
    if rest.partition(".")[0] != "super":
        return ".".join(filter(None, ("self", *inner, rest)))
    return _from_file(rest, inner) if inner else rest


def _path_of(node: Node, text: Text) -> str:
    """The file in `#[path = "…"]` before a module."""
    before = node.prev_named_sibling
    while before is not None and before.type == "attribute_item":
        found = _PATH.search(text(before))
        if found is not None:
            return found[1]
        before = before.prev_named_sibling
    return ""


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
    """Split at commas outside of braces."""
    depth, start = 0, 0
    for at, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


def resolve_import(item: Import, path: str, context: ResolverContext) -> ResolvedImport:
    """The file of a module path, and the target of the imported name."""
    if item.form == "path":
        file = normpath(join(dirname(path), item.module))
        return (
            ResolvedImport((file,), ((item.alias, (ImportTarget(file),)),))
            if context.has(file)
            else NOTHING
        )
    if item.names and item.names[0][0] == STAR:
        module = _find(item.module.split("."), path, context)
        return ResolvedImport((module.path,), stars=(module,)) if module is not None else NOTHING
    if not item.names:
        target = _find(item.module.split("."), path, context)
        if target is None:
            return NOTHING
        files = () if item.form == "implicit" else (target.path,)
        return ResolvedImport(files, ((item.alias, (target,)),))
    name, here = item.names[0]
    target = _find([*item.module.split("."), name], path, context)
    if target is None or target.path == path:
        return NOTHING if target is None else ResolvedImport((), ((here, (target,)),))
    return ResolvedImport((target.path,), ((here, (target,)),))


def _find(parts: list[str], path: str, context: ResolverContext) -> ImportTarget | None:
    """Follow a module path file by file; the rest is a symbol."""
    head, rest = parts[0], parts[1:]
    if head == "crate":
        start = _crate_root(path, context)
    elif head == "self":
        start = path
    elif head == "super":
        start = _parent(path, context)
        while rest and rest[0] == "super" and start is not None:
            start, rest = _parent(start, context), rest[1:]
    else:
        known = context.cached(("crates",), lambda: _manifests(context), {})
        start = _root_of(known[head], context) if head in known else None
        if start is None:
            start = submodule_file(path, head, context)
    if start is None:
        return None
    while rest:
        below = submodule_file(start, rest[0], context)
        if below is None:
            break
        start, rest = below, rest[1:]
    return ImportTarget(start, ".".join(rest))


def _children(path: str, context: ResolverContext) -> str:
    """The folder of a file's submodules."""
    if basename(path) == "mod.rs" or _is_root(path, context):
        return dirname(path)
    return join(dirname(path), stem(path))


def _is_root(path: str, context: ResolverContext) -> bool:
    """Whether a file is a crate root: of a library, program, test or example."""
    manifest = context.nearest(path, "Cargo.toml")
    if basename(path) in _ROOTS or manifest is None:
        return basename(path) in _ROOTS
    below = path[len(dirname(manifest)) :].lstrip("/")
    return _TARGET.fullmatch(below) is not None or below in _crate(manifest, context).targets


def submodule_file(path: str, name: str, context: ResolverContext) -> str | None:
    """The file of a module below another."""
    folder = _children(path, context)
    for candidate in (join(folder, f"{name}.rs"), join(folder, f"{name}/mod.rs")):
        if context.has(candidate) and candidate != path:
            return candidate
    return None


def submodule(target: ImportTarget, name: str, context: ResolverContext) -> ImportTarget | None:
    """A module below a module."""
    found = None if target.is_package else submodule_file(target.path, name, context)
    return None if found is None else ImportTarget(found)


def _parent(path: str, context: ResolverContext) -> str | None:
    """The file of the parent module."""
    folder = dirname(path)
    if basename(path) == "mod.rs":
        folder = dirname(folder)
    names = [f"{folder}.rs", *(join(folder, name) for name in ("mod.rs", *_ROOTS))]
    return next((n for n in names if n != path and context.has(n)), None)


def _crate_root(path: str, context: ResolverContext) -> str | None:
    """The file of `crate`: the file itself, the nearest root above, or the package's root."""
    manifest = context.nearest(path, "Cargo.toml")
    if manifest is None or _is_root(path, context):
        return path if manifest is not None else None
    home = dirname(manifest)
    targets = [join(home, target) for target in _crate(manifest, context).targets]
    for folder in ancestors(path):
        names = [join(folder, name) for name in _ROOTS]
        names += [target for target in targets if dirname(target) == folder]
        found = next((name for name in names if context.has(name)), None)
        if found is not None or folder == home:
            return found or _root_of(manifest, context)
    return None


def _root_of(manifest: str, context: ResolverContext) -> str | None:
    """The library of a package, else its program."""
    crate, folder = _crate(manifest, context), dirname(manifest)
    locations = (*crate.library, *(f"src/{name}" for name in _ROOTS), *crate.targets)
    return next((p for location in locations if context.has(p := join(folder, location))), None)


def _manifests(context: ResolverContext) -> dict[str, str]:
    """Manifests by the names of their crates; of several, the first."""
    found: dict[str, str] = {}
    for manifest in context.tree_index.basenames.get("Cargo.toml", ()):
        found.setdefault(_crate(manifest, context).name, manifest)
    return found


class _Crate(NamedTuple):
    """A manifest: the import name, the library file if configured, and all configured crate
    roots."""

    name: str = ""
    library: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


def _crate(manifest: str, context: ResolverContext) -> _Crate:
    found = context.document(manifest, _read_manifest)
    return found if isinstance(found, _Crate) else _Crate()


def _read_manifest(data: bytes) -> object:
    try:
        document: dict[str, Any] = tomllib.loads(data.decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError:
        return None
    library = _tables(document.get("lib"))
    others = [
        t for kind in ("bin", "test", "example", "bench") for t in _tables(document.get(kind))
    ]
    names = [table.get("name") for table in (*library, *_tables(document.get("package")))]
    name = next((name for name in names if isinstance(name, str)), "")
    own = _paths(library)
    return _Crate(name.replace("-", "_"), own, (*own, *_paths(others)))


def _paths(tables: Iterable[dict[str, object]]) -> tuple[str, ...]:
    found = (table.get("path") for table in tables)
    return tuple(normpath(path) for path in found if isinstance(path, str))


def _tables(value: object) -> list[dict[str, object]]:
    """A table of a manifest, or several of a kind."""
    several = cast("list[object]", value) if isinstance(value, list) else [value]
    return [cast("dict[str, object]", item) for item in several if isinstance(item, dict)]


def name_of(node: Node, text: Text) -> str:
    """The name of an item; of an impl block, that of its type."""
    if node.type == "impl_item":
        type_ = node.child_by_field_name("type")
        written = _GENERIC.sub("", text(type_)) if type_ is not None else ""
        return written.rpartition("::")[2].strip("& ")
    name = node.child_by_field_name("name")
    return text(name) if name is not None else ""


def is_exported(node: Node, _: str, text: Text) -> bool:
    """Items with `pub`."""
    first = node.child(0)
    return first is not None and first.type == "visibility_modifier" and text(first) != "pub(self)"


LANGUAGES = (
    Language(
        name="rust",
        grammar=("tree_sitter_rust", "language"),
        query="rust.scm",
        read_import=read_import,
        resolve_import=resolve_import,
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
        outer_names=frozenset({"super"}),
        test_name=re.compile(r"^tests?$"),
    ),
)
