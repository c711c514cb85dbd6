"""Loads tree-sitter grammars, and explains what to install if they are missing.

The only module of the code graph that imports tree-sitter. Grammars come from installed packages;
nothing is downloaded at run time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.graph.parse.language import BY_NODE_KINDS, Language

if TYPE_CHECKING:
    import tree_sitter

_CAPTURES: Final = {
    "class": "class", "struct": "class", "enum": "class", "object": "class", "record": "class",
    "contract": "class", "interface": "interface", "trait": "interface", "protocol": "interface",
    "module": "module", "namespace": "module", "function": "function", "method": "function",
    "constructor": "function", "subroutine": "function",
}  # fmt: skip
_DEFINITION: Final = re.compile(
    rf"(?:local_|abstract_|short_)?({'|'.join(_CAPTURES)})_(?:definition|declaration|item|statement)"
)


@record
class _Grammar:
    """A parser, the query for definitions and uses, and the query for syntax errors."""

    parser: tree_sitter.Parser
    query: tree_sitter.Query
    errors: tree_sitter.Query

    def captures(self, root: tree_sitter.Node) -> dict[str, list[tree_sitter.Node]]:
        """The nodes that the query finds, by capture."""
        import tree_sitter

        return tree_sitter.QueryCursor(self.query).captures(root)

    def error_bytes(self, root: tree_sitter.Node) -> int:
        """Number of bytes with syntax errors."""
        import tree_sitter

        found = tree_sitter.QueryCursor(self.errors).captures(root).get("error", ())
        return sum(node.end_byte - node.start_byte for node in found)


def require_grammars() -> None:
    """UsageError that says what to install when there are no grammars.

    The parser itself always is installed: command lines are read with it.
    """
    if find_spec("tree_sitter_python") is None:
        raise UsageError(
            "The code graph needs the grammars of tree-sitter, which are not installed.",
            hint="Run: pip install 'wellkept[graph]'",
        )


def is_installed(language: Language) -> bool:
    """Whether the grammar of a language is installed."""
    return find_spec("tree_sitter") is not None and find_spec(language.grammar[0]) is not None


@cache
def _loaded(module: str, function: str, query: str) -> _Grammar:
    """A grammar with a query, cached per process."""
    import tree_sitter

    capsule: object = getattr(import_module(module), function)()
    loaded = tree_sitter.Language(capsule)
    if query == BY_NODE_KINDS:
        text = definitions_of(
            loaded.node_kind_for_id(number) or ""
            for number in range(loaded.node_kind_count)
            if loaded.node_kind_is_named(number) and loaded.node_kind_is_visible(number)
        )
    else:
        folder = files("wellkept.graph.parse") / "queries"
        text = "\n".join((folder / name).read_text("utf-8") for name in query.split())
    errors = tree_sitter.Query(loaded, "(ERROR) @error")
    return _Grammar(tree_sitter.Parser(loaded), tree_sitter.Query(loaded, text), errors)


def definitions_of(node_kinds: Iterable[str]) -> str:
    """A query for the node kinds that are named like definitions."""
    lines: list[str] = []
    for kind in dict.fromkeys(node_kinds):
        found = _DEFINITION.fullmatch(kind)
        if found is not None:
            lines.append(f"({kind}) @{_CAPTURES[found[1]]}")
    return "\n".join(lines)


def grammar(language: Language) -> _Grammar:
    """The grammar of a language."""
    return _loaded(*language.grammar, language.query)
