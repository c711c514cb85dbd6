"""Languages with definitions only, if their grammar is installed. No imports, no calls.

Definitions are found by the names of the grammar's node kinds. Without the grammar, the file is in
the graph as skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from wellkept.core import languages as core_languages
from wellkept.graph.parse.file_facts import Import
from wellkept.graph.parse.language import BY_NODE_KINDS, NOTHING, Language, ResolvedImport, Text

if TYPE_CHECKING:
    from tree_sitter import Node

    from wellkept.graph.parse.resolver_context import ResolverContext

_NAMES: Final = ("identifier", "simple_identifier", "type_identifier", "word", "constant")


def name_of(node: Node, text: Text) -> str:
    """The name field of a definition, else its first identifier."""
    child = node.child_by_field_name("name")
    if child is None:
        child = next((c for c in node.named_children if c.type in _NAMES), None)
    return "" if child is None else text(child).replace("::", ".").replace(":", ".")


def _no_imports(_: Node, __: Text) -> Iterable[Import]:
    return ()


def _nothing(_: Import, __: str, ___: ResolverContext) -> ResolvedImport:
    return NOTHING


def known_by_symbols(name: str, grammar: tuple[str, str]) -> Language:
    """A language of which only definitions are read."""
    return Language(
        name=name,
        grammar=grammar,
        query=BY_NODE_KINDS,
        read_import=_no_imports,
        resolve_import=_nothing,
        name_of=name_of,
    )


LANGUAGES = tuple(
    known_by_symbols(one.name, (f"tree_sitter_{one.name}", "language"))
    for one in core_languages.LANGUAGES
    if one.graph == "others"
)
