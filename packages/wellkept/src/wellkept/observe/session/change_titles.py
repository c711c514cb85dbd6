"""Titles of changes to several files, or to one of which only the lines are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from wellkept.observe.session.state import FileChange
from wellkept.observe.session.titles import (
    MAX_TITLE_CHARS,
    change_title,
    listed,
    request_title,
    short_path,
)

_FEW_FILES = 3
_MIN_ASKED_CHARS = 20
_MAX_NAMES_CHARS = 44


def change_head(
    lead: FileChange, changes: Sequence[FileChange], request: str | None, *, many: bool
) -> str:
    """What was done; when only files and lines are known, what was asked says more."""
    if many or not is_named(lead):
        where = _changed_files(changes)
        asked = request_title(request or "", limit=MAX_TITLE_CHARS - 3 - len(where))
        if len(asked) >= _MIN_ASKED_CHARS:
            return f"{asked} ({where})"
        if len(changes) == 1:
            return change_title(lead)
        names = "" if _common_folder(changes) else f" ({listed(_names(changes))})"
        return f"{_verb(changes)} {where}{names if len(changes) > _FEW_FILES else ''}"
    head = change_title(lead)
    tested = lead.kind != "test" and any(w.kind == "test" for w in changes)
    return f"{head}, with tests" if tested and len(head) < 86 else head


def _changed_files(changes: Sequence[FileChange]) -> str:
    names = listed(_names(changes))
    if len(changes) <= _FEW_FILES and len(names) <= _MAX_NAMES_CHARS:
        return names
    folder = _common_folder(changes)
    return f"{len(changes)} files in {folder}" if folder else f"{len(changes)} files"


def _names(changes: Sequence[FileChange]) -> list[str]:
    return [short_path(change.path) for change in changes]


def _verb(changes: Sequence[FileChange]) -> str:
    return "Create" if mostly_new(changes) else "Change"


def is_named(change: FileChange) -> bool:
    """Whether it is known what changed, not only in how many lines."""
    names = change.added or change.changed or change.removed or change.renamed
    return bool(names or change.created or change.deleted or change.moved_from)


def mostly_new(changes: Sequence[FileChange]) -> bool:
    """Whether most of the files are new."""
    return sum(change.created for change in changes) * 2 > len(changes)


def _common_folder(changes: Sequence[FileChange]) -> str:
    folders = [PurePosixPath(w.path).parent.parts for w in changes]
    shared: list[str] = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join(shared)
