"""File patterns of skills (`**/*.sql`, `src/{app,lib}/*.ts`), and paths mentioned in text.

A pattern matches a path relative to the project's folder, or below any folder of it, as in ignore
files and editors. Case is ignored. Invariant: matching takes time in proportion to the length of
pattern and path (patterns come from checkouts that are not trusted); an invalid pattern matches
nothing. Knows nothing of the file system.
"""

from __future__ import annotations

import fnmatch
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

MAX_GLOB_CHARS = 200
_MAX_CHOICES = 32
_BRACES = re.compile(r"\{([^{}]*)\}")
_WILD = re.compile(r"[*?{\[]")
_EXTENSION = re.compile(r"\*(\.[A-Za-z0-9_.-]+)")
# A path in running text: a dot with a letter after it, a slash, or a well-known file name.
# Matches start at word boundaries only; otherwise a long word takes quadratic time.
_MENTIONED = re.compile(
    r"(?<![\w.@\[\]~/\\-])(?:"
    r"(?:[\w.@\[\]~-]+[/\\])+[\w.@\[\]-]*\w\]?"
    r"|\.?[\w@-][\w.@-]*\.[A-Za-z][A-Za-z0-9]{0,9}\b"
    r"|\b(?:Dockerfile|Makefile|Jenkinsfile|Procfile|Gemfile|Rakefile|Vagrantfile|Brewfile)\b)"
)
_NO_PATHS = frozenset(("e.g", "i.e", "z.B", "and/or"))
_MAX_MENTIONED = 50
_TEXT_CHARS = 20_000

_Parts: TypeAlias = tuple[re.Pattern[str] | None, ...]
"""The steps of a pattern; None means any number of folders."""


def glob_matches(glob: str, path: str) -> bool:
    """Whether a pattern matches a path with forward slashes."""
    names = path.lower().split("/")
    return any(_parts_fit(parts, names) for parts in _compiled(glob))


def path_matcher(glob: str) -> Callable[[str], bool]:
    """Whether a pattern fits paths in their own case: `*.py` at any depth, one with a slash from
    the top. As fast as `glob_matches`; an empty or too long pattern fits nothing."""
    plain = glob.removeprefix("./")
    if not plain.strip("/") or len(plain) > MAX_GLOB_CHARS:
        return lambda _path: False
    whole = plain + ("**" if plain.endswith("/") else "")
    top = "" if "/" in whole else "**/"
    found = [_plain_steps(top + one) for one in islice(_choices(whole), _MAX_CHOICES)]
    return lambda path: any(_parts_fit(parts, path.split("/")) for parts in found)


def _plain_steps(glob: str) -> _Parts:
    steps = [step for step in glob.split("/") if step]
    return tuple(None if set(s) == {"*"} and len(s) > 1 else _step(s) for s in steps)


def _parts_fit(parts: _Parts, names: Sequence[str]) -> bool:
    last = parts[-1]
    if last is not None and not last.match(names[-1]):
        return False
    positions = _onwards({0}, parts)
    for name in names:
        stepped: set[int] = set()
        for position in positions:
            part = parts[position] if position < len(parts) else _NEVER
            if part is None:
                stepped.add(position)
            elif part.match(name):
                stepped.add(position + 1)
        positions = _onwards(stepped, parts)
    return len(parts) in positions


def _onwards(positions: set[int], parts: _Parts) -> set[int]:
    """The positions, and those behind a step that may be left out."""
    for position in sorted(positions):
        here = position
        while here < len(parts) and parts[here] is None:
            here += 1
            positions.add(here)
    return positions


_NEVER = re.compile(r"(?!)")


@lru_cache(maxsize=4096)
def _compiled(glob: str) -> tuple[_Parts, ...]:
    plain = glob.strip().replace("\\", "/").removeprefix("./").strip().lower()
    if not plain.strip("/") or plain.startswith("!") or len(plain) > MAX_GLOB_CHARS:
        return ()
    whole = plain.lstrip("/") + ("**" if plain.endswith("/") else "")
    return tuple(_plain_steps(f"**/{choice}") for choice in islice(_choices(whole), _MAX_CHOICES))


def _choices(glob: str) -> Iterator[str]:
    """The patterns that braces expand to."""
    braces = _BRACES.search(glob)
    if braces is None:
        yield glob
        return
    for choice in braces[1].split(","):
        yield from _choices(glob[: braces.start()] + choice + glob[braces.end() :])


def _step(step: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(step))  # uses atomic groups: no backtracking


class PathTable:
    """Many paths, indexed by name and extension, so that most patterns try only a few."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._fitting: dict[tuple[str, int], tuple[str, ...]] = {}
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        self._by_extension: defaultdict[str, list[str]] = defaultdict(list)
        for path in paths:
            name = path.rpartition("/")[2].lower()
            self._by_name[name].append(path)
            for start in (i for i, c in enumerate(name) if c == "."):
                self._by_extension[name[start:]].append(path)

    def matching(self, glob: str, *, limit: int) -> tuple[str, ...]:
        """The first paths that match a pattern; cached, since many skills share patterns."""
        known = self._fitting.get((glob, limit))
        if known is None:
            fit = (path for path in self._candidates(glob) if glob_matches(glob, path))
            known = self._fitting[glob, limit] = tuple(islice(fit, limit))
        return known

    def _candidates(self, glob: str) -> Sequence[str]:
        last = glob.strip().replace("\\", "/").rpartition("/")[2].lower()
        if last and not _WILD.search(last) and "}" not in last:
            return self._by_name.get(last, ())
        extension = _EXTENSION.fullmatch(last)
        return self._by_extension.get(extension[1], ()) if extension else self._paths


def mentioned_paths(text: str) -> tuple[str, ...]:
    """What looks like a path in a text, with forward slashes, each once."""
    found = (m.group().replace("\\", "/") for m in _MENTIONED.finditer(text[:_TEXT_CHARS]))
    return tuple(path for path in dict.fromkeys(found) if path not in _NO_PATHS)[:_MAX_MENTIONED]


def matching_glob(path: str, globs: Iterable[str]) -> str | None:
    """The first pattern that matches a path."""
    return next((glob for glob in globs if glob_matches(glob, path)), None)
