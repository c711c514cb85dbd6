"""Writes shared memories into the team's folder of the work tree, for review and commit by people.

Nothing is committed here. A file is written only when it says something else than the one there, so
a second run changes nothing. What people did to a file by hand stays: one that was edited or has a
merge conflict is not overwritten. A memory that no longer holds loses its file; what replaced it
gets one. A secret blocks the write of its memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from wellkept.core.errors import ConflictError, StoreError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.records import record
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.atomic_file import write_text
from wellkept.memory.exchange.markdown_export import read_text
from wellkept_team.sharing.import_files import (
    LEFT,
    RefusedFile,
    SyncedMemory,
    put_synced,
    synced_memories,
)
from wellkept_team.sharing.shared_file import (
    SharedMemory,
    read_shared,
    shared_form,
    stated_id,
    write_shared,
)

README = "README.md"
_ABOUT = """# What our coding agents are told

One file for each memory this team shares, by `wellkept team share`. Review changes here
like code: once merged, everybody's agents know them. Removing a file retires its memory. The text
below the front matter may be edited by hand.
"""
_MAX_SUCCESSORS = 100


@record(kw_only=True)
class WrittenOut:
    """Paths that were written and removed, and what could not be shared."""

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0
    refused: tuple[RefusedFile, ...] = ()
    applied: bool = True


def write_out(
    engine: Engine,
    folder: Path,
    *,
    project: str,
    add: Iterable[Memory] = (),
    author: str | None = None,
    dry_run: bool = False,
) -> WrittenOut:
    """Bring the folder up to date with the shared memories, and add others."""
    refuse_links(folder)
    here = _files_by_id(folder, project)
    wanted = {memory.id: memory for memory in add}
    gone: list[str] = []
    known = synced_memories(engine, project)
    for full_id, synced in known.items():
        if synced == LEFT:
            continue
        current = _current(engine, full_id)
        if current is None or current.id != full_id:
            gone.append(full_id)
        if current is not None:
            wanted.setdefault(current.id, current)
    written: list[str] = []
    refused: list[RefusedFile] = []
    unchanged = 0
    for memory in sorted(wanted.values(), key=lambda one: one.id):
        path = memory.short
        try:
            shared = shared_form(memory, author=author)
            path = here.get(memory.id, shared.path)
            base = known.get(memory.id, LEFT).mark
            if not _is_to_write(folder, path, shared, base=base, project=project):
                unchanged += 1
                continue
        except UsageError as error:
            refused.append(RefusedFile(path, str(error)))
            continue
        written.append(path)
        if not dry_run:
            write_text(folder / path, write_shared(shared), overwrite=True)
            _note_written(engine, project, shared)
    removed = [here[full_id] for full_id in gone if full_id in here]
    if not dry_run:
        _remove(folder, removed)
        for full_id in gone:
            _forget_unmerged(engine, project, full_id)
        if written and not (folder / README).exists():
            write_text(folder / README, _ABOUT)
    return WrittenOut(
        written=tuple(written),
        removed=tuple(removed),
        unchanged=unchanged,
        refused=tuple(refused),
        applied=not dry_run,
    )


def stop_sharing(
    engine: Engine, folder: Path, memories: Iterable[Memory], *, project: str, dry_run: bool = False
) -> WrittenOut:
    """Remove the files of memories, which stay known here."""
    refuse_links(folder)
    here, shared = _files_by_id(folder, project), synced_memories(engine, project)
    removed: list[str] = []
    refused: list[RefusedFile] = []
    for memory in memories:
        path = here.get(memory.id)
        if path is None and shared.get(memory.id, LEFT) == LEFT:
            refused.append(RefusedFile(memory.short, f"{memory.short} is not shared."))
            continue
        if path is not None:
            removed.append(path)
        if not dry_run:
            put_synced(engine, project, memory.id, LEFT)
    if not dry_run:
        _remove(folder, removed)
    return WrittenOut(removed=tuple(removed), refused=tuple(refused), applied=not dry_run)


def _note_written(engine: Engine, project: str, shared: SharedMemory) -> None:
    known = synced_memories(engine, project).get(shared.id)
    is_merged = known is not None and known.merged
    put_synced(engine, project, shared.id, SyncedMemory(mark=shared.mark, merged=is_merged))


def _forget_unmerged(engine: Engine, project: str, full_id: str) -> None:
    """A memory whose file was never merged is forgotten; of others the branch still tells."""
    known = synced_memories(engine, project).get(full_id)
    if known is not None and not known.merged:
        put_synced(engine, project, full_id, None)


def _current(engine: Engine, full_id: str) -> Memory | None:
    """The open memory that stands for a shared one today."""
    memory = next(iter(engine.store.get([full_id])), None)
    for _ in range(_MAX_SUCCESSORS):
        if memory is None or memory.is_open or memory.superseded_by is None:
            break
        memory = next(iter(engine.store.get([memory.superseded_by])), None)
    return memory if memory is not None and memory.is_open else None


def _files_by_id(folder: Path, project: str) -> dict[str, str]:
    """The files of the folder by the memory that they tell, whatever people named them."""
    found: dict[str, str] = {}
    if not folder.is_dir():
        return found
    for file in sorted(folder.glob("*/*.md")):
        path = file.relative_to(folder).as_posix()
        try:
            full_id = stated_id(read_text(file), project=project, path=path)
        except UsageError:
            continue
        if full_id is not None:
            found.setdefault(full_id, path)
    return found


def _is_to_write(folder: Path, path: str, shared: SharedMemory, *, base: str, project: str) -> bool:
    """Whether a file is missing, or says what both sides had while the memory changed here.
    UsageError where writing would lose what somebody did to the file."""
    file = folder / path
    if not file.is_file():
        return True
    there = read_shared(read_text(file), project=project, path=path)
    if (there.id, there.mark, there.replaces) == (shared.id, shared.mark, shared.replaces):
        return False
    if not base or there.mark == base:
        return True
    if shared.mark == base:
        return False  # edited by hand, which counts once it is merged
    raise UsageError(
        "The file was edited, and its memory was changed here, too.",
        hint="Get the edit merged, or take it back with git; then update again.",
    )


def _remove(folder: Path, paths: Iterable[str]) -> None:
    for path in paths:
        try:
            (folder / path).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"Cannot remove {folder / path}: {error.strerror}.") from error


def refuse_links(folder: Path) -> None:
    """A link from a checkout would write files elsewhere."""
    for path in (folder.parent, folder, *(folder.iterdir() if folder.is_dir() else ())):
        if path.is_symlink():
            raise ConflictError(
                f"{path} is a link, so files would be written elsewhere.", hint="Remove the link."
            )
    if folder.exists() and not folder.is_dir():
        raise ConflictError(f"{folder} is a file.", hint="Name another folder.")
