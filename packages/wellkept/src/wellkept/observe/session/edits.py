"""Name what an edit changed: definitions, headings and keys instead of lines.

An edit is often a fragment inside a function; the current file, if readable, tells which one.
Definitions are found by simple rules for many languages, which work on fragments that no parser
would accept; extents follow indentation. Invariant: it never fails; at worst it names nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

from wellkept.core.languages import language_of
from wellkept.core.records import record, replace
from wellkept.core.session.events import Edit

_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|override|async|virtual|abstract|open"
    r"|sealed|suspend|inline|export|default|declare|readonly|data|partial|unsafe|const)\s+)*"
)

FileKind: TypeAlias = Literal["code", "test", "config", "document", "other"]
ReadFile: TypeAlias = Callable[[str], "str | None"]

_TEST_PATH = re.compile(
    r"(^|/)(tests?|__tests__|spec|specs)/|(^|/)test_[^/]+$|[._-](test|spec|tests)\.[^/.]+$"
    r"|Tests?\.\w+$"
)
_CONFIG_NAMES = frozenset(
    "makefile dockerfile containerfile procfile gemfile pipfile justfile .gitignore .dockerignore"
    " .editorconfig .npmrc .eslintrc .prettierrc .babelrc requirements.txt constraints.txt go.mod"
    " cmakelists.txt".split()
)
_CONFIG_SUFFIXES = frozenset(
    ".toml .yaml .yml .json .jsonc .ini .cfg .conf .env .properties .lock".split()
)
_DOCUMENT_SUFFIXES = frozenset(".md .mdx .rst .txt .adoc".split())
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$")
_KEY = re.compile(r"""^\s*(?:-\s+)?["']?([A-Za-z_@][\w./@-]{0,60})["']?\s*(?:[:=]|[<>~!]=)""")
_TABLE = re.compile(r"^\s*\[+([\w.\-\"]+)\]+")
_NOT_TELLING = re.compile(
    r"^\s*(?:(?:from\s+\S+\s+)?import\b|use\s|#include|require\b|//|#|/?\*|$|[\]})\[({,;]*$)"
)
_MAX_NAMES = 12
_SIGNS = (("+", "added"), ("~", "changed"), ("-", "removed"))


@record
class _Named:
    """Names and the text that each stands for; lines that belong to none are `loose`."""

    texts: dict[str, str]
    loose: str


@lru_cache(maxsize=1024)
def file_kind(path: str) -> FileKind:
    """The kind of file that a path names."""
    pure = PurePosixPath(path)
    name, suffix = pure.name.lower(), pure.suffix.lower()
    language = language_of(path)
    if language is not None:
        is_test = _TEST_PATH.search(path) or language.test_path.search(path)
        return "test" if is_test else "code"
    if name in _CONFIG_NAMES or suffix in _CONFIG_SUFFIXES or name.startswith(".env"):
        return "config"
    return "document" if suffix in _DOCUMENT_SUFFIXES else "other"


def changed_names(edit: Edit, *, path: str, is_known: bool, read_file: ReadFile) -> tuple[str, ...]:
    """The names that an edit added (+), changed (~) or removed (-); `path` is relative to the
    project. Of a file that was seen before clients do not always send the old text."""
    kind = file_kind(path)
    before, after = _named(edit.before, path, kind), _named(edit.after, path, kind)
    added = [n for n in after.texts if n not in before.texts]
    removed = [n for n in before.texts if n not in after.texts]
    changed = [n for n in after.texts if n in before.texts and after.texts[n] != before.texts[n]]
    if not edit.before.strip():
        added = [name for name in added if "." not in name] or added
        added, changed = ([], added) if is_known else (added, changed)
    elif after.loose != before.loose:
        changed += [n for n in _around(edit, path, kind, read_file) if n not in (*changed, *added)]
    marked = (("+", added), ("~", changed), ("-", removed))
    return tuple(f"{sign}{name}" for sign, names in marked for name in names)[:_MAX_NAMES]


def change_fact(path: str, names: Sequence[str], *, is_new: bool) -> str:
    """A change as a record: the file, and every name."""
    parts = [
        f"{verb} {', '.join(found)}"
        for sign, verb in _SIGNS
        if (found := [name[1:] for name in names if name[0] == sign])
    ]
    return ": ".join(filter(None, (path, "; ".join((*(("new file",) if is_new else ()), *parts)))))


# -- Names in a piece of text ---------------------------------------------------------------------


def _named(text: str, path: str, kind: FileKind) -> _Named:
    if kind == "document":
        return _headings(text)
    if kind == "config":
        return _keys(text, path)
    return _definitions(text, path)


def _definitions(text: str, path: str) -> _Named:
    lines = text.splitlines()
    found = definitions(text, path=path)
    texts: dict[str, str] = {}
    for d in found:
        texts[d.name] = texts.get(d.name, "") + own_text(d, found, lines)
    inside = {n for d in found for n in range(d.first, d.end)}
    loose = [line.strip() for n, line in enumerate(lines) if n not in inside]
    return _Named(texts, "\n".join(line for line in loose if not _NOT_TELLING.match(line)))


def _headings(text: str) -> _Named:
    texts: dict[str, str] = {}
    loose: list[str] = []
    heading = ""
    for line in text.splitlines():
        if match := _HEADING.match(line):
            heading = str(match.group(1))
            texts.setdefault(heading, "")
        elif not heading:
            loose.append(line.strip())
        else:
            texts[heading] += line.strip()
    return _Named(texts, "\n".join(loose))


def _keys(text: str, path: str) -> _Named:
    texts: dict[str, str] = {}
    tables = PurePosixPath(path).suffix.lower() in (".toml", ".ini", ".cfg")
    for line in text.splitlines():
        found = (_TABLE.match(line) if tables else None) or _KEY.match(line)
        if found and not line.lstrip().startswith("#"):
            texts[found.group(1)] = texts.get(found.group(1), "") + line.strip().rstrip(",")
    return _Named(texts, "")


def _around(edit: Edit, path: str, kind: FileKind, read_file: ReadFile) -> list[str]:
    """The definition or heading that a fragment lies in, looked up in the file as it is now."""
    text = read_file(edit.path)
    at = text.find(edit.after) if text and edit.after.strip() else -1
    if text is None or at < 0:
        return []
    line = text.count("\n", 0, at) + _first_difference(edit)
    if kind == "document":
        heads = [m for row in text.splitlines()[: line + 1] if (m := _HEADING.match(row))]
        return [heads[-1].group(1)] if heads else []
    found = enclosing(definitions(text, path=path), line)
    return [found.name] if found else []


def _first_difference(edit: Edit) -> int:
    pairs = zip(edit.before.splitlines(), edit.after.splitlines(), strict=False)
    return next((n for n, (old, new) in enumerate(pairs) if old != new), 0)


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
