"""Saying in a few words what was done: titles as an engineer would write them.

Invariant: a title is one line of fewer than 100 characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from wellkept.core.text import shorten
from wellkept.observe.session.state import FileWork

MAX_TITLE_CHARS = 99
_SHOWN_NAMES = 2
_LONG_NAME_CHARS = 48
_MANY_NAMES = 8


def title(text: str) -> str:
    """The text as a title."""
    return shorten(" ".join(text.split()), limit=MAX_TITLE_CHARS)


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


def base(path: str) -> str:
    """The short name of a file; a name that says nothing alone takes its folder along."""
    pure = PurePosixPath(path)
    plain = pure.name in ("__init__.py", "index.ts", "index.js", "mod.rs", "main.go", "index.tsx")
    return f"{pure.parent.name}/{pure.name}" if plain and pure.parent.name else pure.name


def work_title(work: FileWork) -> str:
    """What was done to one file."""
    file = base(work.path)
    if work.deleted:
        return title(f"Delete {file}")
    if work.moved_from:
        return title(f"Move {base(work.moved_from)} to {work.path}")
    if work.created:
        return title(f"Create {file}{_holding(work)}")
    if not _names(work):
        return title(_plain(work))
    deed, _, preposition = _deeds(work).rpartition(" ")
    end = f" {preposition} {shorten(file, limit=50)}"
    return shorten(" ".join(deed.split()), limit=MAX_TITLE_CHARS - len(end)) + end


def work_fact(work: FileWork) -> str:
    """The same for a list of facts: every name, with the whole path."""
    if work.created and work.kind in ("config", "document"):
        return f"{work.path}: new file, {work.lines} lines"
    parts = [
        f"{verb} {listed(names, most=8)}"
        for verb, names in (
            ("added", work.added),
            ("changed", work.changed),
            ("removed", work.removed),
            ("renamed", work.renamed),
        )
        if names
    ]
    head = "new file, " if work.created else "deleted, " if work.deleted else ""
    return f"{work.path}: {head}{'; '.join(parts) or _extent(work)}"


def places(works: Sequence[FileWork]) -> str:
    """Where work was done: the names touched and their files."""
    if len(works) == 1:
        names = [*works[0].changed, *works[0].added, *works[0].renamed]
        where = base(works[0].path)
        return f"{listed(names)} in {where}" if names else where
    return listed([base(w.path) for w in works])


def _names(work: FileWork) -> bool:
    return bool(work.added or work.changed or work.removed or work.renamed)


def _holding(work: FileWork) -> str:
    if work.kind == "test" and work.added:
        return (
            f" with {len(work.added)} tests"
            if len(work.added) > 1
            else f" with {listed(work.added)}"
        )
    if work.kind == "code" and work.added:
        return f" with {listed(work.added)}"
    return ""


def _deeds(work: FileWork) -> str:
    """A verb phrase that ends with the preposition which the file's name follows."""
    if work.kind in ("document", "config") and len(work.changed) + len(work.added) > _MANY_NAMES:
        return "Rewrite most of"
    if work.kind == "document":
        return _section_deed(work)
    if work.kind == "config" and work.changed == ("version",) and not work.added:
        return "Bump version in"
    if work.renamed and not (work.added or work.removed):
        old, _, new = work.renamed[0].partition(" -> ")
        more = f" (and {len(work.renamed) - 1} more)" if len(work.renamed) > 1 else ""
        return f"Rename {old} to {new}{more} in"
    if work.added and work.changed:
        return f"Add {listed(work.added)} and change {listed(work.changed)} in"
    if work.added and work.removed:
        return f"Replace {listed(work.removed)} with {listed(work.added)} in"
    if work.added:
        return f"Add {listed(work.added)} to"
    if work.changed:
        return f"Change {listed(work.changed)} in"
    return f"Remove {listed(work.removed)} from"


def _section_deed(work: FileWork) -> str:
    """What was done to a document, by its headings; one is enough to know it by."""
    if work.added:
        return f"Add section {listed(work.added, most=1)} to"
    if work.changed or work.renamed:
        return f"Change section {listed(work.changed or work.renamed, most=1)} in"
    return f"Remove section {listed(work.removed, most=1)} from"


def _plain(work: FileWork) -> str:
    return f"Edit {base(work.path)} ({_extent(work)})" if work.lines else f"Edit {base(work.path)}"


def _extent(work: FileWork) -> str:
    if not work.lines:
        return "edited"
    return f"{work.lines} line{'s' if work.lines != 1 else ''} changed"
