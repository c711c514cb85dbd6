"""Python: packages, source roots, relative imports, `__all__`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from posixpath import basename, dirname
from typing import TYPE_CHECKING

from wellkept.core.graph import NodeKind
from wellkept.graph.parse.file_facts import STAR, Import
from wellkept.graph.parse.language import (
    NOTHING,
    ImportTarget,
    Language,
    ResolvedImport,
    Text,
    package_target,
)
from wellkept.graph.parse.tree_index import PYTHON, SOURCES, ancestors, contains, join

if TYPE_CHECKING:
    from tree_sitter import Node

    from wellkept.graph.parse.resolver_context import ResolverContext

_INTERFACES = frozenset({"Protocol", "ABC", "ABCMeta"})
_STANDARD = sys.stdlib_module_names
_WRAPPERS = frozenset(
    "Optional Union Annotated ClassVar Final Required NotRequired ReadOnly Type type Awaitable"
    " Iterator AsyncIterator Generator AsyncGenerator AbstractContextManager ContextManager"
    " AbstractAsyncContextManager AsyncContextManager None".split()
)
"""`Iterator` and `Generator`: a context manager returns what it yields."""
_QUOTED = re.compile(r"""["']([^"']+)["']""")


# -- Reading --------------------------------------------------------------------------------------


def read_import(node: Node, text: Text) -> Iterable[Import]:
    """`import a.b`, `import a as b`, `from .a import b as c`, `from a import *`."""
    line = node.start_point.row + 1
    module = node.child_by_field_name("module_name")
    pairs = tuple(_pairs(node, text))
    if module is None:
        for name, alias in pairs:
            yield Import(name, alias=alias or name.partition(".")[0], form=_form(alias), line=line)
        return
    names = tuple((name, alias or name) for name, alias in pairs)
    if any(child.type == "wildcard_import" for child in node.children):
        names = ((STAR, ""),)
    yield Import(text(module).replace(" ", ""), names, form="from", line=line)


def _form(alias: str) -> str:
    """`import a.b` binds `a`; `import a.b as c` binds a.b to `c`."""
    return "module" if alias else "top"


def _pairs(node: Node, text: Text) -> Iterable[tuple[str, str]]:
    for child in node.children_by_field_name("name"):
        if child.type != "aliased_import":
            yield text(child), ""
            continue
        name, alias = child.child_by_field_name("name"), child.child_by_field_name("alias")
        if name is not None and alias is not None:
            yield text(name), text(alias)


def read_exports(node: Node, text: Text) -> Iterable[tuple[str, str]]:
    """The names in `__all__`."""
    parent = node.parent
    value = parent.child_by_field_name("right") if parent is not None else None
    if text(node) != "__all__" or value is None:
        return ()
    return [(name, name) for name in _QUOTED.findall(text(value))]


def is_exported(_: Node, name: str, __: Text) -> bool:
    """Names without a leading underscore."""
    return not name.startswith("_")


def kind_of(kind: NodeKind, bases: tuple[str, ...]) -> NodeKind:
    """Protocols and abstract classes are interfaces."""
    if kind is NodeKind.CLASS and any(b.rpartition(".")[2] in _INTERFACES for b in bases):
        return NodeKind.INTERFACE
    return kind


# -- Resolving ------------------------------------------------------------------------------------


def resolve_import(item: Import, path: str, context: ResolverContext) -> ResolvedImport:
    """The files of a module, and the targets of the imported names."""
    locations, confidence = _locations(item.module, path, context)
    met = (
        (location, found)
        for location in locations
        if (found := _module_at(location, context)) is not None
    )
    location, module = next(met, ("", None))
    if module is None or (_is_beside(location, item, path, context)
                          and not _has_wanted(module, item, context)):  # fmt: skip
        return NOTHING
    if item.form == "top":
        return _top(item, module, location, context)
    files = [] if module.is_package else [module.path]
    if not item.names:
        return ResolvedImport(tuple(files), ((item.alias, (module,)),), confidence=confidence)
    if item.names[0][0] == STAR:
        return ResolvedImport(tuple(files), stars=(module,), confidence=confidence)
    binds: list[tuple[str, tuple[ImportTarget, ...]]] = []
    for name, here in item.names:
        below = submodule(module, name, context)
        if below is not None and not _gives(module, name, path, context):
            if not below.is_package:
                files.append(below.path)
            binds.append((here, (below,)))
        else:
            binds.append((here, (ImportTarget(module.path, name),)))
    return ResolvedImport(tuple(files), tuple(binds), confidence=confidence)


def _is_beside(location: str, item: Import, path: str, context: ResolverContext) -> bool:
    """Whether a module is next to a file of a package. Python finds it there only if that file runs
    as a script."""
    folder = dirname(path)
    is_there = location == join(folder, item.module.replace(".", "/"))
    return is_there and context.has(join(folder, "__init__.py"))


def _has_wanted(module: ImportTarget, item: Import, context: ResolverContext) -> bool:
    """Whether a module has an imported name, and does not just share its name with a package."""
    names = context.names(module.path)
    return names is not None and any(name in names.visible_names for name, _ in item.names)


def _top(
    item: Import, module: ImportTarget, location: str, context: ResolverContext
) -> ResolvedImport:
    """`import a.b.c` imports a.b.c and binds `a`."""
    up = item.module.count(".")
    folder = location
    for _ in range(up):
        folder = dirname(folder)
    first = _module_at(folder, context) or module
    files = () if module.is_package else (module.path,)
    return ResolvedImport(files, ((item.alias, (first,)),))


def _locations(module: str, path: str, context: ResolverContext) -> tuple[list[str], float]:
    """Possible locations of a module, without extension, and the confidence."""
    if module.startswith("."):
        rest = module.lstrip(".")
        folder = dirname(path)
        for _ in range(len(module) - len(rest) - 1):
            folder = dirname(folder)
        return [join(folder, rest.replace(".", "/")) if rest else folder], 1.0
    below = module.replace(".", "/")
    top, _, rest = module.partition(".")
    if top == context.root_name and context.has("__init__.py"):
        return [rest.replace(".", "/")], 1.0
    home = dirname(path)
    own = context.cached(("own root", home), lambda: _own_root(home, context), "")
    roots = context.python_top(top)
    if top in _STANDARD:
        roots = tuple(r for r in roots if r == own)
    near = sorted(roots, key=lambda root: (root != own, not contains(root, path), len(root), root))
    locations = [join(root, below) for root in near]
    if top not in _STANDARD and home not in roots:
        locations.append(join(home, below))  # a script next to its helpers
    return locations, 1.0 if own in roots or len(roots) == 1 else 0.8


def _own_root(home: str, context: ResolverContext) -> str:
    """The source root of a folder: the parent of its outermost package. `src` always counts,
    because a package in it need not have an `__init__`."""
    folder = home
    while folder and context.has(f"{folder}/__init__.py"):
        folder = dirname(folder)
    above = (f for f in (home, *ancestors(home)) if basename(f) == SOURCES)
    return next((f for f in above if not context.has(f"{f}/__init__.py")), folder)


def _module_at(location: str, context: ResolverContext) -> ImportTarget | None:
    """The module at a location: a package, a file, or a folder without `__init__`."""
    for ending in ("/__init__.py", ".py", "/__init__.pyi", ".pyi"):
        candidate = f"{location}{ending}" if location else ending.removeprefix("/")
        if context.has(candidate):
            return ImportTarget(candidate)
    return package_target(PYTHON, location) if location and context.has_folder(location) else None


def submodule(module: ImportTarget, name: str, context: ResolverContext) -> ImportTarget | None:
    """A module below a package or a folder."""
    if module.is_package:
        return _module_at(join(module.package, name), context)
    if basename(module.path) in ("__init__.py", "__init__.pyi"):
        return _module_at(join(dirname(module.path), name), context)
    return None


def _gives(module: ImportTarget, name: str, path: str, context: ResolverContext) -> bool:
    """Whether a package defines a name itself, which then hides a submodule.

    In the package's own `from . import name`, the submodule is meant.
    """
    if module.is_package or module.path == path:
        return False
    names = context.names(module.path)
    if names is None or name not in names.imported:
        return names is not None and name in names.symbols
    item = names.imports[names.imported[name]]
    passes_on = item.form == "from" and (name, name) in item.names
    return not (
        passes_on and dirname(module.path) in _locations(item.module, module.path, context)[0]
    )


_PYTHON = Language(
    name=PYTHON,
    grammar=("tree_sitter_python", "language"),
    query="python.scm",
    read_import=read_import,
    resolve_import=resolve_import,
    read_exports=read_exports,
    is_exported=is_exported,
    kind_of=kind_of,
    submodule=submodule,
    details={"function_definition": "function", "class_definition": "class"},
    binding_fields={
        "assignment": ("left", "type|right"),
        "typed_parameter": ("0", "type"),
        "typed_default_parameter": ("name", "type"),
        "named_expression": ("name", "value"),
        "as_pattern": ("alias", "0"),
    },
    return_field="return_type",
    type_wrappers=_WRAPPERS,
    rewrites=((re.compile(r"\bsuper\(\)"), "super"), (re.compile(r"\s+"), "")),
    self_names=frozenset({"self", "cls", "Self"}),
    super_names=frozenset({"super"}),
    tested_stems=(re.compile(r"^test_(.+)$"), re.compile(r"^(.+)_test$")),
)

LANGUAGES = (_PYTHON,)
