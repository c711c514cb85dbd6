"""Reads the lines of an export, even from a damaged file.

A line comes as text or as the reason why it cannot be read; a bad line never hides the next.
Knows nothing of what the lines mean.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.records import record

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
