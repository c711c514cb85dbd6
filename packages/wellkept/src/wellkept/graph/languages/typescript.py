"""TypeScript and JavaScript: ES modules, CommonJS, exports.

`ts_specifiers` resolves module specifiers to files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from wellkept.graph.languages.ts_specifiers import resolve_specifier
from wellkept.graph.parse.file_facts import STAR, Import
from wellkept.graph.parse.language import NOTHING, ImportTarget, Language, ResolvedImport, Text

if TYPE_CHECKING:
    from tree_sitter import Node

    from wellkept.graph.parse.resolver_context import ResolverContext

_COMPONENT_SCRIPT = re.compile(rb"<script\b[^>]*>(.*?)</script\s*>", re.DOTALL | re.IGNORECASE)
_NOT_LINE_END = re.compile(rb"[^\r\n]")
_STRINGS = ("string", "template_string")
_DEFAULT, _WHOLE = "default", "*as"
"""Special names: the default export, and the whole module as an object."""


# -- Reading --------------------------------------------------------------------------------------


def read_import(node: Node, text: Text) -> Iterable[Import]:
    """`import … from`, `export … from`, `require(…)`, `import(…)`, `import a = require(…)`, and
    `declare module "…"`, which augments another file."""
    line = node.start_point.row + 1
    if node.type == "module":
        name = node.child_by_field_name("name")
        if name is not None and name.type == "string" and _is_module(node):
            yield Import(_bare(text(name)), line=line)
        return
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


def _is_module(node: Node) -> bool:
    """Whether a file imports or exports. Otherwise `declare module` declares a new module."""
    while node.parent is not None:
        node = node.parent
    return any(c.type in ("import_statement", "export_statement") for c in node.children)


def _bare(quoted: str) -> str:
    return quoted.strip("\"'`")


def _required(node: Node, text: Text, line: int) -> Iterable[Import]:
    function, arguments = (node.child_by_field_name(n) for n in ("function", "arguments"))
    if function is None or arguments is None or text(function) not in ("require", "import"):
        return
    given = (child for child in arguments.named_children if child.type != "comment")
    first = next(given, None)
    parent = node.parent
    while parent is not None and parent.type in ("await_expression", "parenthesized_expression"):
        parent = parent.parent
    name = parent.child_by_field_name("name") if parent is not None else None
    if first is None or first.type not in _STRINGS or "${" in text(first):
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
    """The imported names as pairs, and the name of the whole module."""
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
            return ((_WHOLE, text(named)),) if named is not None else ()
    return ((STAR, ""),)


def read_exports(node: Node, text: Text) -> Iterable[tuple[str, str]]:
    """Exports: `export …`, `export default …`, `module.exports = …`."""
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
    """The name of a definition; for an assignment, the last part of its target."""
    if node.type == "assignment_expression":
        left = node.child_by_field_name("left")
        written = text(left) if left is not None else ""
        return written.rpartition(".")[2] if written.startswith(("exports.", "module.")) else ""
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    return text(name).strip("\"'#") if name is not None else ""


def is_exported(node: Node, _: str, __: Text) -> bool:
    """Whether a definition is in an export statement."""
    parent = node.parent
    if parent is not None and parent.type in ("lexical_declaration", "variable_declaration"):
        parent = parent.parent
    return parent is not None and parent.type == "export_statement"


# -- Resolving ------------------------------------------------------------------------------------


def resolve_import(item: Import, path: str, context: ResolverContext) -> ResolvedImport:
    """The file of a module specifier, and the targets of the imported names."""
    file = resolve_specifier(item.module, path, context)
    if file is None:
        return NOTHING
    binds: list[tuple[str, tuple[ImportTarget, ...]]] = []
    if item.alias:
        binds.append((item.alias, (ImportTarget(file), ImportTarget(file, _DEFAULT))))
    stars: tuple[ImportTarget, ...] = ()
    for name, here in item.names:
        if name == STAR:
            stars = (ImportTarget(file),)
        elif name == _WHOLE:
            binds.append((here, (ImportTarget(file),)))
        else:
            binds.append((here, (ImportTarget(file, name),)))
    return ResolvedImport((file,), tuple(binds), stars)


_SHARED: dict[str, Any] = {
    "read_import": read_import,
    "resolve_import": resolve_import,
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
    "return_field": "return_type",
    "type_wrappers": frozenset("Promise PromiseLike Readonly Partial Required NonNullable Awaited"
                               " readonly typeof null undefined".split()),
    "promotion_modifiers": frozenset({"accessibility_modifier", "readonly", "override_modifier"}),
    "rewrites": ((re.compile(r"\s+"), ""), (re.compile(r"\?\.|!\."), "."),
                 (re.compile(r"<[^()]*>$"), ""), (re.compile(r"#"), "")),
    "self_names": frozenset({"this"}),
    "super_names": frozenset({"super"}),
    "tested_stems": (re.compile(r"^(.+)[._-](?:test|spec)$"),),
}  # fmt: skip


def only_scripts(source: bytes) -> bytes:
    """The scripts of a component, with blanks for template and styles."""
    parts, end = list[bytes](), 0
    for script in _COMPONENT_SCRIPT.finditer(source):
        parts += (_NOT_LINE_END.sub(b" ", source[end : script.start(1)]), script[1])
        end = script.end(1)
    return b"".join((*parts, _NOT_LINE_END.sub(b" ", source[end:])))


LANGUAGES = (
    Language(
        name="javascript",
        grammar=("tree_sitter_javascript", "language"),
        query="javascript.scm",
        **_SHARED,
    ),
    Language(
        name="typescript",
        grammar=("tree_sitter_typescript", "language_typescript"),
        query="typescript.scm",
        **_SHARED,
    ),
    Language(
        name="tsx",
        grammar=("tree_sitter_typescript", "language_tsx"),
        query="typescript.scm jsx.scm",
        **_SHARED,
    ),
    Language(
        name="component",
        grammar=("tree_sitter_typescript", "language_typescript"),
        query="typescript.scm",
        embedded=only_scripts,
        **_SHARED,
    ),
)
