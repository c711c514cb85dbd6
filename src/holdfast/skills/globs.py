"""File patterns of skills (`**/*.sql`, `src/{app,lib}/*.ts`), and paths that a text mentions.

A pattern fits a path from the project's folder down, or below any folder of it, as ignore files
and editors have it. Invariant: no pattern takes more than a moment; one with too many wild cards
fits nothing. Knows nothing of the file system.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

_MAX_CHARS = 200
_MAX_WILD = 8
_PIECES = re.compile(r"\*\*/|\*\*|\*|\?|\{[^{}]*\}|\[[!^]?[^\[\]]+\]|[^*?{\[]+|.", re.DOTALL)
_EXTENSION = re.compile(r"\*(\.[A-Za-z0-9_.-]+)")
_NEVER = re.compile(r"(?!)")
# A path in running text: something with a dot and a letter after it, or with a slash, or a file
# that is known by its bare name.
_MENTIONED = re.compile(
    r"(?:[\w.@\[\]~-]+[/\\])+[\w.@\[\]-]*\w\]?|\.?[\w@-][\w.@-]*\.[A-Za-z][A-Za-z0-9]{0,9}\b"
    r"|\b(?:Dockerfile|Makefile|Jenkinsfile|Procfile|Gemfile|Rakefile|Vagrantfile|Brewfile)\b"
)
_MAX_MENTIONED = 50
_TEXT_CHARS = 20_000


@lru_cache(maxsize=4096)
def glob_pattern(glob: str) -> re.Pattern[str]:
    """The regular expression for a pattern, over paths with forward slashes."""
    plain = glob.strip().replace("\\", "/").removeprefix("./").lstrip("/")
    pieces = _PIECES.findall(plain)
    wild = sum(piece[0] in "*?" for piece in pieces)
    if not plain or plain.startswith("!") or len(plain) > _MAX_CHARS or wild > _MAX_WILD:
        return _NEVER
    if plain.endswith("/"):
        pieces.append("**")
    try:
        return re.compile(f"(?:.*/)?{''.join(map(_translated, pieces))}", re.IGNORECASE)
    except re.error:
        return _NEVER


def _translated(piece: str) -> str:
    if piece == "**/":
        return "(?:.*/)?"
    if piece == "**":
        return ".*"
    if piece[0] == "*":
        return "[^/]*"
    if piece == "?":
        return "[^/]"
    if piece[0] == "{" and len(piece) > 1:
        choices = piece[1:-1].split(",")
        return f"(?:{'|'.join(''.join(map(_translated, _PIECES.findall(c))) for c in choices)})"
    if piece[0] == "[" and len(piece) > 1:
        inner = piece[1:-1].replace("\\", "")
        return f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"
    return re.escape(piece)


class PathTable:
    """Many paths, to be asked with many patterns: most patterns look at a few of them only."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        self._by_extension: defaultdict[str, list[str]] = defaultdict(list)
        for path in paths:
            name = path.rpartition("/")[2].lower()
            self._by_name[name].append(path)
            for start in (i for i, c in enumerate(name) if c == "."):
                self._by_extension[name[start:]].append(path)

    def fitting(self, glob: str) -> Iterator[str]:
        """The paths that a pattern fits, in their order."""
        pattern = glob_pattern(glob)
        return (path for path in self._candidates(glob) if pattern.fullmatch(path))

    def _candidates(self, glob: str) -> Sequence[str]:
        last = glob.strip().replace("\\", "/").rpartition("/")[2].lower()
        if last and not re.search(r"[*?{\[]", last):
            return self._by_name.get(last, ())
        extension = _EXTENSION.fullmatch(last)
        return self._by_extension.get(extension[1], ()) if extension else self._paths


def mentioned_paths(text: str) -> tuple[str, ...]:
    """What looks like a path in a text, with forward slashes, each once."""
    found = (m.group().replace("\\", "/") for m in _MENTIONED.finditer(text[:_TEXT_CHARS]))
    return tuple(dict.fromkeys(found))[:_MAX_MENTIONED]


def fits_any(path: str, globs: Iterable[str]) -> str | None:
    """The first of the patterns that fits a path."""
    return next((glob for glob in globs if glob_pattern(glob).fullmatch(path)), None)
