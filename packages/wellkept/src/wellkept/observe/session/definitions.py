"""Find definitions in source text by simple rules for many languages.

Works on fragments that no parser would accept. Extents follow indentation. Knows nothing of edits.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import PurePosixPath

from wellkept.core.records import record, replace

_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|override|async|virtual|abstract|open"
    r"|sealed|suspend|inline|export|default|declare|readonly|data|partial|unsafe|const)\s+)*"
)


def _rules(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(r"^(?P<indent>[ \t]*)" + pattern) for pattern in patterns)


_PYTHON = _rules(
    r"(?:async\s+)?def\s+(?P<name>\w+)",
    r"class\s+(?P<owner>\w+)",
)
_SCRIPT = _rules(
    _MODIFIERS + r"function\s*\*?\s*(?P<name>[\w$]+)",
    _MODIFIERS + r"class\s+(?P<owner>[\w$]+)",
    _MODIFIERS + r"(?:interface|enum|namespace)\s+(?P<owner>[\w$]+)",
    _MODIFIERS + r"type\s+(?P<name>[\w$]+)(?:<[^=]*>)?\s*=",
    _MODIFIERS + r"(?:const|let|var)\s+(?P<name>[\w$]+)\s*(?::[^=]+)?=\s*(?:async\s*)?"
    r"(?:function\b|(?:\([^)]*\)|[\w$]+)\s*(?::[^=]+)?=>)",
    r"(?:(?:public|private|protected|static|async|get|set|readonly|override)\s+)*\*?"
    r"(?P<name>[#\w$]+)\s*(?:<[^>(]*>)?\([^;]*\)\s*(?::\s*[^;={]+)?\{\s*$",
)
_GO = _rules(
    r"func\s+(?:\(\s*(?:\w+\s+)?\*?(?P<of>\w+)[^)]*\)\s+)?(?P<name>\w+)",
    r"type\s+(?P<owner>\w+)\s+(?:struct|interface)\b",
)
_RUST = _rules(
    r"(?:pub(?:\([^)]*\))?\s+)?(?:(?:async|const|unsafe|default)\s+)*fn\s+(?P<name>\w+)",
    r"(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|trait|mod)\s+(?P<owner>\w+)",
    r"(?:unsafe\s+)?impl(?:<[^>]*>)?\s+(?:[\w:]+(?:<[^>]*>)?\s+for\s+)?(?P<owner>\w+)",
)
_BRACED = _rules(
    _MODIFIERS + r"(?:class|interface|enum|record|struct|trait|object|protocol|extension)\s+"
    r"(?P<owner>\w+)",
    _MODIFIERS + r"(?:fun|func|function|def)\s+(?:<[^>]*>\s*)?(?P<name>\w+)",
    r"(?:(?:public|private|protected|internal|static|final|override|async|virtual|abstract"
    r"|synchronized)\s+)+[\w<>\[\],.? ]*?\b(?P<name>\w+)\s*\([^;]*$",
)
_C = _rules(
    r"(?:class|struct|namespace|enum(?: class)?)\s+(?P<owner>\w+)[^;()]*$",
    r"(?!(?:return|else|if|for|while|switch|typedef|case)\b)[A-Za-z_][\w:<>,*& ]*?[\s*&]"
    r"(?P<name>(?:\w+::)*~?\w+)\s*\([^;]*$",
)
_RUBY = _rules(
    r"def\s+(?:self\.)?(?P<name>\w+[?!=]?)",
    r"(?:class|module)\s+(?P<owner>[\w:]+)",
)
_SHELL = _rules(
    r"function\s+(?P<name>[\w:-]+)",
    r"(?P<name>[\w:-]+)\s*\(\)\s*\{?\s*$",
)
_SQL = _rules(
    r"(?i:create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(?:unique\s+)?"
    r"(?:table|view|index|function|trigger|procedure|type)\s+(?:if\s+not\s+exists\s+)?)"
    r"(?P<name>[\w.\"]+)",
    r"(?i:alter\s+table\s+(?:if\s+exists\s+)?)(?P<name>[\w.\"]+)",
)

_LANGUAGES: dict[str, tuple[re.Pattern[str], ...]] = {
    **dict.fromkeys((".py", ".pyi", ".pyx"), _PYTHON),
    **dict.fromkeys(
        (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"), _SCRIPT
    ),
    ".go": _GO,
    ".rs": _RUST,
    **dict.fromkeys((".java", ".kt", ".kts", ".cs", ".scala", ".swift", ".php", ".dart"), _BRACED),
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".m", ".mm"), _C),
    **dict.fromkeys((".rb", ".rake"), _RUBY),
    **dict.fromkeys((".sh", ".bash", ".zsh"), _SHELL),
    ".sql": _SQL,
}
_NOT_NAMES = frozenset(
    "if for while switch catch return function with elif else do try new await super sizeof"
    " throw".split()
)
_CLOSERS = ("}", ")", "]", "{")


MAX_DEFINITIONS = 500


@record
class Definition:
    """A named piece of code: lines `first` up to, not including, `end`."""

    name: str
    is_owner: bool
    indent: int
    first: int
    end: int


def definitions(text: str, *, path: str) -> list[Definition]:
    """The definitions in a text, in order; members are named after what holds them."""
    rules = _rules_for(path)
    if not rules:
        return []
    lines = text.splitlines()
    may_define = _any_of(rules).match
    found = [
        d
        for number, line in enumerate(lines)
        if may_define(line) and (d := _definition(rules, line, number))
    ]
    found = [replace(d, end=_end(lines, d)) for d in found[:MAX_DEFINITIONS]]
    return _qualified(found)


def enclosing(found: list[Definition], line: int) -> Definition | None:
    """The innermost definition around a line."""
    around = [d for d in found if d.first <= line < d.end]
    return max(around, key=lambda d: d.first, default=None)


def own_text(definition: Definition, found: list[Definition], lines: list[str]) -> str:
    """The text of a definition without the definitions inside it."""
    inner = [
        d for d in found if definition.first < d.first < definition.end and d is not definition
    ]
    skipped = {n for d in inner for n in range(d.first, d.end)}
    kept = [lines[n].rstrip() for n in range(definition.first, definition.end) if n not in skipped]
    return "\n".join(line for line in kept if line.strip())


@lru_cache(maxsize=1024)
def _rules_for(path: str) -> tuple[re.Pattern[str], ...]:
    return _LANGUAGES.get(PurePosixPath(path).suffix.lower(), ())


@cache
def _any_of(rules: tuple[re.Pattern[str], ...]) -> re.Pattern[str]:
    """One pattern for the lines that some rule fits: most lines define nothing."""
    return re.compile("|".join(re.sub(r"\(\?P<\w+>", "(?:", rule.pattern) for rule in rules))


def _definition(rules: tuple[re.Pattern[str], ...], line: str, number: int) -> Definition | None:
    if not line or len(line) > 400:
        return None
    for rule in rules:
        match = rule.match(line)
        if match is None:
            continue
        parts = match.groupdict()
        owner = parts.get("owner")
        name = owner or parts.get("name") or ""
        if name in _NOT_NAMES:
            continue
        if of := parts.get("of"):
            name = f"{of}.{name}"
        indent = len(match["indent"].expandtabs(4))
        return Definition(name.strip('"'), owner is not None, indent, number, number + 1)
    return None


def _end(lines: list[str], definition: Definition) -> int:
    """The first line after the definition that stands no deeper and opens something else."""
    last = definition.first
    for number in range(definition.first + 1, len(lines)):
        line = lines[number]
        if not line.strip():
            continue
        indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
        if indent < definition.indent:
            break
        if indent == definition.indent and not line.lstrip().startswith(_CLOSERS):
            if line.strip() in ("end", "end;"):
                last = number
            break
        last = number
    return last + 1


def _qualified(found: list[Definition]) -> list[Definition]:
    named: list[Definition] = []
    for d in found:
        owners = [o for o in named if o.is_owner and o.first < d.first < o.end]
        owner = max(owners, key=lambda o: o.first, default=None)
        named.append(replace(d, name=f"{owner.name}.{d.name}") if owner else d)
    return named
