"""Ignore files as git reads them, for trees where git itself cannot be asked.

Later patterns win over earlier ones, deeper files over higher ones, and nothing below an ignored
folder comes back.
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
"""What stands between brackets; a closing one may be the first."""


@record
class IgnorePattern:
    """One line of an ignore file, for paths below the folder it stands in."""

    regex: re.Pattern[str]
    keeps: bool
    folders_only: bool


def read_patterns(text: str) -> tuple[IgnorePattern, ...]:
    """The patterns of an ignore file."""
    found = (_pattern(line) for line in text.splitlines())
    return tuple(pattern for pattern in found if pattern is not None)


def is_ignored(
    path: str, *, is_folder: bool, levels: Sequence[tuple[str, tuple[IgnorePattern, ...]]]
) -> bool:
    """Whether a path is ignored by ignore files, given as (folder, patterns), the highest first."""
    for folder, patterns in reversed(levels):
        below = path[len(folder) + 1 :] if folder else path
        for pattern in reversed(patterns):
            if (is_folder or not pattern.folders_only) and pattern.regex.fullmatch(below):
                return not pattern.keeps
    return False


def is_below_ignored(path: str, patterns: tuple[IgnorePattern, ...]) -> bool:
    """Whether one ignore file at the root ignores a file or any folder that it is in."""
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
    keeps = text.startswith("!")
    text = text[1:] if keeps else text
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    anchored = "/" in text
    return IgnorePattern(_compiled(text.lstrip("/"), anchored), keeps, folders_only)


@lru_cache(maxsize=4096)
def _compiled(text: str, anchored: bool) -> re.Pattern[str]:
    body = "" if anchored else "(?:.*/)?"
    place = 0
    while place < len(text):
        part, place = _translated(text, place)
        body += part
    try:
        return re.compile(body, re.DOTALL)
    except re.error:  # a broken character class matches itself, as in git
        return re.compile(re.escape(text))


def _translated(text: str, place: int) -> tuple[str, int]:
    """The regular expression for what stands at a place, and where the next begins."""
    if text.startswith("**/", place) and (place == 0 or text[place - 1] == "/"):
        return "(?:.*/)?", place + 3
    if text.startswith("**", place) and place + 2 == len(text):
        return ".*", place + 2
    character = text[place]
    if character == "*":
        return "[^/]*", place + 1
    if character == "?":
        return "[^/]", place + 1
    if character == "\\" and place + 1 < len(text):
        return re.escape(text[place + 1]), place + 2
    if character == "[":
        found = _SET.match(text, place)
        if found is not None:
            named = _CLASS.sub(lambda name: _CLASSES[name[1]], found[2].replace("\\", ""))
            inner = re.sub(r"([\[\]&~|^])", r"\\\1", named)
            return f"(?!/)[{'^' if found[1] else ''}{inner}]", found.end()
    return re.escape(character), place + 1
