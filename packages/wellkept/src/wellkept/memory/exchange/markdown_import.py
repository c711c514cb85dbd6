"""Markdown import: reads an edited folder back.

- New content or another type is a correction: the memory is closed and a successor opened.
- Tags, files, importance and other fields are changed in place.
- A file without an id is new. Several sections in one hand-written file are several memories.
- A memory of the index whose file is gone is reported, and closed only when asked.
- If the memory was changed since the export, the change of the file is reported and not applied.

Invariant: importing the same folder a second time changes nothing. The key-value store holds the
fingerprint of each file at its last import, so a file can be edited and imported repeatedly.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

from wellkept.core.clock import format_moment, parse_moment
from wellkept.core.codec import Json
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.memory import Memory, MemoryDraft, MemoryPatch
from wellkept.core.records import field, record, replace
from wellkept.core.types import MemoryType, Progress, Scope, Source
from wellkept.memory.edit import forget, revise
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.markdown_document import (
    MarkdownMemory,
    changes_to,
    memory_from_markdown,
    split_sections,
    text_fingerprint,
)
from wellkept.memory.exchange.markdown_export import INDEX, markdown_files, read_text
from wellkept.memory.exchange.passages import Passage, remember_passages
from wellkept.memory.fields import EDITABLE
from wellkept.memory.remember import RememberOutcome

_NAMESPACE = "markdown-import"
_MAX_SUCCESSORS = 1_000
_ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_OWN_ID = re.compile(rf'^id: *"?({_ID.pattern})', re.MULTILINE)
_NOTHING = MemoryPatch()


@record
class FileNote:
    """A message about one file."""

    path: str
    reason: str


@record(kw_only=True)
class MarkdownReport:
    """Result of an import. `outdated` files were not applied: the memory was changed since.

    `removed` are memories of the index without a file; `closed_removed` says they were closed.
    """

    new: int = 0
    corrected: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    closed_removed: bool = False
    outdated: tuple[FileNote, ...] = ()
    refused: tuple[FileNote, ...] = ()
    applied: bool = True


def import_markdown(
    engine: Engine,
    folder: Path,
    *,
    project: str,
    close_removed: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> MarkdownReport:
    """Import what was edited, added or removed in a folder of Markdown."""
    files = list(markdown_files(folder))
    home = engine.store.canonical_project(project)
    run = _Import(engine, project=home, dry_run=dry_run)
    for done, (name, path) in enumerate(files, 1):
        run.add_file(name, path)
        if progress:
            progress(done, len(files))
    removed = _removed(engine, folder, seen=run.seen)
    if removed and close_removed:
        forget(engine, removed, keep_history=True, dry_run=dry_run)
    return replace(run.report, removed=removed, closed_removed=close_removed, applied=not dry_run)


def _removed(engine: Engine, folder: Path, *, seen: set[str]) -> tuple[str, ...]:
    """Open memories of the index for which no file is left."""
    try:
        listed = _ID.findall(read_text(folder / INDEX))
    except UsageError:
        return ()
    gone = [name for name in dict.fromkeys(listed) if name not in seen]
    return tuple(memory.id for memory in engine.store.get(gone) if memory.is_open)


@record
class _Base:
    """The version of a memory that a file was last written or read against."""

    id: str
    updated_at: datetime | None
    mark: str | None


@record(frozen=False)
class _Import:
    """State of one import."""

    engine: Engine
    project: str
    dry_run: bool
    report: MarkdownReport = field(default_factory=MarkdownReport)
    seen: set[str] = field(default_factory=set[str])

    def add_file(self, name: str, path: Path) -> None:
        """Import one file; a problem is reported and the rest goes on."""
        try:
            text = read_text(path)
            # Before anything can fail: a file that cannot be read is not a removed one.
            self.seen.update(_OWN_ID.findall(text)[:1])
            entry = memory_from_markdown(text)
            known = self.engine.store.get([entry.id]) if entry.id else []
            if known:
                self._update(name, entry, known[0], mark=text_fingerprint(text))
            else:
                self._add(name, entry)
        except (UsageError, ConflictError) as error:
            self._note("refused", name, str(error))

    # -- Files of known memories ----------------------------------------------------------------

    def _update(self, name: str, entry: MarkdownMemory, memory: Memory, *, mark: str) -> None:
        if memory.project != self.project and memory.scope is not Scope.USER:
            raise UsageError(f"The memory belongs to another project, {memory.project!r}.")
        base = self._base(entry, memory)
        if mark in (entry.fingerprint, base.mark):
            return self._count("unchanged")
        latest = self._latest(memory)
        patch = changes_to(latest, entry)
        if patch == _NOTHING:
            return self._count("unchanged")
        if not latest.is_open or latest.id != base.id:
            return self._note("outdated", name, "the memory has a later version; export again")
        if latest.updated_at != base.updated_at:
            # The fields were changed since: apply only content and type.
            patch = MemoryPatch(content=patch.content, type=patch.type)
        if patch == _NOTHING:
            return self._note("outdated", name, "its fields were changed since; export again")
        if not self.dry_run:
            self._remember_base(memory.id, revise(self.engine, latest.id, patch), mark=mark)
        return self._count("corrected" if patch.content or patch.type else "updated")

    def _base(self, entry: MarkdownMemory, memory: Memory) -> _Base:
        """The version last imported from a file, unless the file was exported again since."""
        known = self.engine.store.get_value(_NAMESPACE, memory.id)
        if isinstance(known, dict):
            at = parse_moment(str(known["updated_at"]))
            if entry.updated_at is None or at >= entry.updated_at:
                return _Base(str(known["id"]), at, str(known["mark"]))
        return _Base(memory.id, entry.updated_at, None)

    def _remember_base(self, file_id: str, memory: Memory, *, mark: str) -> None:
        value: Json = {
            "id": memory.id,
            "updated_at": format_moment(memory.updated_at),
            "mark": mark,
        }
        self.engine.store.put_value(_NAMESPACE, file_id, value)

    def _latest(self, memory: Memory) -> Memory:
        for _ in range(_MAX_SUCCESSORS):
            found = self.engine.store.get([memory.superseded_by]) if memory.superseded_by else []
            if not found:
                break
            memory = found[0]
        return memory

    # -- Files of new memories ------------------------------------------------------------------

    def _add(self, name: str, entry: MarkdownMemory) -> None:
        passages = _passages(name, entry)
        if not passages:
            raise UsageError("The file has no content.")
        for outcome in remember_passages(
            self.engine, passages, project=self.project, dry_run=self.dry_run
        ):
            match outcome:
                case RememberOutcome.INSERTED:
                    self._count("new")
                case RememberOutcome.UNCHANGED:
                    self._count("unchanged")
                case RememberOutcome.MERGED | RememberOutcome.SUPERSEDED:
                    self._count("corrected")

    # -- Report ---------------------------------------------------------------------------------

    def _count(self, what: str) -> None:
        self.report = replace(self.report, **{what: getattr(self.report, what) + 1})

    def _note(self, what: str, name: str, reason: str) -> None:
        notes = (*getattr(self.report, what), FileNote(name, reason))
        self.report = replace(self.report, **{what: notes})


def _passages(name: str, entry: MarkdownMemory) -> list[Passage]:
    """One passage for a file, or one for each section of a hand-written file."""
    sections = [section for section in split_sections(entry.content) if section.body.strip()]
    if len(sections) < 2 or entry.fields.type is not None or entry.id is not None:
        return [_passage(name, entry, entry.content)] if entry.content else []
    return [
        _passage(
            f"{name}#{section.slug}",
            _with_key_suffix(entry, section.slug),
            "\n\n".join(part for part in (" › ".join(section.titles), section.body) if part),
        )
        for section in sections
    ]


def _with_key_suffix(entry: MarkdownMemory, slug: str) -> MarkdownMemory:
    key = entry.fields.key
    return replace(entry, fields=replace(entry.fields, key=f"{key}#{slug}")) if key else entry


def _passage(ref: str, entry: MarkdownMemory, content: str) -> Passage:
    """A draft with what the file says; the folder stands for a missing type."""
    folder = ref.partition("/")[0] if "/" in ref else ""
    given: dict[str, Any] = {
        "type": MemoryType(folder) if folder in set(MemoryType) else MemoryType.FACT,
        "key": f"md:{ref}",
    }
    for row in EDITABLE:
        if row.settable and (value := getattr(entry.fields, row.name)) is not None:
            given[row.name] = value
    draft = MemoryDraft(content=content, source=Source.IMPORTED, **given)
    return Passage(f"md:{ref}", draft)
