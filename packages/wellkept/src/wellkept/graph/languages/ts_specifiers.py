"""Resolves module specifiers of TypeScript and JavaScript to files, like the compiler.

Supports relative paths, `paths` and `baseUrl` of the nearest tsconfig and those it extends,
`imports` of the nearest package.json, and packages of the same tree by name and `exports`. If
`exports` points at build output, the sources are used. Does not know files outside the tree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from posixpath import dirname, normpath
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from wellkept.graph.parse.tree_index import contains, join

if TYPE_CHECKING:
    from wellkept.graph.parse.resolver_context import ResolverContext

_TYPED = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".d.mts", ".d.cts")
_UNTYPED = (".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte")
_PASSES = (_TYPED, _UNTYPED)
"""The compiler searches all locations for types first, then for JavaScript."""
_WRITTEN = {
    ".js": (".ts", ".tsx", ".d.ts", ".js", ".jsx"),
    ".jsx": (".tsx", ".ts", ".d.ts", ".jsx"),
    ".mjs": (".mts", ".d.mts", ".mjs"),
    ".cjs": (".cts", ".d.cts", ".cjs"),
}
_CONDITIONS = frozenset({"types", "source", "import", "require", "node", "default"})
_BUILT = re.compile(r"^(?:dist|build|lib|out|esm|cjs|es|types)(?:/(?:esm|cjs|es|types|src))?/")
_ASIDE = re.compile(r"(?:^|/)(?:[\w-]*(?:tests?|fixtures?)[\w-]*|examples?|playgrounds?|templates?|"
                    r"demos?)(?=/|$)")  # fmt: skip
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r",(\s*[}\]])")
_MAX_STEPS = 8
"""Limit for chains of `extends`."""


class _Mapping(NamedTuple):
    """Effective `baseUrl` and `paths` of a tsconfig, and the folder of `paths`."""

    base: str | None = None
    paths: Mapping[str, list[str]] | None = None
    folder: str = ""


def resolve_specifier(module: str, path: str, context: ResolverContext) -> str | None:
    """The file of a module specifier in a file, if it is in the tree."""
    if module.startswith("."):
        return _file_at(normpath(join(dirname(path), module)), context)
    if module.startswith("/"):
        return None
    for location in _locations(module, path, context):
        found = _file_at(location, context)
        if found is not None:
            return found
    return None


def _locations(module: str, path: str, context: ResolverContext) -> Iterator[str]:
    """Possible locations of a specifier that is not relative."""
    if module.startswith("#"):
        manifest = context.nearest(path, "package.json")
        if manifest is not None:
            inner = _document(manifest, context).get("imports")
            table = cast("dict[str, object]", inner) if isinstance(inner, dict) else {}
            yield from _mapped(table, module, dirname(manifest))
    yield from _by_paths(module, path, context)
    yield from _by_package(module, path, context)


# -- Files ----------------------------------------------------------------------------------------


def _file_at(location: str, context: ResolverContext) -> str | None:
    """The file for a path with or without extension, or the index file of a folder."""
    if location.startswith("../"):
        return None
    location = "" if location == "." else location
    if location:
        for written, instead in _WRITTEN.items():
            if location.endswith(written):
                found = _with_ending(location[: -len(written)], instead, context)
                if found is not None:
                    return found
    for endings in _PASSES:
        found = _with_ending(location, endings, context) if location else None
        found = found or _index_of(location, endings, context)
        if found is not None:
            return found
    return location if location and context.has(location) else None


def _with_ending(location: str, endings: Iterable[str], context: ResolverContext) -> str | None:
    return next((p for ending in endings if context.has(p := f"{location}{ending}")), None)


def _index_of(folder: str, endings: tuple[str, ...], context: ResolverContext) -> str | None:
    if folder and not context.has_folder(folder):
        return None
    manifest = _document(join(folder, "package.json"), context) if folder else {}
    for field in ("typings", "types", "main", "module", "source"):
        entry = manifest.get(field)
        if isinstance(entry, str):
            location = normpath(join(folder, entry))
            found = next((p for p in _spellings(location, endings) if context.has(p)), None)
            if found is not None:
                return found
    return _with_ending(join(folder, "index"), endings, context)


def _spellings(location: str, endings: tuple[str, ...]) -> Iterator[str]:
    if location.endswith(endings):
        yield location
    for written, instead in _WRITTEN.items():
        if location.endswith(written):
            yield from (f"{location[: -len(written)]}{e}" for e in instead if e in endings)
    yield from (f"{location}{ending}" for ending in endings)
    yield from (f"{location}/index{ending}" for ending in endings)


# -- tsconfig -------------------------------------------------------------------------------------


def _by_paths(module: str, path: str, context: ResolverContext) -> Iterator[str]:
    """Locations by `paths` (best pattern only) and `baseUrl` of the nearest tsconfig."""
    for name in ("tsconfig.json", "jsconfig.json"):
        config = context.nearest(path, name)
        if config is None:
            continue
        base, paths, folder = _effective(config, context)
        start = base if base is not None else folder
        for target in _best(paths or {}, module):
            yield normpath(join(start, target.replace("${configDir}", dirname(config) or ".")))
        if base is not None:
            yield normpath(join(base, module))


def _effective(config: str, context: ResolverContext) -> _Mapping:
    """The mapping of a tsconfig, else of the first project it references in the same folder."""
    found = _mapping(config, context, 0)
    if found.base is not None or found.paths:
        return found
    for item in _listed(_document(config, context).get("references")):
        written = cast("dict[str, object]", item).get("path") if isinstance(item, dict) else None
        for location in _configs(written, config, context) if isinstance(written, str) else ():
            # A reference to another folder is another project.
            if dirname(location) == dirname(config):
                inner = _mapping(location, context, 0)
                if inner.base is not None or inner.paths:
                    return inner
    return found


def _mapping(config: str, context: ResolverContext, steps: int) -> _Mapping:
    """`baseUrl` and `paths` of a tsconfig, else of those it extends; the last one wins."""
    document = _document(config, context)
    folder = dirname(config)
    found = _Mapping()
    for extended in _listed(document.get("extends")) if steps < _MAX_STEPS else ():
        locations = _configs(extended, config, context) if isinstance(extended, str) else ()
        for above in (_mapping(location, context, steps + 1) for location in locations):
            base = above.base if above.base is not None else found.base
            found = above._replace(base=base) if above.paths else found._replace(base=base)
    options = document.get("compilerOptions")
    options = cast("dict[str, object]", options) if isinstance(options, dict) else {}
    written, paths = options.get("baseUrl"), options.get("paths")
    if isinstance(written, str):
        base = normpath(join(folder, written.replace("${configDir}/", "")))
        found = found._replace(base="" if base == "." else base)
    if isinstance(paths, dict):
        targets = {k: [t for t in _listed(v) if isinstance(t, str)]
                for k, v in cast("dict[str, object]", paths).items()}  # fmt: skip
        found = found._replace(paths=targets, folder=folder)
    return found


def _configs(written: str, config: str, context: ResolverContext) -> Iterator[str]:
    """The tsconfig that another one names, by path or in a package of the tree."""
    if written.startswith("."):
        locations = [normpath(join(dirname(config), written))]
    else:
        name, rest = _package_name(written)
        locations = [join(dirname(m), rest) for m in _manifests(name, config, context)]
    for location in locations:
        for candidate in (location, f"{location}.json", join(location, "tsconfig.json")):
            if candidate in context.tree_index and candidate.endswith(".json"):
                yield candidate
                return


def _best(patterns: Mapping[str, list[str]], module: str) -> Iterator[str]:
    """The targets of the exact pattern, else of the one with the longest prefix."""
    if module in patterns:
        yield from patterns[module]
        return
    fitting = [p for p in patterns if p.count("*") == 1 and _fits(p, module)]
    if fitting:
        best = max(fitting, key=lambda p: len(p.partition("*")[0]))
        head, _, tail = best.partition("*")
        middle = module[len(head) : len(module) - len(tail)]
        yield from (target.replace("*", middle) for target in patterns[best])


def _fits(pattern: str, module: str) -> bool:
    head, _, tail = pattern.partition("*")
    long_enough = len(module) >= len(head) + len(tail)
    return long_enough and module.startswith(head) and module.endswith(tail)


# -- Packages -------------------------------------------------------------------------------------


def _by_package(module: str, path: str, context: ResolverContext) -> Iterator[str]:
    """Locations by the name of a package in the tree."""
    name, rest = _package_name(module)
    for manifest in _manifests(name, path, context):
        folder = dirname(manifest)
        exports = _document(manifest, context).get("exports")
        table = cast("dict[str, object]", exports) if isinstance(exports, dict) else {}
        if not any(key.startswith(".") for key in table):
            table = {".": cast("object", exports)}
        yield from _mapped(table, f"./{rest}" if rest else ".", folder)
        if rest:
            yield join(folder, rest)
            yield join(folder, f"src/{rest}")
        else:
            yield folder or "."
            yield join(folder, "src")


def _package_name(module: str) -> tuple[str, str]:
    """The package name and the rest of a specifier."""
    parts = module.split("/")
    name = "/".join(parts[:2]) if module.startswith("@") else parts[0]
    return name, module[len(name) + 1 :]


def _manifests(name: str, path: str, context: ResolverContext) -> list[str]:
    """Manifests of packages of that name, nearest first. A package in a folder of examples or
    fixtures is visible only there."""
    known = context.cached(("manifests",), lambda: _all_manifests(context), {})
    found = [manifest for manifest in known.get(name, ()) if _is_open(manifest, path)]
    return sorted(found, key=lambda m: (not contains(dirname(m), path), len(m), m))


def _all_manifests(context: ResolverContext) -> dict[str, list[str]]:
    """Manifests by the names of their packages."""
    found: dict[str, list[str]] = {}
    for manifest in context.tree_index.basenames.get("package.json", ()):
        name = _document(manifest, context).get("name")
        if isinstance(name, str):
            found.setdefault(name, []).append(manifest)
    return found


def _is_open(manifest: str, path: str) -> bool:
    """Whether a package is visible to a file, see `_manifests`."""
    aside = _ASIDE.finditer(dirname(manifest))
    return all(path.startswith(f"{manifest[: found.end()]}/") for found in aside)


def _mapped(table: Mapping[str, object], subpath: str, folder: str) -> Iterator[str]:
    """Locations by a table of `exports` or `imports`; also the sources of build output."""
    patterns = {key: list(_flat(value)) for key, value in table.items()}
    for target in _best(patterns, subpath):
        inner = normpath(target)
        yield join(folder, inner)
        source = _BUILT.sub("src/", inner)
        if source != inner:
            yield join(folder, source)
            yield join(folder, re.sub(r"(?:\.d)?\.[cm]?[jt]s$", "", source))


def _flat(value: object) -> Iterator[str]:
    """The paths of an entry; conditions that the compiler knows come first."""
    if isinstance(value, str):
        if value.startswith("."):
            yield value
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _flat(item)
    elif isinstance(value, dict):
        table = cast("dict[str, object]", value)
        for key in sorted(table, key=lambda k: k not in _CONDITIONS):
            yield from _flat(table[key])


# -- Documents ------------------------------------------------------------------------------------


def _listed(value: object) -> list[object]:
    if isinstance(value, list):
        return cast("list[object]", value)
    return [] if value is None else [value]


def _document(path: str, context: ResolverContext) -> dict[str, Any]:
    found = context.document(path, _parsed)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _parsed(data: bytes) -> object:
    """JSON with comments and trailing commas; None if it is invalid."""
    text = data.decode("utf-8-sig", "replace")
    try:
        return json.loads(text)
    except ValueError:
        plain = _TRAILING.sub(r"\1", _COMMENT.sub(lambda m: m.group(1) or "", text))
    try:
        return json.loads(plain)
    except ValueError:
        return None
