"""Printing: JSON, lines and tables, on any terminal or none.

Memory text is data: whatever could move a cursor, set a title or turn the direction of writing is
shown as a visible mark. `rich` is imported only when a table really goes to a terminal.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, TextIO, cast

import click

from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory
from wellkept.core.records import fields, is_record
from wellkept.core.text import first_line, shorten
from wellkept.core.types import TYPE_RULES, MemoryType

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from wellkept.core.types import Progress

_CONTROL = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
_UNSEEN_IN_JSON = "[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
_BADGE_COLOURS = {"PREF": "magenta", "CONV": "blue", "PATN": "cyan", "WARN": "yellow"}
_NARROWEST, _USUAL_WIDTH = 40, 100
_FENCES = ("```", "~~~")
_PROSE = re.compile(r"[(\"'“«`*]{0,3}[^\W\d_]")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+")
_WHOLE_CELL = 16  # a column of such short cells is never broken
_WHOLE_WORD = 32  # a name or a path up to this is broken only where there is no other way


def safe(text: str) -> str:
    """The text without anything that a terminal would act upon, except line breaks and tabs."""
    return re.sub(_CONTROL, lambda m: _visible(m.group()), text.replace("\r\n", "\n"))


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\\u{code:04x}"


def one_line(text: str) -> str:
    """The text as one safe line."""
    return safe(" ".join(text.split()))


# -- JSON -----------------------------------------------------------------------------------------


def print_json(value: object) -> None:
    """One JSON document on standard output."""
    # Where the output is not UTF-8, escapes keep the document valid.
    ascii_only = sys.stdout.encoding.lower().replace("-", "") != "utf8"
    text = json.dumps(plain(value), ensure_ascii=ascii_only, indent=2, allow_nan=False)
    click.echo(re.sub(_UNSEEN_IN_JSON, lambda m: f"\\u{ord(m.group()):04x}", text))


def plain(value: object) -> Json:
    """Records as JSON: fields by name, moments in ISO 8601, a memory with its short id."""
    if isinstance(value, Memory):
        from wellkept.core.codec import record_to_json

        head: dict[str, Json] = {"id": value.id, "short": value.short}
        if not value.is_open:
            head["closed"] = True
        return {**head, **record_to_json(value)}
    if is_record(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return cast("Json", value.value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, (list, tuple, frozenset, set)):
        return [plain(item) for item in cast("Sequence[object]", value)]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in cast("dict[object, object]", value).items()}
    return str(value) if isinstance(value, PurePath) else cast("Json", value)


def exact_stdout() -> TextIO:
    """Standard output for a file format: UTF-8 and plain line ends on every system."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", newline="\n")
    return sys.stdout


# -- Lines ----------------------------------------------------------------------------------------


def width() -> int:
    """Columns to write in; at least a few, so that a tiny window still shows something."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal():
        return max(_NARROWEST, int(given))
    try:
        columns = os.get_terminal_size().columns
    except OSError:
        columns = 0
    return max(_NARROWEST, columns or _USUAL_WIDTH)


def badge(type: MemoryType) -> str:
    """The coloured badge of a type."""
    name = TYPE_RULES[type].badge
    return click.style(f"[{name}]", fg=_BADGE_COLOURS.get(name, "green"), bold=True)


def title(memory: Memory, *, limit: int) -> str:
    """The first line of a memory, safe to print."""
    return shorten(one_line(first_line(memory.content, limit=limit)), limit=limit)


def day(moment: datetime | None) -> str:
    """The date of a moment."""
    return moment.date().isoformat() if moment else ""


def note(text: str) -> None:
    """A remark that is not part of the answer."""
    click.secho(safe(text), err=True, dim=True)


def print_memory_line(memory: Memory, *, mark: str = "") -> None:
    """One memory on one line."""
    room = width() - 22 - len(mark)
    head = f"{click.style('m:' + memory.short, fg='cyan')} {badge(memory.type)}"
    click.echo(f"{mark}{head} {title(memory, limit=max(20, room))}")


def indented(text: str, *, by: int = 4) -> str:
    """Safe text, wrapped to the terminal and set in from the left."""
    import textwrap

    room = max(20, width() - by)
    lines: list[str] = []
    for line in _flowed(safe(text).splitlines(), room):
        item = _ITEM.match(line)
        hang = " " * min(item.end() if item else 0, room // 2)
        lines += textwrap.wrap(line, room, subsequent_indent=hang, replace_whitespace=False) or [""]
    return "\n".join(" " * by + line for line in lines)


def _flowed(lines: Sequence[str], room: int) -> Iterator[str]:
    """The lines, with prose that was broken for a wider page put together, so that it does not
    leave single words behind; what stands for itself (items of lists, code, quotations) stays."""
    part: list[str] = []
    fenced = False
    for line in lines:
        fenced ^= line.lstrip().startswith(_FENCES)
        if part and not fenced and _goes_on(part, line):
            part.append(line)
            continue
        yield from _together(part, room)
        part = []
        if not fenced and (_PROSE.match(line) or _ITEM.match(line)):
            part = [line]
        else:
            yield line
    yield from _together(part, room)


def _goes_on(part: Sequence[str], line: str) -> bool:
    """Whether a line belongs to the prose before it; that of an item is set in."""
    is_set_in = line[:1].isspace()
    if is_set_in is not bool(_ITEM.match(part[0])) or _ITEM.match(line):
        return False
    return _PROSE.match(line.lstrip()) is not None


def _together(part: Sequence[str], room: int) -> Sequence[str]:
    if all(len(line) <= room for line in part):
        return part
    return [" ".join([part[0], *(line.strip() for line in part[1:])])]


# -- Tables ---------------------------------------------------------------------------------------


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str = "") -> None:
    """A table on a terminal; elsewhere the same cells, tab-separated, one row a line.

    A terminal too narrow for its columns gets each row as lines; no row at all gets `empty`.
    """
    if not rows:
        if empty:
            note(empty)
        return
    if not sys.stdout.isatty() and not _colour_is_forced():
        for row in rows:
            click.echo("\t".join(one_line(cell) for cell in row))
        return
    columns = list(zip(*rows, strict=True))
    whole = [all(len(cell) <= _WHOLE_CELL for cell in cells) for cells in columns]
    if _least_width(headings, columns, whole) > width():
        for row in rows:
            _print_stacked(headings, row, whole)
    else:
        _print_rich(headings, rows, whole)


def _least_width(
    headings: Sequence[str], columns: Sequence[Sequence[str]], whole: Sequence[bool]
) -> int:
    """What a table needs: columns of short cells as they are, and some room for each other one."""
    total = 0
    for name, cells, fits in zip(headings, columns, whole, strict=True):
        longest = max(len(name), *map(len, cells))
        word = max((len(word) for cell in cells for word in cell.split()), default=0)
        broken = max(_WHOLE_CELL, min(word, _WHOLE_WORD))
        total += 2 + (longest if fits else min(longest, broken))
    return total


def _print_stacked(headings: Sequence[str], row: Sequence[str], whole: Sequence[bool]) -> None:
    """A row as lines: its name and all that is short, then each long cell."""
    cells = [one for one in zip(headings, row, whole, strict=True) if one[1]]
    first = next((number for number, (_, cell, _) in enumerate(cells) if len(cell) > 1), 0)
    head: list[str] = []
    rest: list[str] = []
    for number, (name, cell, fits) in enumerate(cells):
        if fits or (number == first and len(cell) <= _WHOLE_WORD):
            line = one_line(cell)
            head.append(click.style(line, fg="cyan") if name == "id" else line)
        else:
            rest.append(indented(cell, by=2))
    click.echo("\n".join(["  ".join(head), *rest] if head else rest))


def _print_rich(
    headings: Sequence[str], rows: Sequence[Sequence[str]], whole: Sequence[bool]
) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=any(headings))
    for name, fits in zip(headings, whole, strict=True):
        table.add_column(
            name,
            header_style="bold",
            style="cyan" if name == "id" else "",
            overflow="fold",
            no_wrap=fits,
        )
    for row in rows:
        table.add_row(*(Text(safe(cell)) for cell in row))
    colourless = click.get_current_context().color is False
    console = Console(
        no_color=colourless, width=width(), highlight=False, force_terminal=_colour_is_forced()
    )
    console.print(table)


def _colour_is_forced() -> bool | None:
    return True if click.get_current_context().color else None


# -- Asking and waiting ---------------------------------------------------------------------------


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something that cannot be undone; where nobody can answer, refuse."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            f"{question} Nobody is there to say yes.",
            hint="Add --yes, or look first with --dry-run.",
        )
    click.confirm(question, abort=True, err=True)


def require_editor(*, instead: str) -> None:
    """Refuse to open an editor where it would wait for nobody: none is named, and no terminal."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not named and not sys.stdin.isatty():
        raise UsageError("There is no terminal to edit in.", hint=f"Give {instead}, or set EDITOR.")


@contextmanager
def progress_bar(label: str) -> Generator[Progress | None, None, None]:
    """A progress callback that draws on standard error when that is a terminal.

    Nothing is drawn before there is something to tell.
    """
    if not sys.stderr.isatty():
        yield None
        return
    with ExitStack() as stack:
        bars: list[ProgressBar[int]] = []

        def tell(done: int, total: int) -> None:
            if not bars:
                made: ProgressBar[int] = click.progressbar(length=1, label=label, file=sys.stderr)
                bars.append(stack.enter_context(made))
            bars[0].length = max(total, 1)
            bars[0].update(done - bars[0].pos)

        yield tell


def read_input(words: Sequence[str], *, what: str) -> str:
    """The words as one text; a single `-` stands for standard input."""
    if list(words) != ["-"]:
        return " ".join(words)
    read: Callable[[], bytes] = sys.stdin.buffer.read
    try:
        return read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"The {what} on standard input is not UTF-8 text.") from None
