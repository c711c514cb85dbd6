"""Loading grammars, and saying what to do when they are not installed.

The only module that imports tree-sitter. Grammars come inside installed packages; nothing is
downloaded at run time.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING

from holdfast.codegraph.language import Language
from holdfast.core.errors import UsageError
from holdfast.core.records import record

if TYPE_CHECKING:
    import tree_sitter


@record
class Grammar:
    """A parser and the query for what is looked for."""

    parser: tree_sitter.Parser
    query: tree_sitter.Query

    def captures(self, root: tree_sitter.Node) -> dict[str, list[tree_sitter.Node]]:
        """The nodes that the query finds, by capture."""
        import tree_sitter

        return tree_sitter.QueryCursor(self.query).captures(root)


def require_grammars() -> None:
    """UsageError that says what to install when there is no parser."""
    if find_spec("tree_sitter") is None:
        raise UsageError(
            "The code graph needs tree-sitter, which is not installed.",
            hint="Run: pip install 'holdfast[graph]'",
        )


def is_installed(language: Language) -> bool:
    """Whether the grammar of a language is there."""
    return find_spec("tree_sitter") is not None and find_spec(language.grammar[0]) is not None


@cache
def grammar_of(language_name: str, module: str, function: str, query: str) -> Grammar:
    """The grammar of a language, loaded once for each process."""
    import tree_sitter

    del language_name
    capsule: object = getattr(import_module(module), function)()
    loaded = tree_sitter.Language(capsule)
    text = files("holdfast.codegraph").joinpath("queries", query).read_text("utf-8")
    return Grammar(tree_sitter.Parser(loaded), tree_sitter.Query(loaded, text))


def grammar(language: Language) -> Grammar:
    """The grammar of a language."""
    return grammar_of(language.name, *language.grammar, language.query)
