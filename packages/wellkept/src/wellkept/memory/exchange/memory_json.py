"""The lines of an export, even of a damaged file, and a memory from one JSON object, checked.

A line comes as text or as the reason why it cannot be read; a bad line never hides the next.
`core.codec.record_to_json` writes a memory; reading here is strict: an unknown field, a wrong type
or a number out of range is refused by name, because what is dropped silently is lost. Invariant:
`memory_from_json(record_to_json(m)) == m` for every memory that may be stored.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from wellkept.core.codec import Json, Payload, finite, record_from_json
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.ids import is_full_id
from wellkept.core.memory import MAX_CONTENT_CHARS, Memory, Relation
from wellkept.core.records import record, replace
from wellkept.core.text import clean
from wellkept.core.types import TYPE_RULES, MemoryType
from wellkept.memory.fields import MEMORY_FIELDS

# Times that default to the creation when a record made elsewhere leaves them out.
_CREATION_TIMES = ("updated_at", "valid_from", "accessed_at")
# Ids must arrive unchanged, or links would break.
_EXACT = frozenset({"target_id", *(row.name for row in MEMORY_FIELDS.values() if row.exact)})


def memory_from_json(data: Mapping[str, Json], *, redact: Callable[[str], str] = str) -> Memory:
    """The memory that a JSON object describes; UsageError says what does not fit.

    `redact` is applied to every text except ids, after cleaning.
    """

    def text(name: str, value: str) -> str:
        return value if name in _EXACT else redact(clean(value))

    given = dict(data)
    for name in _CREATION_TIMES:
        given.setdefault(name, given.get("created_at"))
    payload = given.pop("payload", None)
    memory = record_from_json(Memory, given, where="", text=text)
    memory = replace(memory, payload=_payload(memory.type, payload, redact=redact))
    _require_valid(memory)
    return memory


def parse_json(text: str) -> Json:
    """Read standard JSON: no NaN, no deep nesting. UsageError says what is wrong."""
    try:
        return cast("Json", json.loads(text, parse_constant=_no_constant))
    except RecursionError:
        raise UsageError("The JSON is nested too deeply.") from None
    except ValueError as error:
        raise UsageError(f"This is not JSON: {error}.") from None


def _no_constant(name: str) -> object:
    raise UsageError(f"{name} is not a number that can be kept.")


def _payload(type: MemoryType, data: Json, *, redact: Callable[[str], str]) -> Payload | None:
    rule = TYPE_RULES[type]
    if data is None:
        if rule.payload_required:
            raise UsageError(f"A memory of type {type.value} needs a payload.")
        return None
    if rule.payload is None:
        raise UsageError(f"A memory of type {type.value} takes no payload.")
    if not isinstance(data, dict):
        raise UsageError("payload must be an object.")
    try:
        cleaned = {name: _cleaned(value, redact=redact) for name, value in data.items()}
    except RecursionError:
        raise UsageError("The payload is nested too deeply.") from None
    return record_from_json(rule.payload, cleaned)


def _cleaned(value: Json, *, redact: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return redact(clean(value))
    if isinstance(value, list):
        return [_cleaned(item, redact=redact) for item in value]
    if isinstance(value, dict):
        return {clean(key): _cleaned(item, redact=redact) for key, item in value.items()}
    return finite(value, where="payload") if isinstance(value, float) else value


def _require_valid(memory: Memory) -> None:
    """Refuse what no memory can be, whatever file it came from."""
    for name, row in MEMORY_FIELDS.items():
        if row.limit and (value := getattr(memory, name)) is not None:
            row.check(value)
    if memory.valid_to is not None and memory.valid_to < memory.valid_from:
        raise UsageError("valid_to lies before valid_from.")
    if memory.key == "" or not memory.project.strip():
        raise UsageError("key and project may not be empty text.")
    if not memory.content.strip():
        raise UsageError("The content is empty.")
    if len(memory.content) > MAX_CONTENT_CHARS:
        raise UsageError(
            f"The content has {len(memory.content):,} characters; at most"
            f" {MAX_CONTENT_CHARS:,} fit."
        )
    for name in (memory.id, memory.superseded_by):
        if name is not None and not is_full_id(name):
            raise UsageError(f"{name!r} is not a memory id.")
    for relation in memory.relations:
        _require_valid_relation(relation)


def _require_valid_relation(relation: Relation) -> None:
    if (relation.target_id is None) == (relation.target_file is None):
        raise UsageError("A relation points either to a memory or to a file.")
    if relation.target_id is not None and not is_full_id(relation.target_id):
        raise UsageError(f"{relation.target_id!r} is not a memory id.")
    MEMORY_FIELDS["confidence"].check(relation.confidence)


MAX_LINE_BYTES = 64 * 1_048_576
_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")
_SPOOLED_BYTES = 8 * 1_048_576


@record
class Line:
    """One line with its number and the bytes read so far; `problem` is set when it is unreadable.

    `is_torn` means that the file ends without ending the line.
    """

    number: int
    end_bytes: int
    text: str = ""
    problem: str | None = None
    is_torn: bool = False


@contextmanager
def opened(source: TextIO | Path) -> Generator[tuple[BinaryIO, int]]:
    """The source as bytes that can be read twice, with its size."""
    if not isinstance(source, Path):
        chunks = iter(lambda: source.read(65_536), "")
        with _spooled(chunk.encode("utf-8", errors="surrogatepass") for chunk in chunks) as spooled:
            yield spooled
        return
    with _open(source) as file:
        if file.seekable():
            yield file, source.stat().st_size
            return
        with _spooled(iter(lambda: file.read(65_536), b"")) as spooled:
            yield spooled


@contextmanager
def _spooled(chunks: Iterable[bytes]) -> Generator[tuple[BinaryIO, int]]:
    """Copy a source that can be read only once, such as a pipe, to a temporary file."""
    with tempfile.SpooledTemporaryFile(max_size=_SPOOLED_BYTES) as spool:
        for chunk in chunks:
            spool.write(chunk)
        size = spool.tell()
        spool.seek(0)
        yield cast("BinaryIO", spool), size


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except (FileNotFoundError, IsADirectoryError) as error:
        raise NotFoundError(f"There is no file {path}.") from error
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from error


def read_lines(file: BinaryIO) -> Iterator[Line]:
    """The non-empty lines of a file, from its start."""
    file.seek(0)
    done = 0
    number = 0
    while raw := file.readline(MAX_LINE_BYTES):
        number += 1
        done += len(raw)
        if not raw.endswith(b"\n") and len(raw) == MAX_LINE_BYTES:
            done += _skip_rest(file)
            yield Line(number, done, problem=f"the line is longer than {MAX_LINE_BYTES:,} bytes")
            continue
        line = _decoded(raw.removeprefix(_BOM) if number == 1 else raw, number, done)
        if line.text or line.problem:
            yield line


def require_text(file: BinaryIO, *, name: str) -> None:
    """Refuse a file that is empty or not UTF-8 text."""
    file.seek(0)
    start = file.read(4_096)
    if not start.strip():
        raise UsageError(f"{name} is empty.", hint="An export has at least its first line.")
    if start.startswith(_WIDE_BOMS):
        raise UsageError(f"{name} is UTF-16 text.", hint="Save it as UTF-8.")
    if b"\0" in start:
        raise UsageError(f"{name} is a binary file, not an export.")


def _decoded(raw: bytes, number: int, done: int) -> Line:
    torn = not raw.endswith(b"\n")
    try:
        text = raw.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        return Line(number, done, problem=f"byte {error.start + 1} is not UTF-8", is_torn=torn)
    return Line(number, done, text, is_torn=torn)


def _skip_rest(file: BinaryIO) -> int:
    skipped = 0
    while part := file.readline(1_048_576):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped
