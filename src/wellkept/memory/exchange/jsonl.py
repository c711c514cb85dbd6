"""Memory as a JSONL file: written for `git diff`, read back exactly.

The first line names the format and its version; every further line is one memory with all its
fields, keys sorted, oldest first, so the same memories always give the same bytes. A complete
export ends with the generated skills, each a line that `skill_lines` reads. Vectors are
derived and stay behind. Reading checks and redacts each record like a new memory; what a record
means for a memory that is already there is decided in `reconcile`.

Lines that cannot be taken are reported by number and never stop the rest, unless `strict` asks for
all or nothing. A file from a newer format, or one that is no export, is refused whole. Repeated
header lines are fine, so exports may be concatenated or joined by a union merge.
"""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TextIO

from wellkept.core.codec import Json
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.ids import is_full_id
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Validity
from wellkept.core.records import field, record, replace
from wellkept.core.types import Progress
from wellkept.memory.draft import checked_payload
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.atomic_file import new_file
from wellkept.memory.exchange.conflicts import ImportOutcome, Ledger, meet
from wellkept.memory.exchange.jsonl_lines import Line, opened, read_lines, require_text
from wellkept.memory.exchange.memory_json import memory_from_json, memory_to_json, parse_json
from wellkept.memory.exchange.skill_json import MARK, skill_from_json, skill_to_json
from wellkept.memory.text.redaction import redact

FORMAT = "wellkept-memories"
VERSION = 1
BATCH_RECORDS = 500
_CONFLICT_MARKS = ("<<<<<<< ", "=======", ">>>>>>> ", "||||||| ")


@record
class LineNote:
    """Something to tell about one line of the file."""

    line: int
    reason: str


@record(kw_only=True)
class ImportReport:
    """What became of every record: new, merged or skipped, or refused with the reason.

    `applied` is False when nothing was written: a dry run, or a bad line under `strict`.
    """

    new: int = 0
    merged: int = 0
    skipped: int = 0
    redacted: int = 0
    refused: tuple[LineNote, ...] = ()
    merges: tuple[LineNote, ...] = ()
    applied: bool = True


def whole(project: str | None) -> Filter:
    """The filter of a complete export: closed and archived memories belong to it."""
    return Filter(project=project, validity=Validity.ANY, archived=None)


def export_jsonl(
    engine: Engine, where: Filter, out: TextIO, *, progress: Progress | None = None
) -> int:
    """Write the memories that fit; returns how many."""
    total = engine.store.stats(where).total if progress else 0
    out.write(_dump({"format": FORMAT, "version": VERSION}))
    count = 0
    for memory in engine.store.iterate(where):
        out.write(_dump(memory_to_json(memory)))
        count += 1
        if progress and (count % BATCH_RECORDS == 0 or count == total):
            progress(count, max(count, total))
    if where == whole(where.project):
        for skill in engine.store.generated_skills(project=where.project):
            out.write(_dump(skill_to_json(skill)))
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
    """Take in an export; `project` puts all of it under one project instead of its own.

    Each batch of records is one transaction. With `strict`, one bad line means nothing is written.
    """
    name = str(source) if isinstance(source, Path) else "The input"
    with opened(source) as (file, size):
        require_text(file, name=name)
        _require_header(file, name=name)
        if strict or dry_run:
            rehearsal = _Import(engine, project=project, dry_run=True)
            report = rehearsal.run(file, size_bytes=size, progress=progress if dry_run else None)
            if dry_run or report.refused:
                return report
        return _Import(engine, project=project).run(file, size_bytes=size, progress=progress)


# -- One import -----------------------------------------------------------------------------------


@record
class _Told:
    line: int
    data: dict[str, Json]


@record
class _Record:
    line: int
    memory: Memory


@record(frozen=False)
class _Import:
    """The running account of one pass over a file."""

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
    rehearsed: Ledger | None = None

    def run(
        self, file: BinaryIO, *, size_bytes: int, progress: Progress | None = None
    ) -> ImportReport:
        lines = read_lines(file)
        while batch := list(islice(lines, BATCH_RECORDS)):
            told = [told for line in batch if (told := self._read(line))]
            fresh = self._without_known(self._without_skills(told))
            self._settle([record for item in fresh if (record := self._record(item))])
            if progress:
                progress(batch[-1].end_bytes, max(size_bytes, batch[-1].end_bytes))
        return self._report()

    def _read(self, line: Line) -> _Told | None:
        """What a line says; a header says nothing, a bad line is noted."""
        try:
            if line.problem:
                raise UsageError(f"{line.problem}.")
            data = _parse(line)
            return None if _is_header(data) else _Told(line.number, data)
        except UsageError as error:
            self.refused.append(LineNote(line.number, error.message))
            return None

    def _without_skills(self, told: list[_Told]) -> list[_Told]:
        """Take generated skills in, and leave the memories."""
        for item in told:
            if MARK not in item.data:
                continue
            try:
                self.counts[self._take_skill(item.data)] += 1
            except (ConflictError, UsageError) as error:
                self.refused.append(LineNote(item.line, error.message))
        return [item for item in told if MARK not in item.data]

    def _take_skill(self, data: dict[str, Json]) -> ImportOutcome:
        skill = skill_from_json(data)
        store = self.engine.store
        home = store.canonical_project(self.project or skill.project)
        if any(known.id == skill.id for known in store.generated_skills(project=None)):
            return ImportOutcome.SKIPPED
        if not self.dry_run:
            store.put_generated_skill(replace(skill, project=home))
        return ImportOutcome.NEW

    def _without_known(self, told: list[_Told]) -> list[_Told]:
        """Leave out what the store says word for word, so that taking in again is quick."""
        if self.project is not None:
            return told
        ids = [name for item in told if is_full_id(name := str(item.data.get("id")))]
        known = {memory.id: memory_to_json(memory) for memory in self.engine.store.get(ids)}
        fresh = [item for item in told if known.get(str(item.data.get("id"))) != item.data]
        self.counts[ImportOutcome.SKIPPED] += len(told) - len(fresh)
        return fresh

    def _record(self, told: _Told) -> _Record | None:
        """The memory that a line describes; what cannot be one is noted."""
        try:
            return _Record(told.line, self._memory(told.data))
        except UsageError as error:
            self.refused.append(LineNote(told.line, error.message))
            return None

    def _memory(self, data: dict[str, Json]) -> Memory:
        purge = _Redactor()
        memory = memory_from_json(data, purge=purge)
        payload = checked_payload(memory.type, memory.payload)
        self.redacted += purge.found or payload != memory.payload
        home = memory.project if self.project is None else self.project
        if home not in self.homes:
            self.homes[home] = self.engine.store.canonical_project(home)
        return replace(
            memory, content=memory.content.strip(), project=self.homes[home], payload=payload
        )

    def _settle(self, records: list[_Record]) -> None:
        """Write a batch at once; if that cannot be, record by record to find the odd one out."""
        if not records:
            return
        try:
            self._write(records)
        except (ConflictError, UsageError) as error:
            if len(records) == 1:
                self.refused.append(LineNote(records[0].line, error.message))
                return
            for record in records:
                self._settle([record])

    def _write(self, records: list[_Record]) -> None:
        ledger = self._ledger()
        ledger.preload(record.memory.id for record in records)
        met = [(record, self._meet(ledger, record)) for record in records]
        if not self.dry_run and (changes := ledger.changes(self.engine)):
            self.engine.store.apply(changes)
        for one, found in met:
            if isinstance(found, str):
                self.refused.append(LineNote(one.line, found))
                continue
            self.counts[found[0]] += 1
            if found[1]:
                self.merges.append(LineNote(one.line, found[1]))

    def _meet(self, ledger: Ledger, record: _Record) -> tuple[ImportOutcome, str | None] | str:
        """The verdict on a record, or the reason why it is refused."""
        try:
            verdict = meet(ledger, record.memory)
        except UsageError as error:
            return str(error)
        return verdict.meeting, verdict.reason

    def _ledger(self) -> Ledger:
        """A rehearsal writes nothing, so it must carry what it met from batch to batch."""
        if not self.dry_run:
            return Ledger(self.engine.store)
        self.rehearsed = self.rehearsed or Ledger(self.engine.store)
        return self.rehearsed

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
    """Redacts each text of one record and remembers whether anything had to go."""

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
        raise UsageError("this is the mark of a merge conflict that was not resolved.")
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
    """Whether a line is a header; a later version of the format is refused."""
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
