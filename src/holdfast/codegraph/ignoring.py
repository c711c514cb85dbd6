"""Ignore files as git reads them, for trees where git itself cannot be asked.

Later patterns win over earlier ones, deeper files over higher ones, and nothing below an ignored
folder comes back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from holdfast.core.records import record


@record
class Pattern:
    """One line of an ignore file, for paths below the folder it stands in."""

    regex: re.Pattern[str]
    keeps: bool
    folders_only: bool


def read_patterns(text: str) -> tuple[Pattern, ...]:
    """The patterns of an ignore file."""
    found = (_pattern(line) for line in text.splitlines())
    return tuple(pattern for pattern in found if pattern is not None)


def is_ignored(
    path: str, *, is_folder: bool, levels: Sequence[tuple[str, tuple[Pattern, ...]]]
) -> bool:
    """Whether a path is ignored by ignore files, given as (folder, patterns), the highest first."""
    for folder, patterns in reversed(levels):
        below = path[len(folder) + 1 :] if folder else path
        for pattern in reversed(patterns):
            if (is_folder or not pattern.folders_only) and pattern.regex.fullmatch(below):
                return not pattern.keeps
    return False


def _pattern(line: str) -> Pattern | None:
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
    return Pattern(_compiled(text.lstrip("/"), anchored), keeps, folders_only)


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
        end = text.find("]", place + 2)
        if end > 0:
            inner = text[place + 1 : end].replace("\\", "\\\\")
            inner = f"^{inner[1:]}" if inner[0] in "!^" else inner
            return f"(?!/)[{inner}]", end + 1
    return re.escape(character), place + 1
