"""Read JSONL files that clients append to while they run.

Invariant: reading never fails on content; it goes on with the next line, and skipped lines are
counted. A last line without line end counts as incomplete, not as damaged.

No record marks the end of a turn; it is found from what follows.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, cast

from wellkept.clients.payload_fields import Fields
from wellkept.clients.transcripts.usage import usage_of
from wellkept.core.chat.transcripts import (
    ReadStats,
    Transcript,
    TranscriptEvent,
    TranscriptFile,
    UnreadableFile,
)
from wellkept.core.records import record, replace
from wellkept.core.session.events import Origin, TurnEnded
from wellkept.core.session.injected_text import without_injected


@record(frozen=False)
class Turn:
    """The turn in progress: the agent's last record and message since the prompt."""

    origin: Origin | None = None
    end: int = 0
    message: str | None = None

    def add(self, origin: Origin, *, end: int, message: str | None) -> None:
        """Add a record of the agent; its latest message is kept."""
        self.origin, self.end = origin, end
        self.message = message or self.message

    def close(self, *, final: bool = False) -> Iterator[TranscriptEvent]:
        """End the turn, if there is one; `final` when only the end of the file ends it."""
        if self.origin is None:
            return
        origin = replace(self.origin, event_id=f"{self.origin.event_id}:turn")
        last = without_injected(self.message).strip() if self.message else None
        yield TranscriptEvent(TurnEnded(origin=origin, last_message=last or None), self.end, final)
        self.origin, self.message = None, None


MAX_LINE_BYTES: Final = 64 << 20
_CHUNK_BYTES: Final = 1 << 20
_PEEK_RECORDS: Final = 60
_TAIL_BYTES: Final = 256 << 10
_TIME: Final = re.compile(rb'"timestamp"\s*:\s*"(\d{4}-\d\d-\d\dT[^"]{8,30})"')


def json_lines(
    path: Path, reading: ReadStats, *, skip_kind: Callable[[bytes], str | None] | None = None
) -> Iterator[tuple[Fields, int]]:
    """Every JSON object of a file, with the offset of its line end.

    `skip_kind` returns the kind of a line that can be skipped without parsing it, else None.
    """
    end = 0
    with path.open("rb", buffering=_CHUNK_BYTES) as file:
        while line := file.readline(MAX_LINE_BYTES):
            end += len(line)
            if not line.endswith(b"\n"):
                if len(line) == MAX_LINE_BYTES:
                    end += _skip_line(file)
                    reading.too_long += 1
                    continue
                if (fields := _fields(line)) is None:
                    reading.torn_bytes += len(line)
                    return
            elif skip_kind is not None and (kind := skip_kind(line)):
                reading.records += 1
                reading.pass_over(kind)
                continue
            else:
                fields = _fields(line)
            if fields is not None:
                reading.records += 1
                yield fields, end
            elif line.strip():
                yield from _records_on_one_line(line, reading, end=end)


def _records_on_one_line(
    line: bytes, reading: ReadStats, *, end: int
) -> Iterator[tuple[Fields, int]]:
    """Records that a client wrote on one line. Only the last one gets the line's end offset, so a
    reader that stops before it reads the line again."""
    text, at, found = line.decode("utf-8", "replace").rstrip(), 0, list[Fields]()
    decoder = json.JSONDecoder()
    try:
        while at < len(text):
            read, at = decoder.raw_decode(text, at)
            found += [cast("Fields", read)] if isinstance(read, dict) else []
    except (ValueError, RecursionError):
        pass
    reading.records += len(found)
    reading.damaged += at < len(text) or not found
    for number, fields in enumerate(found, start=1):
        yield fields, end if number == len(found) else end - len(line)


def first_records(path: Path) -> Iterator[Fields]:
    """The first records of a file."""
    return (fields for fields, _ in islice(json_lines(path, ReadStats()), _PEEK_RECORDS))


def merge_files(
    client: str, session_id: str, files: Iterable[tuple[TranscriptFile, str | None]]
) -> Transcript:
    """One session from its files, each with the working folder it names."""
    known = list(files)
    parts = tuple(part for part, _ in known)
    return Transcript(
        client=client,
        session_id=session_id,
        cwd=next((cwd for _, cwd in known if cwd), None),
        last_at=max(last_record_time(part.path, part.path.stat()) for part in parts),
        parts=parts,
        usage=lambda: usage_of(client, [part.path for part in parts]),
    )


def last_record_time(path: Path, stat: os.stat_result) -> datetime:
    """The time of the last record; the file's date when no record has one."""
    with path.open("rb") as file:
        file.seek(max(0, stat.st_size - _TAIL_BYTES))
        times = _TIME.findall(file.read(_TAIL_BYTES))
    moments = [at for raw in times[-20:] if (at := parse_time(raw.decode("ascii", "replace")))]
    return max(moments) if moments else datetime.fromtimestamp(stat.st_mtime, UTC)


def parse_time(text: object) -> datetime | None:
    """Parse ISO 8601, or seconds or milliseconds since 1970; without zone it is UTC."""
    try:
        if isinstance(text, str):
            at = datetime.fromisoformat(text)
            return at if at.tzinfo else at.replace(tzinfo=UTC)
        if isinstance(text, (int, float)) and not isinstance(text, bool):
            return datetime.fromtimestamp(text / 1000 if text > 1e11 else text, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def find_files(
    paths: Iterable[Path], *, suffixes: tuple[str, ...]
) -> Iterator[Path | UnreadableFile]:
    """The files at or below some paths, in order; links to folders are not followed."""
    for root in paths:
        if root.is_dir():
            problems: list[UnreadableFile] = []
            for folder, folders, names in os.walk(root, onerror=_noting(problems)):
                folders.sort()
                named = (Path(folder, name) for name in sorted(names) if name.endswith(suffixes))
                yield from map(_regular, named)
            yield from problems
        else:
            yield _regular(root)


def _regular(path: Path) -> Path | UnreadableFile:
    """The path if it is a regular file: reading a pipe or device might never end."""
    try:
        if path.is_file():
            return path
    except OSError as error:
        return UnreadableFile(path, error.strerror or str(error))
    return UnreadableFile(path, "is not a regular file" if path.exists() else "does not exist")


def _noting(problems: list[UnreadableFile]) -> Callable[[OSError], None]:
    def note(error: OSError) -> None:
        problems.append(UnreadableFile(Path(error.filename or ""), error.strerror or str(error)))

    return note


def _fields(line: bytes) -> Fields | None:
    try:
        read: object = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return cast("Fields", read) if isinstance(read, dict) else None


def _skip_line(file: BinaryIO) -> int:
    skipped = 0
    while chunk := file.readline(_CHUNK_BYTES):
        skipped += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return skipped
