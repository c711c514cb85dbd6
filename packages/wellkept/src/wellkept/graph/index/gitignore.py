"""Matches paths against ignore files exactly as git does, for trees without git.

Later patterns override earlier ones, deeper ignore files override higher ones. Nothing below an
ignored folder can be included again. Why not `pathspec`: see docs/decisions/dependencies.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from wellkept.core.records import record

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\s",
    "xdigit": "0-9A-Fa-f",
}
_CLASS = re.compile(rf"\[:({'|'.join(_CLASSES)}):\]")
_SET = re.compile(r"\[([!^]?)(\]?(?:\[:\w+:\]|\\.|[^\]\\])*)\]", re.DOTALL)
"""A bracket expression; its first character may be a closing bracket."""

_STAR = "[^/]*"
_FOLDERS = re.compile(r"\.\*")
"""Any number of folders, in an expression."""


@record
class IgnorePattern:
    """One line of an ignore file, for paths relative to its folder."""

    regex: re.Pattern[str]
    negated: bool
    folders_only: bool


def read_patterns(text: str) -> tuple[IgnorePattern, ...]:
    """The patterns of an ignore file."""
    found = (_pattern(line) for line in text.splitlines())
    return tuple(pattern for pattern in found if pattern is not None)


def is_ignored(
    path: str, *, is_folder: bool, levels: Sequence[tuple[str, tuple[IgnorePattern, ...]]]
) -> bool:
    """Whether ignore files exclude a path. `levels` are (folder, patterns), outermost first."""
    for folder, patterns in reversed(levels):
        below = path[len(folder) + 1 :] if folder else path
        for pattern in reversed(patterns):
            if (is_folder or not pattern.folders_only) and pattern.regex.fullmatch(below):
                return not pattern.negated
    return False


def is_below_ignored(path: str, patterns: tuple[IgnorePattern, ...]) -> bool:
    """Whether the ignore file of the root excludes a file or one of its folders."""
    levels = [("", patterns)]
    folder = ""
    for part in path.split("/")[:-1]:
        folder = f"{folder}/{part}" if folder else part
        if is_ignored(folder, is_folder=True, levels=levels):
            return True
    return is_ignored(path, is_folder=False, levels=levels)


def _pattern(line: str) -> IgnorePattern | None:
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[1:] if negated else text
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    anchored = "/" in text
    return IgnorePattern(_compiled(text.lstrip("/"), anchored), negated, folders_only)


@lru_cache(maxsize=4096)
def _compiled(text: str, anchored: bool) -> re.Pattern[str]:
    parts: list[str] = []
    at = 0
    while at < len(text):
        part, at = _translated(text, at)
        parts.append(part)
    body = ("" if anchored else "(?:.*/)?") + _joined(parts)
    try:
        return re.compile(body, re.DOTALL)
    except re.error:  # a broken character class
        return re.compile(re.escape(text))


def _joined(parts: Sequence[str]) -> str:
    """The parts as one expression. What stands between two stars is found at its first place and
    kept there: another place never helps, and trying all of them takes forever on hostile names."""
    stars = [n for n, part in enumerate(parts) if part == _STAR]
    if not stars:
        return "".join(parts)
    body = "".join(parts[: stars[0]])
    for start, end in zip(stars, [*stars[1:], len(parts)], strict=True):
        between = "".join(parts[start + 1 : end])
        if end < len(parts) and not _FOLDERS.search(between):
            body += f"(?>[^/]*?{between})"
        else:
            body += _STAR + between
    return body


def _translated(text: str, at: int) -> tuple[str, int]:
    """The regular expression for the token at a position, and the position after it."""
    if text.startswith("**/", at) and (at == 0 or text[at - 1] == "/"):
        return "(?:.*/)?", at + 3
    if text.startswith("**", at) and at + 2 == len(text):
        return ".*", at + 2
    character = text[at]
    if character == "*":
        return _STAR, at + 1
    if character == "?":
        return "[^/]", at + 1
    if character == "\\" and at + 1 < len(text):
        return re.escape(text[at + 1]), at + 2
    if character == "[":
        found = _SET.match(text, at)
        if found is not None:
            named = _CLASS.sub(lambda name: _CLASSES[name[1]], found[2].replace("\\", ""))
            inner = re.sub(r"([\[\]&~|^])", r"\\\1", named)
            return f"(?!/)[{'^' if found[1] else ''}{inner}]", found.end()
    return re.escape(character), at + 1
