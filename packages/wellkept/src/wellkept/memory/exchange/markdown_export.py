"""Markdown export: a folder of files that people read, review and edit in git.

One file for each memory, in a folder for each type, so that changes of two people merge without
conflict. `INDEX.md` lists the export; `markdown_import` uses it to find removed files. Closed
memories are exported only when the filter asks for them. Payloads and evidence are left out: JSONL
is the exact form.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.query import Filter
from wellkept.core.records import record
from wellkept.core.text import first_line
from wellkept.core.types import MemoryType, Progress
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.atomic_file import new_folder, write_text
from wellkept.memory.exchange.markdown_document import (
    memory_from_markdown,
    memory_path,
    memory_to_markdown,
)

INDEX = "INDEX.md"
MAX_FILE_BYTES = 4 * 1_048_576
_SKIPPED = frozenset({INDEX.lower(), "readme.md"})


@record
class _Listed:
    path: str
    title: str
    id: str
    is_open: bool


def export_markdown(
    engine: Engine,
    where: Filter,
    folder: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> int:
    """Write the memories that match into a folder; returns how many.

    `overwrite` replaces an earlier export: files of memories that no longer match are removed,
    files without an id stay. Edits that were not imported are lost.
    """
    _require_free(folder, overwrite=overwrite)
    _refuse_links(folder)
    total = engine.store.stats(where).total if progress else 0
    listed: list[_Listed] = []

    def write_all(target: Path, write: Callable[[Path, str], None]) -> None:
        for memory in engine.store.iterate(where):
            path = memory_path(memory)
            write(target / path, memory_to_markdown(memory))
            title = first_line(memory.content, limit=100)
            listed.append(_Listed(path, title, memory.id, memory.is_open))
            if progress:
                progress(len(listed), max(total, len(listed)))
        write(target / INDEX, _index(listed))

    if folder.exists():
        write_all(folder, _write_changed)
        _remove_others(folder, {item.path for item in listed})
    else:
        with new_folder(folder) as staged:
            for kind in MemoryType:
                (staged / kind.value).mkdir()
            write_all(staged, _write_new)
    return len(listed)


def markdown_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """The Markdown files of a folder with their relative names, in order; links are not followed.

    `INDEX.md`, any `README.md` and hidden folders are not memories.
    """
    if not folder.is_dir():
        raise NotFoundError(f"There is no folder {folder}.")
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if name.lower().endswith(".md") and name.lower() not in _SKIPPED:
                yield path.relative_to(folder).as_posix(), path


def read_text(path: Path) -> str:
    """A file as text; UsageError says why it cannot be read."""
    if path.is_symlink():
        raise UsageError("The file is a link.")
    try:
        if not stat.S_ISREG((found := path.stat()).st_mode):
            raise UsageError("This is not a plain file.")
        if found.st_size > MAX_FILE_BYTES:
            raise UsageError(f"The file has more than {MAX_FILE_BYTES:,} bytes.")
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("The file is not UTF-8 text.") from None
    except OSError as error:
        raise UsageError(f"The file cannot be read: {error.strerror}.") from error


def _require_free(folder: Path, *, overwrite: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise ConflictError(f"{folder} is a file.", hint="Name a folder.")
    if not overwrite and folder.is_dir() and any(folder.iterdir()):
        raise ConflictError(
            f"The folder {folder} is not empty.",
            hint="Name another one, or overwrite the earlier export (--overwrite).",
        )


def _refuse_links(folder: Path) -> None:
    """A symlink among the export's folders, e.g. from a checkout, would write files elsewhere."""
    for kind in MemoryType:
        if (folder / kind.value).is_symlink():
            raise ConflictError(
                f"{folder / kind.value} is a link, so files would be written elsewhere.",
                hint="Remove the link, or name another folder.",
            )


def _write_new(path: Path, text: str) -> None:
    """Write a file of a folder that is not in its place yet."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        file.write(text.encode())


def _write_changed(path: Path, text: str) -> None:
    """Write a file of an earlier export, unless it says this already."""
    try:
        same = not path.is_symlink() and path.read_bytes() == text.encode()
    except OSError:
        same = False
    if not same:
        write_text(path, text, overwrite=True)


def _remove_others(folder: Path, kept: set[str]) -> None:
    """Remove files of an earlier export; files without one of our ids are left alone."""
    for name, path in markdown_files(folder):
        if name not in kept and _is_ours(path):
            path.unlink()


def _is_ours(path: Path) -> bool:
    try:
        return memory_from_markdown(read_text(path)).id is not None
    except UsageError:
        return False


def _index(listed: list[_Listed]) -> str:
    """The list of files by type, sorted by name so that diffs stay small."""
    parts = ["# Memories", ""]
    by_kind: dict[str, list[_Listed]] = {kind.value: [] for kind in MemoryType}
    for item in sorted(listed, key=lambda item: item.path):
        by_kind[item.path.partition("/")[0]].append(item)
    for kind, here in by_kind.items():
        if here:
            parts += [f"## {kind.replace('_', ' ')}", "", *map(_index_line, here), ""]
    return "\n".join(parts)


def _index_line(item: _Listed) -> str:
    title = item.title.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    ended = "" if item.is_open else " (no longer holds)"
    return f"- [{title}]({item.path}){ended} `{item.id}`"
