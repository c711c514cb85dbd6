"""Project pages as Markdown files: written on request, and edits in them taken over first.

A changed line is a correction of its record. A line whose record was changed meanwhile is a
conflict: it is reported, and its file stays as it is until the person has chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from wellkept.core.errors import UsageError
from wellkept.core.git.run import ask_git
from wellkept.core.records import record
from wellkept.core.text import counted
from wellkept.memory.engine import Engine
from wellkept.project.pages import (
    PageName,
    ProjectPage,
    as_markdown,
    edit_line,
    file_edits,
    line_text,
    read_markdown,
)

DEFAULT_FOLDER = ".wellkept/pages"
MAX_BYTES = 2 << 20


@record(kw_only=True)
class PageConflict:
    """A line of a file whose record was changed since the file was written."""

    page: PageName
    yours: str
    now: str


@record(kw_only=True)
class PageFiles:
    """Where the files are, what was taken over from them, and whether git ignores them."""

    folder: str
    written: tuple[str, ...]
    taken: int
    conflicts: tuple[PageConflict, ...]
    ignored: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """Edits that were not taken over, and whether git would add the files."""
        told = [
            f"{one.page}: changed meanwhile. Yours: {one.yours!r}. Now: {one.now!r}."
            for one in self.conflicts
        ]
        return (*told, *(() if self.ignored else ("Git does not ignore that folder.",)))

    def as_text(self) -> str:
        """How many pages, and how many edits were taken over."""
        taken = f" {counted(self.taken, 'edit')} of the files taken over." if self.taken else ""
        return f"{counted(len(self.written), 'page')} in {self.folder}.{taken}"


def sync_files(
    engine: Engine, folder: Path, *, root: Path, read: Callable[[], tuple[ProjectPage, ...]]
) -> PageFiles:
    """Take over the edits in the files of a folder, then write them anew from the records."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file.", hint="Name a folder.")
    taken, conflicts = 0, list[PageConflict]()
    for page in read():
        text = _text(folder / f"{page.name}.md")
        for line, said in file_edits(page, text):
            (memory,) = engine.store.get([line.id])
            edit_line(engine, memory, said, if_updated_at=line.updated_at)
            taken += 1
        conflicts += _conflicts(engine, page, text)
    held = {one.page for one in conflicts}
    written: list[str] = []
    for page in read():
        if page.name not in held:
            _write(folder / f"{page.name}.md", as_markdown(page))
            written.append(f"{page.name}.md")
    return PageFiles(
        folder=str(folder),
        written=tuple(written),
        taken=taken,
        conflicts=tuple(conflicts),
        ignored=ask_git(root, ("check-ignore", "-q", str(folder))) is not None,
    )


def _conflicts(engine: Engine, page: ProjectPage, text: str) -> list[PageConflict]:
    shown = {one.id for one in page.lines}
    gone = {name: said for name, said in read_markdown(text).items() if name not in shown}
    found: list[PageConflict] = []
    for old in engine.store.get(list(gone)):
        newer = engine.store.get([old.superseded_by]) if old.superseded_by else []
        yours = gone[old.id].strip()
        if newer and yours not in (line_text(old), line_text(newer[0])):
            now = line_text(newer[0])
            found.append(PageConflict(page=page.name, yours=yours, now=now))
    return found


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(MAX_BYTES)
    except (OSError, UnicodeDecodeError):
        return ""


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
