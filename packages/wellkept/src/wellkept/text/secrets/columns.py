"""Finds secrets in the columns of tables: CSV, Markdown, what a shell prints.

A table is read when its first line names a column that speaks of secrets. The work is linear: a
line is read once as a header and once as a row, and nothing looks further than a line may be long.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator

from wellkept.text.secrets.cues import cue_of, phrase_cue
from wellkept.text.secrets.shape import PLAIN, SecretSpan, WorkCount, shape_of

_SIGNS = ("|", "│", "┃", ";", "\t", ",")
_LINE_CHARS = 600
_NUMBER_CHARS = 20
_MAX_ROWS = 200
_EDGES = " \t\"'`*"
# A line of short names between signs, or between wide blanks.
_HEADER = re.compile(
    r"[ ]{0,20}[|│┃]?(?:[\w .()/\"'`*:-]{1,60}[|│┃;,\t])+[\w .()/\"'`*-]{0,60}"
    r"|[ ]{0,20}\w+(?: \w+)*(?: {2,}\w+(?: \w+)*)+ {0,20}"
)
_NAME = re.compile(r"[\w .()/-]{1,40}")
_NUMBER = re.compile(r"[ \t]{0,6}\d{1,6}[\t→]")
_RULER = re.compile(r"[\s|│┃+:;,─┼├┤═=-]+")
_WIDE = re.compile(r"\S+(?: \S+)*")


def find_in_columns(
    text: str, parts: Iterable[tuple[int, int]], work: WorkCount
) -> Iterator[SecretSpan]:
    """Secrets below the headers of tables in parts of a text."""
    done = 0
    for start, end in parts:
        done = yield from _in_part(text, max(start, done), end, work)


def _in_part(text: str, start: int, end: int, work: WorkCount) -> Generator[SecretSpan, None, int]:
    """The secrets of a part; returns where the last table in it ends."""
    done = start
    while start < end:
        line_end = _line_end(text, start, end)
        first = _after_number(text, start)
        header = (
            _HEADER.fullmatch(text, first, line_end) if line_end - first <= _LINE_CHARS else None
        )
        start = line_end + 1
        if header:
            line = header.group()
            sign = next((one for one in _SIGNS if one in line), "  ")
            if named := _columns(line, sign):
                work.places += 1
                start = done = yield from _rows(text, start, sign=sign, columns=named, work=work)
    return done


def _cells(line: str, sign: str) -> list[tuple[int, str]]:
    """The cells of a line, each with where it begins."""
    if sign == "  ":
        return [(m.start(), m.group()) for m in _WIDE.finditer(line)]
    cells: list[tuple[int, str]] = []
    at = 0
    for cell in line.split(sign):
        shown = cell.strip(_EDGES)
        cells.append((at + cell.find(shown), shown))
        at += len(cell) + 1
    return cells


def _columns(line: str, sign: str) -> tuple[int, tuple[int, ...]] | None:
    """How many cells a header has, and which of them speak of secrets."""
    cells = [cell for _, cell in _cells(line, sign)]
    # What a sentence says before the table: "Look at this: user,password".
    cells[0] = cells[0].rpartition(": ")[2]
    if len(cells) < 2 or not all(_NAME.fullmatch(cell) or not cell for cell in cells):
        return None
    # Lists in code look alike: they are indented, and end with a comma.
    if sign in ";\t," and (line[:1].isspace() or not all(cells)):
        return None
    named = tuple(n for n, cell in enumerate(cells) if _is_named(cell))
    return (len(cells), named) if named else None


def _is_named(cell: str) -> bool:
    words = cell.lower().split()
    if not words or len(words) > 4:
        return False
    cue = phrase_cue(" ".join(words[-2:-1]), words[-1]) or cue_of(words[-1])
    return cue in ("password", "secret", "token") or (
        cue == "key" and (len(words) > 1 or len(cell) > 4)
    )


def _rows(
    text: str, start: int, *, sign: str, columns: tuple[int, tuple[int, ...]], work: WorkCount
) -> Generator[SecretSpan, None, int]:
    """The cells of the secret columns; returns where the table ends."""
    count, named = columns
    for _ in range(_MAX_ROWS):
        end = _line_end(text, start, start)
        start = _after_number(text, start)
        line = text[start:end]
        if not line.strip() or end - start > _LINE_CHARS:
            return start
        if not _RULER.fullmatch(line):
            cells = _cells(line, sign)
            if len(cells) != count:
                return start
            work.places += 1
            for number in named:
                offset, cell = cells[number]
                if _is_secret(cell):
                    yield SecretSpan("password", start + offset, start + offset + len(cell))
        if end >= len(text):
            return end
        start = end + 1
    return start


def _after_number(text: str, start: int) -> int:
    """Where a line begins behind the number that a listing puts before it."""
    number = _NUMBER.match(text, start)
    return number.end() if number else start


def _line_end(text: str, start: int, least: int) -> int:
    """Where a line ends, or a place behind `least` where it is too long to matter."""
    limit = max(start, least) + _LINE_CHARS + _NUMBER_CHARS
    end = text.find("\n", start, limit)
    return end if end >= 0 else min(len(text), limit)


def _is_secret(value: str) -> bool:
    kind = shape_of(value).partition(":")[0] if " " not in value else PLAIN
    return kind not in (PLAIN, "uuid") and not kind.startswith(("odd0", "phrase", "word1"))
