"""Finds secrets in the columns of tables: CSV, Markdown, what a database shell prints, SQL inserts.

A table is read when its first line names a column that speaks of secrets. The work is linear: a
line is read once as a header and once as a row.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from wellkept.text.secrets import values
from wellkept.text.secrets.spans import SecretSpan, WorkCount
from wellkept.text.secrets.values import ValueLists

_SIGNS = ("|", "│", "┃", ";", "\t", ",")
_BARE_SIGNS = (";", "\t", ",")
_LINE_CHARS = 600
_MAX_ROWS = 200
_CELL_EDGES = " \t\"'`*"
_COLUMN = re.compile(
    r"(?:[A-Za-z]{1,24}[ _-]){0,3}?"
    r"(?:password|passwd|passwort|kennwort|pwd|pass|passphrase|secret|secret key|api[ _-]?key"
    r"|secret access key|access token|api token|token|mot de passe|contraseña|senha)",
    re.IGNORECASE,
)
_HEADER_WORD = re.compile(r"pass|pwd|secret|token|key\b|contrase|senha|kennwort|mot de p")
_NAME = re.compile(r"[\w .()/-]{1,40}")
_NUMBER = re.compile(r"[ \t]{0,6}\d{1,6}[\t→]")
_RULER = re.compile(r"[\s|│┃+:;,─┼├┤═=-]+")
_INSERT = re.compile(
    r"insert\s{1,4}into\s{1,4}[\w.\"`\[\]]{1,80}\s{0,4}\(([^()]{1,400})\)\s{0,8}values\s{0,8}",
    re.IGNORECASE,
)
_TUPLE = re.compile(r"\(([^()]{1,2000})\)\s{0,8},?\s{0,8}")
_SQL_VALUE = re.compile(r"\s*(?:[nN]?'((?:[^'\\]|''|\\.){0,200})'|[^,']{1,200})\s*(?:,|\Z)")


def find_in_tables(text: str, low: str, lists: ValueLists, work: WorkCount) -> Iterator[SecretSpan]:
    """Secrets below the headers of tables."""
    if "\n" not in text:
        return
    done = 0
    for header in _HEADER_WORD.finditer(low):
        if header.start() < done:
            continue
        start = text.rfind("\n", max(0, header.start() - _LINE_CHARS), header.start()) + 1
        end = _line_end(text, header.start())
        done = end
        first = _after_number(text, start)
        sign = next((one for one in _SIGNS if text.find(one, first, end) >= 0), None)
        if sign is None or end - start > _LINE_CHARS:
            continue
        work.places += 1
        columns = _columns(text[first:end], sign)
        if columns:
            done = yield from _rows(
                text, end + 1, sign=sign, columns=columns, lists=lists, work=work
            )


def _columns(line: str, sign: str) -> tuple[int, tuple[int, ...]] | None:
    """How many cells a header has, and which of them speak of secrets."""
    cells = [cell.strip(_CELL_EDGES) for cell in line.split(sign)]
    # What a sentence says before the table: "Look at this: user,password".
    cells[0] = cells[0].rpartition(": ")[2]
    if len(cells) < 2 or not all(_NAME.fullmatch(cell) or not cell for cell in cells):
        return None
    # Lists in code look alike: they are indented, and end with a comma.
    if sign in _BARE_SIGNS and (line[:1].isspace() or not all(cells)):
        return None
    named = tuple(n for n, cell in enumerate(cells) if _COLUMN.fullmatch(cell))
    return (len(cells), named) if named else None


def _rows(
    text: str,
    start: int,
    *,
    sign: str,
    columns: tuple[int, tuple[int, ...]],
    lists: ValueLists,
    work: WorkCount,
) -> Generator[SecretSpan, None, int]:
    """The cells of the secret columns; returns where the table ends."""
    count, named = columns
    for _ in range(_MAX_ROWS):
        end = _line_end(text, start)
        start = _after_number(text, start)
        line = text[start:end]
        if not line.strip() or end - start > _LINE_CHARS:
            return start
        if not _RULER.fullmatch(line):
            cells = line.split(sign)
            if len(cells) != count:
                return start
            work.places += 1
            at = start
            for number, cell in enumerate(cells):
                if number in named and _is_secret(cell.strip(_CELL_EDGES), lists):
                    begin = at + cell.index(cell.strip(_CELL_EDGES))
                    yield SecretSpan("password", begin, begin + len(cell.strip(_CELL_EDGES)))
                at += len(cell) + 1
        if end >= len(text):
            return end
        start = end + 1
    return start


def find_in_inserts(
    text: str, low: str, lists: ValueLists, work: WorkCount
) -> Iterator[SecretSpan]:
    """Secrets among the values of SQL inserts."""
    at = low.find("insert")
    while at >= 0:
        head = _INSERT.match(text, at)
        if head:
            work.places += 1
            names = [name.strip(' \t\r\n"`[]') for name in head[1].split(",")]
            named = {n for n, name in enumerate(names) if _COLUMN.fullmatch(name)}
            end = head.end()
            for _ in range(_MAX_ROWS if named else 0):
                row = _TUPLE.match(text, end)
                if not row:
                    break
                yield from _values_of(row, named, lists)
                end = row.end()
        at = low.find("insert", head.end() if head else at + 6)


def _values_of(row: re.Match[str], named: set[int], lists: ValueLists) -> Iterator[SecretSpan]:
    at = row.start(1)
    for number in range(max(named) + 1):
        value = _SQL_VALUE.match(row.string, at, row.end(1))
        if not value or value.end() == at:
            return
        if number in named and value[1] and _is_secret(value[1], lists):
            yield SecretSpan("password", *value.span(1))
        at = value.end()


def _after_number(text: str, start: int) -> int:
    """Where a line begins behind the number that a listing puts before it."""
    number = _NUMBER.match(text, start)
    return number.end() if number else start


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return end if end >= 0 else len(text)


def _is_secret(value: str, lists: ValueLists) -> bool:
    odd = values.has_digit_and_letter(value) or values.has_symbol(value)
    whole = len(value) >= 4 and " " not in value and value.isascii()
    return whole and (odd or values.is_made_up(value)) and lists.is_real(value)
