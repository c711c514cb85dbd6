"""TypeScript and JavaScript: ES modules, CommonJS, tsconfig paths, workspace packages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from posixpath import dirname, normpath
from typing import TYPE_CHECKING, Any, cast

from holdfast.codegraph.facts import STAR, Import
from holdfast.codegraph.language import NOTHING, Found, Language, Target, Text
from holdfast.codegraph.layout import joined

if TYPE_CHECKING:
    from tree_sitter import Node

    from holdfast.codegraph.outlook import Outlook

_ENDINGS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs")
_WRITTEN = {".js": (".ts", ".tsx", ".d.ts", ".js", ".jsx"), ".jsx": (".tsx", ".jsx"),
            ".mjs": (".mts", ".d.mts", ".mjs"), ".cjs": (".cts", ".d.cts", ".cjs")}  # fmt: skip
_DEFAULT, _WHOLE = "default", "*"
_CONDITIONS = ("types", "source", "import", "default", "require")
_TESTS = r"(?:^|/)(?:tests?|__tests__|e2e|cypress)/|[._-](?:test|spec)\.[cm]?[jt]sx?$"
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r",(\s*[}\]])")


# -- Reading --------------------------------------------------------------------------------------


def read_import(node: Node, text: Text) -> Iterable[Import]:
    """`import … from`, `export … from`, `require(…)`, `import(…)`, `import a = require(…)`."""
    line = node.start_point.row + 1
    if node.type == "call_expression":
        yield from _required(node, text, line)
        return
    source = node.child_by_field_name("source")
    if source is None:
        clause = next((c for c in node.children if c.type == "import_require_clause"), None)
        source = clause.child_by_field_name("source") if clause is not None else None
        if clause is None or source is None:
            return
        name = clause.named_child(0)
        yield Import(_bare(text(source)), alias=text(name) if name else "", line=line)
        return
    if node.type == "export_statement":
        yield Import(_bare(text(source)), _reexported(node, text), form="export", line=line)
        return
    pairs, alias = _clause(node, text)
    yield Import(_bare(text(source)), pairs, alias=alias, form="from", line=line)


def _bare(quoted: str) -> str:
    return quoted.strip("\"'`")


def _required(node: Node, text: Text, line: int) -> Iterable[Import]:
    function, arguments = (node.child_by_field_name(n) for n in ("function", "arguments"))
    if function is None or arguments is None or text(function) not in ("require", "import"):
        return
    first = arguments.named_child(0)
    parent = node.parent
    while parent is not None and parent.type in ("await_expression", "parenthesized_expression"):
        parent = parent.parent
    name = parent.child_by_field_name("name") if parent is not None else None
    if first is None:
        return
    module = _bare(text(first))
    if name is None or parent is None or parent.type != "variable_declarator":
        yield Import(module, line=line)
    elif name.type == "identifier":
        yield Import(module, alias=text(name), line=line)
    else:
        yield Import(module, tuple(_pattern(name, text)), form="from", line=line)


def _pattern(node: Node, text: Text) -> Iterable[tuple[str, str]]:
    for child in node.named_children:
        if child.type == "shorthand_property_identifier_pattern":
            yield text(child), text(child)
        elif child.type == "pair_pattern":
            key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
            if key is not None and value is not None:
                yield text(key), text(value)


def _clause(node: Node, text: Text) -> tuple[tuple[tuple[str, str], ...], str]:
    """The pairs of names of an import, and the name for the whole module."""
    pairs: list[tuple[str, str]] = []
    alias = ""
    clause = next((c for c in node.children if c.type == "import_clause"), None)
    for child in clause.named_children if clause is not None else ():
        if child.type == "identifier":
            pairs.append((_DEFAULT, text(child)))
        elif child.type == "namespace_import":
            named = child.named_child(0)
            alias = text(named) if named is not None else ""
        elif child.type == "named_imports":
            pairs.extend(_specifiers(child, text))
    return tuple(pairs), alias


def _specifiers(node: Node, text: Text) -> Iterable[tuple[str, str]]:
    for child in node.named_children:
        name, alias = child.child_by_field_name("name"), child.child_by_field_name("alias")
        if name is not None:
            yield text(name), text(alias) if alias is not None else text(name)


def _reexported(node: Node, text: Text) -> tuple[tuple[str, str], ...]:
    for child in node.named_children:
        if child.type == "export_clause":
            return tuple(_specifiers(child, text))
        if child.type == "namespace_export":
            named = child.named_child(0)
            return ((_WHOLE + "as", text(named)),) if named is not None else ()
    return ((STAR, ""),)


def read_exports(node: Node, text: Text) -> Iterable[tuple[str, str]]:
    """What a file gives away: `export …`, `export default …`, `module.exports = …`."""
    if node.type == "assignment_expression":
        yield from _common_exports(node, text)
        return
    if node.child_by_field_name("source") is not None:
        return
    default = any(child.type == "default" for child in node.children)
    declared = node.child_by_field_name("declaration")
    value = node.child_by_field_name("value")
    if declared is not None:
        for name in _declared(declared, text):
            yield (_DEFAULT if default else name), name
    elif value is not None and value.type in ("identifier", "class", "function_expression"):
        named = value if value.type == "identifier" else value.child_by_field_name("name")
        if named is not None:
            yield _DEFAULT, text(named)
    for child in node.named_children:
        if child.type == "export_clause":
            yield from ((here, name) for name, here in _specifiers(child, text))


def _common_exports(node: Node, text: Text) -> Iterable[tuple[str, str]]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return
    written = text(left)
    if written == "module.exports":
        if right.type == "identifier":
            yield _DEFAULT, text(right)
        elif right.type == "object":
            for child in right.named_children:
                if child.type == "shorthand_property_identifier":
                    yield text(child), text(child)
                elif child.type == "pair":
                    key, value = (
                        child.child_by_field_name("key"),
                        child.child_by_field_name("value"),
                    )
                    if key is not None and value is not None and value.type == "identifier":
                        yield text(key), text(value)
    elif written.startswith(("exports.", "module.exports.")):
        name = written.rpartition(".")[2]
        yield name, text(right) if right.type == "identifier" else name


def _declared(node: Node, text: Text) -> Iterable[str]:
    name = node.child_by_field_name("name")
    if name is not None:
        yield text(name)
        return
    for child in node.named_children:
        named = child.child_by_field_name("name")
        if child.type == "variable_declarator" and named is not None:
            yield text(named)


def name_of(node: Node, text: Text) -> str:
    """The name of a definition; of an assignment, the last part of what is assigned to."""
    if node.type == "assignment_expression":
        left = node.child_by_field_name("left")
        written = text(left) if left is not None else ""
        return written.rpartition(".")[2] if written.startswith(("exports.", "module.")) else ""
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    return text(name).strip("\"'#") if name is not None else ""


def is_exported(node: Node, _: str, __: Text) -> bool:
    """Whether a definition stands in an export statement."""
    parent = node.parent
    if parent is not None and parent.type in ("lexical_declaration", "variable_declaration"):
        parent = parent.parent
    return parent is not None and parent.type == "export_statement"


# -- Finding --------------------------------------------------------------------------------------


def find_import(item: Import, path: str, outlook: Outlook) -> Found:
    """The file of a module specifier, and what it gives."""
    file = resolve_specifier(item.module, path, outlook)
    if file is None:
        return NOTHING
    binds: list[tuple[str, tuple[Target, ...]]] = []
    if item.alias:
        binds.append((item.alias, (Target(file), Target(file, _DEFAULT))))
    stars: tuple[Target, ...] = ()
    for name, here in item.names:
        if name == STAR:
            stars = (Target(file),)
        elif name.startswith(_WHOLE):
            binds.append((here, (Target(file),)))
        else:
            binds.append((here, (Target(file, name),)))
    return Found((file,), tuple(binds), stars)


def resolve_specifier(module: str, path: str, outlook: Outlook) -> str | None:
    """The file that a module specifier means for a file, if it is in the tree."""
    if module.startswith(".") or module == "..":
        return _file_at(normpath(joined(dirname(path), module)), outlook)
    if module.startswith("/"):
        return None
    for spot in (*_by_paths(module, path, outlook), *_by_package(module, path, outlook)):
        found = _file_at(spot, outlook)
        if found is not None:
            return found
    return None


def _file_at(spot: str, outlook: Outlook) -> str | None:
    """The file for a path without or with its extension, or the index of a folder."""
    if spot.startswith("../"):
        return None
    spot = "" if spot == "." else spot
    for written, instead in _WRITTEN.items():
        if spot.endswith(written):
            for ending in instead:
                if outlook.has(f"{spot[: -len(written)]}{ending}"):
                    return f"{spot[: -len(written)]}{ending}"
    for ending in _ENDINGS:
        if spot and outlook.has(f"{spot}{ending}"):
            return f"{spot}{ending}"
    if spot and outlook.has(spot):
        return spot
    return _index_of(spot, outlook)


def _index_of(folder: str, outlook: Outlook) -> str | None:
    if folder and not outlook.has_folder(folder):
        return None
    manifest = _document(joined(folder, "package.json"), outlook)
    for field in ("types", "typings", "source", "module", "main"):
        entry = manifest.get(field)
        if isinstance(entry, str) and folder:
            spot = normpath(joined(folder, entry))
            found = next((p for p in _spellings(spot) if outlook.has(p)), None)
            if found is not None:
                return found
    candidates = (joined(folder, f"index{ending}") for ending in _ENDINGS)
    return next((path for path in candidates if outlook.has(path)), None)


def _spellings(spot: str) -> Iterable[str]:
    yield spot
    for written, instead in _WRITTEN.items():
        if spot.endswith(written):
            yield from (f"{spot[: -len(written)]}{ending}" for ending in instead)
    yield from (f"{spot}{ending}" for ending in _ENDINGS)


def _by_paths(module: str, path: str, outlook: Outlook) -> Iterable[str]:
    """Places by `paths` and `baseUrl` of the nearest tsconfig."""
    for name in ("tsconfig.json", "jsconfig.json"):
        config = outlook.nearest(path, name)
        if config is None:
            continue
        base, paths = _mapping(config, outlook, 0)
        for pattern, targets in sorted(paths.items(), key=lambda kv: -len(kv[0].split("*")[0])):
            head, star, tail = pattern.partition("*")
            if star and module.startswith(head) and module.endswith(tail):
                middle = module[len(head) : len(module) - len(tail)]
                yield from (normpath(target.replace("*", middle)) for target in targets)
            elif module == pattern:
                yield from (normpath(target) for target in targets)
        if base is not None:
            yield normpath(joined(base, module))


def _mapping(config: str, outlook: Outlook, steps: int) -> tuple[str | None, dict[str, list[str]]]:
    """`baseUrl` and `paths` of a tsconfig from the root of the tree, with what it extends."""
    document = _document(config, outlook)
    options = cast("dict[str, Any]", document.get("compilerOptions") or {})
    folder = dirname(config)
    above: tuple[str | None, dict[str, list[str]]] = (None, {})
    extended = document.get("extends")
    if isinstance(extended, str) and extended.startswith(".") and steps < 5:
        target = normpath(joined(folder, extended))
        for spot in (target, f"{target}.json"):
            if spot in outlook.layout:
                above = _mapping(spot, outlook, steps + 1)
    written = options.get("baseUrl")
    base = normpath(joined(folder, written)) if isinstance(written, str) else above[0]
    base = "" if base == "." else base
    paths = options.get("paths")
    if not isinstance(paths, dict):
        return base, above[1]
    start = base if isinstance(written, str) else folder
    found: dict[str, list[str]] = {}
    for pattern, targets in cast("dict[str, Any]", paths).items():
        if isinstance(targets, list):
            listed = [t for t in cast("list[object]", targets) if isinstance(t, str)]
            found[pattern] = [joined(start or "", target) for target in listed]
    return base, found


def _by_package(module: str, path: str, outlook: Outlook) -> Iterable[str]:
    """Places by the name of a package of the same workspace."""
    parts = module.split("/")
    name = "/".join(parts[:2]) if module.startswith("@") else parts[0]
    rest = module[len(name) + 1 :]
    del path
    for manifest in outlook.layout.basenames.get("package.json", ()):
        document = _document(manifest, outlook)
        if document.get("name") == name:
            folder = dirname(manifest)
            if rest:
                yield joined(folder, rest)
                yield joined(folder, f"src/{rest}")
            else:
                yield from _entries(document, folder)
                yield folder or "."
                yield joined(folder, "src")


def _entries(document: Mapping[str, Any], folder: str) -> Iterable[str]:
    exports = document.get("exports")
    main: object = (
        cast("dict[str, object]", exports).get(".") if isinstance(exports, dict) else exports
    )
    while isinstance(main, dict):
        inner = cast("dict[str, object]", main)
        main = next((inner[k] for k in _CONDITIONS if k in inner), None)
    if isinstance(main, str):
        yield normpath(joined(folder, main))


def _document(path: str, outlook: Outlook) -> dict[str, Any]:
    found = outlook.document(path, _parsed)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _parsed(data: bytes) -> object:
    """JSON with comments and trailing commas; None for what is neither."""
    text = data.decode("utf-8-sig", "replace")
    try:
        return json.loads(text)
    except ValueError:
        plain = _TRAILING.sub(r"\1", _COMMENT.sub(lambda m: m.group(1) or "", text))
    try:
        return json.loads(plain)
    except ValueError:
        return None


_SHARED: dict[str, Any] = {
    "read_import": read_import,
    "find_import": find_import,
    "read_exports": read_exports,
    "is_exported": is_exported,
    "name_of": name_of,
    "details": {"method_definition": "method", "type_alias_declaration": "type",
                "enum_declaration": "enum", "internal_module": "namespace"},
    "binding_fields": {
        "variable_declarator": ("name", "type|value"),
        "assignment_expression": ("left", "right"),
        "required_parameter": ("pattern", "type"),
        "optional_parameter": ("pattern", "type"),
        "public_field_definition": ("name", "type|value"),
    },
    "rewrites": ((re.compile(r"\s+"), ""), (re.compile(r"\?\.|!\."), "."),
                 (re.compile(r"<[^()]*>$"), ""), (re.compile(r"#"), "")),
    "self_names": frozenset({"this"}),
    "super_names": frozenset({"super"}),
    "test_path": re.compile(_TESTS),
    "tested_stems": (re.compile(r"^(.+)[._-](?:test|spec)$"),),
}  # fmt: skip

LANGUAGES = (
    Language(
        name="javascript",
        extensions=(".js", ".jsx", ".mjs", ".cjs"),
        grammar=("tree_sitter_javascript", "language"),
        query="javascript.scm",
        **_SHARED,
    ),
    Language(
        name="typescript",
        extensions=(".ts", ".mts", ".cts"),
        grammar=("tree_sitter_typescript", "language_typescript"),
        query="typescript.scm",
        **_SHARED,
    ),
    Language(
        name="tsx",
        extensions=(".tsx",),
        grammar=("tree_sitter_typescript", "language_tsx"),
        query="typescript.scm jsx.scm",
        **_SHARED,
    ),
)
