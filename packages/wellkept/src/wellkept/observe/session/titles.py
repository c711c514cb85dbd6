"""Titles and facts that describe file changes.

Invariant: a title is one line of fewer than 100 characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from wellkept.core.text import shorten
from wellkept.observe.session.state import FileChange

MAX_TITLE_CHARS = 99
_SHOWN_NAMES = 2
_LONG_NAME_CHARS = 48
_MANY_NAMES = 8
_POLITE = re.compile(
    r"(?:(?:ok(?:ay)?|yes|yeah|yep|great|good|hm+|hi|hello|hey|please|pls|so|and|also|then|now|well"
    r"|can you|could you|can we|could we|would you|lets|let's|maybe|we (?:need|have|want) to"
    r"|i think (?:that )?(?:we|you) (?:must|should|need to)"
    r"|i (?:want|need|would like|'d like) you to)\b[,.!:]?\s+)+",
    re.I,
)
_FIRST_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def title(text: str) -> str:
    """The text as a title."""
    return shorten(" ".join(text.split()), limit=MAX_TITLE_CHARS)


def request_title(request: str, *, limit: int = MAX_TITLE_CHARS) -> str:
    """A request as a title: its first sentence without politeness, cut between words."""
    plain = _POLITE.sub("", _FIRST_SENTENCE.split(" ".join(request.split()), maxsplit=1)[0])
    text = plain[:1].upper() + plain[1:]
    if len(text) > limit:
        text = text[: max(limit, 0)].rpartition(" ")[0]
    return text.rstrip(" .,:;…-(")


def listed(names: Sequence[str], *, most: int = _SHOWN_NAMES) -> str:
    """`a`, `a and b`, or `a, b and 3 more`; a long name is shortened, and shown alone."""
    if len(names) > most and len(names[0]) > _LONG_NAME_CHARS:
        most = 1
    names = [shorten(name, limit=_LONG_NAME_CHARS) for name in names]
    if len(names) <= most:
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    if len(names) == most + 1 and most > 1:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def short_path(path: str) -> str:
    """The name of a file; a generic name keeps its folder."""
    pure = PurePosixPath(path)
    plain = pure.name in ("__init__.py", "index.ts", "index.js", "mod.rs", "main.go", "index.tsx")
    return f"{pure.parent.name}/{pure.name}" if plain and pure.parent.name else pure.name


def change_title(change: FileChange) -> str:
    """The title of a change to one file."""
    file = short_path(change.path)
    if change.deleted:
        return title(f"Delete {file}")
    if change.moved_from:
        return title(f"Move {short_path(change.moved_from)} to {change.path}")
    if change.created:
        return title(f"Create {file}{_contents(change)}")
    if not _names(change):
        return title(_plain(change))
    verb, _, preposition = _verb_phrase(change).rpartition(" ")
    end = f" {preposition} {shorten(file, limit=50)}"
    return shorten(" ".join(verb.split()), limit=MAX_TITLE_CHARS - len(end)) + end


def change_fact(change: FileChange) -> str:
    """A change as a fact: every name, with the whole path."""
    if change.created and change.kind in ("config", "document"):
        return f"{change.path}: new file, {change.lines} lines"
    parts = [
        f"{verb} {listed(names, most=8)}"
        for verb, names in (
            ("added", change.added),
            ("changed", change.changed),
            ("removed", change.removed),
            ("renamed", change.renamed),
        )
        if names
    ]
    head = "new file, " if change.created else "deleted, " if change.deleted else ""
    return f"{change.path}: {head}{'; '.join(parts) or _extent(change)}"


def changed_names(changes: Sequence[FileChange]) -> str:
    """The names that changed, and their files."""
    if len(changes) == 1:
        names = [*changes[0].changed, *changes[0].added, *changes[0].renamed]
        where = short_path(changes[0].path)
        return f"{listed(names)} in {where}" if names else where
    return listed([short_path(w.path) for w in changes])


def _names(change: FileChange) -> bool:
    return bool(change.added or change.changed or change.removed or change.renamed)


def _contents(change: FileChange) -> str:
    if change.kind == "test" and change.added:
        return (
            f" with {len(change.added)} tests"
            if len(change.added) > 1
            else f" with {listed(change.added)}"
        )
    if change.kind == "code" and change.added:
        return f" with {listed(change.added)}"
    return ""


def _verb_phrase(change: FileChange) -> str:
    """A verb phrase that ends with the preposition which the file's name follows."""
    if (
        change.kind in ("document", "config")
        and len(change.changed) + len(change.added) > _MANY_NAMES
    ):
        return "Rewrite most of"
    if change.kind == "document":
        return _section_phrase(change)
    if change.kind == "config" and change.changed == ("version",) and not change.added:
        return "Bump version in"
    if change.renamed and not (change.added or change.removed):
        old, _, new = change.renamed[0].partition(" -> ")
        more = f" (and {len(change.renamed) - 1} more)" if len(change.renamed) > 1 else ""
        return f"Rename {old} to {new}{more} in"
    if change.added and change.changed:
        return f"Add {listed(change.added)} and change {listed(change.changed)} in"
    if change.added and change.removed:
        return f"Replace {listed(change.removed)} with {listed(change.added)} in"
    if change.added:
        return f"Add {listed(change.added)} to"
    if change.changed:
        return f"Change {listed(change.changed)} in"
    return f"Remove {listed(change.removed)} from"


def _section_phrase(change: FileChange) -> str:
    """A change to a document, by its first heading."""
    if change.added:
        return f"Add section {listed(change.added, most=1)} to"
    if change.changed or change.renamed:
        return f"Change section {listed(change.changed or change.renamed, most=1)} in"
    return f"Remove section {listed(change.removed, most=1)} from"


def _plain(change: FileChange) -> str:
    return (
        f"Edit {short_path(change.path)} ({_extent(change)})"
        if change.lines
        else f"Edit {short_path(change.path)}"
    )


def _extent(change: FileChange) -> str:
    if not change.lines:
        return "edited"
    return f"{change.lines} line{'s' if change.lines != 1 else ''} changed"
