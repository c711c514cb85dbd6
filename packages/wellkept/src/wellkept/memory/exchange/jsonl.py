"""JSONL export and import of memories.

The first line names the format and its version. Every further line is one memory with all its
fields, keys sorted, oldest first, so the same memories always give the same bytes. A complete
export ends with the generated skills (`conflicts`). Vectors are derived and not exported. Reading
checks and redacts each record like a new memory; `conflicts` decides about memories that already
exist.

Bad lines are reported by number and never stop the rest, unless `strict` asks for all or nothing. A
file of a newer format, or one that is not an export, is refused whole. Repeated header lines are
fine, so exports may be concatenated or joined by a union merge.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TextIO

from wellkept.core.codec import Json, record_to_json
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.ids import is_full_id
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Validity
from wellkept.core.records import field, record, replace
from wellkept.core.types import Progress
from wellkept.memory.draft import checked_payload
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.atomic_file import new_file
from wellkept.memory.exchange.conflicts import (
    MARK,
    ImportOutcome,
    Line,
    PendingImport,
    memory_from_json,
    opened,
    parse_json,
    read_lines,
    require_text,
    resolve,
    skill_from_json,
    skill_to_json,
)
from wellkept.text.secrets.redaction import redact

FORMAT = "wellkept-memories"
VERSION = 1
BATCH_RECORDS = 500
_CONFLICT_MARKS = ("<<<<<<< ", "=======", ">>>>>>> ", "||||||| ")


@record
class LineNote:
    """A message about one line of the file."""

    line: int
    reason: str


@record(kw_only=True)
class ImportReport:
    """Counts of new, merged and skipped records, and the refused ones with the reason.

    `applied` is False when nothing was written: a dry run, or a bad line under `strict`.
    """

    new: int = 0
    merged: int = 0
    skipped: int = 0
    redacted: int = 0
    refused: tuple[LineNote, ...] = ()
    merges: tuple[LineNote, ...] = ()
    applied: bool = True


def full_export(project: str | None) -> Filter:
    """The filter of a complete export, which includes closed and archived memories."""
    return Filter(project=project, validity=Validity.ANY, archived=None)


def export_jsonl(
    engine: Engine, where: Filter, out: TextIO, *, progress: Progress | None = None
) -> int:
    """Write the memories that match; returns how many."""
    total = engine.store.stats(where).total if progress else 0
    count = write_memories(engine.store.iterate(where), out, progress=progress, total=total)
    if where == full_export(where.project):
        for skill in engine.store.generated_skills(project=where.project):
            out.write(_dump(skill_to_json(skill)))
    return count


def write_memories(
    memories: Iterable[Memory],
    out: TextIO,
    *,
    progress: Progress | None = None,
    total: int = 0,
) -> int:
    """Write the header and one line for each memory; returns how many."""
    out.write(_dump({"format": FORMAT, "version": VERSION}))
    count = 0
    for memory in memories:
        out.write(_dump(record_to_json(memory)))
        count += 1
        if progress and (count % BATCH_RECORDS == 0 or count == total):
            progress(count, max(count, total))
    return count


def export_jsonl_file(
    engine: Engine,
    where: Filter,
    path: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> int:
    """Write an export that appears whole or not at all; returns how many memories it holds."""
    with new_file(path, overwrite=overwrite) as out:
        return export_jsonl(engine, where, out, progress=progress)


def import_jsonl(
    engine: Engine,
    source: TextIO | Path,
    *,
    project: str | None = None,
    dry_run: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Import an export; `project` replaces the project of every record.

    Each batch of records is one transaction. With `strict`, one bad line means nothing is written.
    """
    name = str(source) if isinstance(source, Path) else "The input"
    with opened(source) as (file, size):
        require_text(file, name=name)
        _require_header(file, name=name)
        if strict or dry_run:
            preview = _Import(engine, project=project, dry_run=True)
            report = preview.run(file, size_bytes=size, progress=progress if dry_run else None)
            if dry_run or report.refused:
                return report
        return _Import(engine, project=project).run(file, size_bytes=size, progress=progress)


# -- One import -----------------------------------------------------------------------------------


@record
class _ParsedLine:
    line: int
    data: dict[str, Json]


@record
class _Record:
    line: int
    memory: Memory


@record(frozen=False)
class _Import:
    """State of one pass over a file."""

    engine: Engine
    project: str | None
    dry_run: bool = False
    counts: dict[ImportOutcome, int] = field(
        default_factory=lambda: dict.fromkeys(ImportOutcome, 0)
    )
    redacted: int = 0
    refused: list[LineNote] = field(default_factory=list[LineNote])
    merges: list[LineNote] = field(default_factory=list[LineNote])
    homes: dict[str, str] = field(default_factory=dict[str, str])
    dry_state: PendingImport | None = None

    def run(
        self, file: BinaryIO, *, size_bytes: int, progress: Progress | None = None
    ) -> ImportReport:
        lines = read_lines(file)
        while batch := list(islice(lines, BATCH_RECORDS)):
            parsed = [item for line in batch if (item := self._read(line))]
            fresh = self._without_known(self._without_skills(parsed))
            self._write_batch([record for item in fresh if (record := self._record(item))])
            if progress:
                progress(batch[-1].end_bytes, max(size_bytes, batch[-1].end_bytes))
        return self._report()

    def _read(self, line: Line) -> _ParsedLine | None:
        """The object on a line; None for a header or a bad line, which is reported."""
        try:
            if line.problem:
                raise UsageError(f"{line.problem}.")
            data = _parse(line)
            return None if _is_header(data) else _ParsedLine(line.number, data)
        except UsageError as error:
            self.refused.append(LineNote(line.number, error.message))
            return None

    def _without_skills(self, parsed: list[_ParsedLine]) -> list[_ParsedLine]:
        """Import the generated skills; returns the lines of memories."""
        for item in parsed:
            if MARK not in item.data:
                continue
            try:
                self.counts[self._import_skill(item.data)] += 1
            except (ConflictError, UsageError) as error:
                self.refused.append(LineNote(item.line, error.message))
        return [item for item in parsed if MARK not in item.data]

    def _import_skill(self, data: dict[str, Json]) -> ImportOutcome:
        skill = skill_from_json(data)
        store = self.engine.store
        home = store.canonical_project(self.project or skill.project)
        if any(known.id == skill.id for known in store.generated_skills(project=None)):
            return ImportOutcome.SKIPPED
        if not self.dry_run:
            store.put_generated_skill(replace(skill, project=home))
        return ImportOutcome.NEW

    def _without_known(self, parsed: list[_ParsedLine]) -> list[_ParsedLine]:
        """Drop lines that equal the stored memory, so that a second import is quick."""
        if self.project is not None:
            return parsed
        ids = [name for item in parsed if is_full_id(name := str(item.data.get("id")))]
        known = {memory.id: record_to_json(memory) for memory in self.engine.store.get(ids)}
        fresh = [item for item in parsed if known.get(str(item.data.get("id"))) != item.data]
        self.counts[ImportOutcome.SKIPPED] += len(parsed) - len(fresh)
        return fresh

    def _record(self, parsed: _ParsedLine) -> _Record | None:
        """The memory on a line; None when it is refused, which is reported."""
        try:
            return _Record(parsed.line, self._memory(parsed.data))
        except UsageError as error:
            self.refused.append(LineNote(parsed.line, error.message))
            return None

    def _memory(self, data: dict[str, Json]) -> Memory:
        redactor = _Redactor()
        memory = memory_from_json(data, redact=redactor)
        payload = checked_payload(memory.type, memory.payload)
        self.redacted += redactor.found or payload != memory.payload
        home = memory.project if self.project is None else self.project
        if home not in self.homes:
            self.homes[home] = self.engine.store.canonical_project(home)
        return replace(
            memory, content=memory.content.strip(), project=self.homes[home], payload=payload
        )

    def _write_batch(self, records: list[_Record]) -> None:
        """Write a batch at once; if that fails, record by record to find the bad one."""
        if not records:
            return
        try:
            self._write(records)
        except (ConflictError, UsageError) as error:
            if len(records) == 1:
                self.refused.append(LineNote(records[0].line, error.message))
                return
            for record in records:
                self._write_batch([record])

    def _write(self, records: list[_Record]) -> None:
        pending = self._pending()
        pending.preload(record.memory.id for record in records)
        resolved = [(record, self._resolve(pending, record)) for record in records]
        if not self.dry_run and (changes := pending.changes(self.engine)):
            self.engine.store.apply(changes)
        for one, found in resolved:
            if isinstance(found, str):
                self.refused.append(LineNote(one.line, found))
                continue
            self.counts[found[0]] += 1
            if found[1]:
                self.merges.append(LineNote(one.line, found[1]))

    def _resolve(
        self, pending: PendingImport, record: _Record
    ) -> tuple[ImportOutcome, str | None] | str:
        """What to do with a record, or the reason why it is refused."""
        try:
            result = resolve(pending, record.memory)
        except UsageError as error:
            return str(error)
        return result.outcome, result.reason

    def _pending(self) -> PendingImport:
        """A dry run writes nothing, so it keeps its pending state from batch to batch."""
        if not self.dry_run:
            return PendingImport(self.engine.store)
        self.dry_state = self.dry_state or PendingImport(self.engine.store)
        return self.dry_state

    def _report(self) -> ImportReport:
        return ImportReport(
            new=self.counts[ImportOutcome.NEW],
            merged=self.counts[ImportOutcome.MERGED],
            skipped=self.counts[ImportOutcome.SKIPPED],
            redacted=self.redacted,
            refused=tuple(sorted(self.refused, key=lambda note: note.line)),
            merges=tuple(self.merges),
            applied=not self.dry_run,
        )


@record(frozen=False)
class _Redactor:
    """Redacts the texts of one record; `found` says whether anything was redacted."""

    found: bool = False

    def __call__(self, text: str) -> str:
        kept = redact(text).text
        self.found = self.found or kept != text
        return kept


# -- Lines ----------------------------------------------------------------------------------------


def _dump(data: dict[str, Json]) -> str:
    return json.dumps(data, ensure_ascii=False, sort_keys=True, allow_nan=False) + "\n"


def _parse(line: Line) -> dict[str, Json]:
    if line.text.startswith(_CONFLICT_MARKS):
        raise UsageError("unresolved merge conflict marker.")
    try:
        data = parse_json(line.text)
    except UsageError as error:
        if line.is_torn:
            raise UsageError("the file ends in the middle of this line.") from error
        raise
    if not isinstance(data, dict):
        raise UsageError("a line must be a JSON object.")
    return data


def _is_header(data: dict[str, Json]) -> bool:
    """Whether a line is a header; a newer version of the format is refused."""
    if "format" not in data:
        return False
    version = data.get("version")
    if data["format"] != FORMAT or not isinstance(version, int) or version < 1:
        raise UsageError(f"the format {data['format']!r}, version {version!r}, is not known.")
    if version > VERSION:
        raise UsageError(
            f"the file has format version {version}; this Wellkept reads up to {VERSION}.",
            hint="Update Wellkept.",
        )
    return True


def _require_header(file: BinaryIO, *, name: str) -> None:
    first = next(iter(read_lines(file)), None)
    problem = "its first line is missing"
    if first is not None:
        try:
            if first.problem is None and _is_header(_parse(first)):
                return
            problem = first.problem or "its first line names no format"
        except UsageError as error:
            problem = str(error)
    raise UsageError(
        f"{name} is not an export that can be read: {problem.rstrip('.')}.",
        hint=f'An export begins with {{"format": "{FORMAT}", "version": {VERSION}}}.',
    )
