"""Output: JSON, lines and tables, with or without a terminal; prompts and progress bars.

Memory text is untrusted: control and bidirectional characters are printed as visible marks. `rich`
is imported only to print a table to a terminal.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, TextIO

import click

from wellkept.api.verbs.as_json import plain
from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory
from wellkept.core.text import first_line, shorten
from wellkept.core.types import TYPE_RULES, MemoryType

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from wellkept.core.types import Progress

_CONTROL = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
_INVISIBLE_IN_JSON = "[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
_BADGE_COLOURS = {"PREF": "magenta", "CONV": "blue", "PATN": "cyan", "WARN": "yellow"}
_MIN_WIDTH, _DEFAULT_WIDTH = 30, 100
_FENCES = ("```", "~~~")
_PROSE = re.compile(r"[(\"'“«`*]{0,3}[^\W\d_]")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+")
_WHOLE_CELL = 16  # columns of cells up to this length are never wrapped
_WHOLE_WORD = 32  # words up to this length are split only if unavoidable


def safe(text: str) -> str:
    """Replace control characters, except line breaks and tabs."""
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
    """Print one JSON document to standard output."""
    # Escapes keep the document valid where the output is not UTF-8.
    ascii_only = sys.stdout.encoding.lower().replace("-", "") != "utf8"
    text = json.dumps(plain(value), ensure_ascii=ascii_only, indent=2, allow_nan=False)
    click.echo(re.sub(_INVISIBLE_IN_JSON, lambda m: f"\\u{ord(m.group()):04x}", text))


def exact_stdout() -> TextIO:
    """Standard output for file formats: UTF-8 and LF on every system."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", newline="\n")
    return sys.stdout


# -- Lines ----------------------------------------------------------------------------------------


def width() -> int:
    """Terminal width in columns, with a minimum."""
    configured = os.environ.get("COLUMNS", "")
    if configured.isdecimal():
        return max(_MIN_WIDTH, int(configured))
    try:
        columns = os.get_terminal_size().columns
    except OSError:
        columns = 0
    return max(_MIN_WIDTH, columns or _DEFAULT_WIDTH)


def badge(type: MemoryType) -> str:
    """The coloured badge of a type."""
    name = TYPE_RULES[type].badge
    return click.style(f"[{name}]", fg=_BADGE_COLOURS.get(name, "green"), bold=True)


def title(memory: Memory, *, limit: int) -> str:
    """The first line of a memory, safe to print."""
    return shorten(one_line(first_line(memory.content, limit=limit)), limit=limit)


def day(moment: datetime | None) -> str:
    """The date of a timestamp."""
    return moment.date().isoformat() if moment else ""


def note(text: str) -> None:
    """Print a dimmed remark to standard error, wrapped on a terminal."""
    shown = "\n".join(_wrapped(safe(text))) if sys.stderr.isatty() else safe(text)
    click.secho(shown, err=True, dim=True)


def indented(text: str, *, by: int = 4) -> str:
    """Safe text, wrapped to the terminal and indented."""
    import textwrap

    room = max(20, width() - by)
    lines: list[str] = []
    for line in _reflowed(safe(text).splitlines(), room):
        item = _ITEM.match(line)
        hang = " " * min(item.end() if item else 0, room // 2)
        lines += textwrap.wrap(line, room, subsequent_indent=hang, replace_whitespace=False) or [""]
    return "\n".join(" " * by + line for line in lines)


def _reflowed(lines: Sequence[str], room: int) -> Iterator[str]:
    """Join the lines of prose paragraphs before wrapping; keep list items, code and quotations."""
    part: list[str] = []
    fenced = False
    for line in lines:
        fenced ^= line.lstrip().startswith(_FENCES)
        if part and not fenced and _continues(part, line):
            part.append(line)
            continue
        yield from _joined(part, room)
        part = []
        if not fenced and (_PROSE.match(line) or _ITEM.match(line)):
            part = [line]
        else:
            yield line
    yield from _joined(part, room)


def _continues(part: Sequence[str], line: str) -> bool:
    """Whether a line continues the paragraph; in a list item, continuation lines are indented."""
    is_indented = line[:1].isspace()
    if is_indented is not bool(_ITEM.match(part[0])) or _ITEM.match(line):
        return False
    return _PROSE.match(line.lstrip()) is not None


def _joined(part: Sequence[str], room: int) -> Sequence[str]:
    if all(len(line) <= room for line in part):
        return part
    return [" ".join([part[0], *(line.strip() for line in part[1:])])]


_ID = re.compile(r"\bm:[0-9a-z]{4,12}\b")
_BADGE = re.compile(r"(?<= )\[([A-Z0-9]{2,6})\](?= )")


def styled(text: str) -> str:
    """The text of a result for a terminal: safe, wrapped there, with coloured ids and badges."""
    shown = safe(text)
    if sys.stdout.isatty():
        shown = "\n".join(_wrapped(shown))
    shown = _ID.sub(lambda m: click.style(m.group(), fg="cyan"), shown)
    return _BADGE.sub(
        lambda m: click.style(m.group(), fg=_BADGE_COLOURS.get(m[1], "green"), bold=True), shown
    )


def _wrapped(text: str) -> Iterator[str]:
    """Long lines, broken; lines of one indentation are a text that may be reflowed."""
    from itertools import groupby

    def indentation(line: str) -> int:
        return len(line) - len(line.lstrip()) if line.strip() else 0

    for by, lines in groupby(text.splitlines(), key=indentation):
        yield indented("\n".join(line[by:] for line in lines), by=by)


# -- Tables ---------------------------------------------------------------------------------------


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str = "") -> None:
    """Print a table; without a terminal, one tab-separated line per row.

    On a narrow terminal each row is printed as several lines. Without rows, `empty` is printed.
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
    if _min_table_width(headings, columns, whole) > width():
        for row in rows:
            _print_stacked(headings, row, whole)
    else:
        _print_rich(headings, rows, whole)


def _min_table_width(
    headings: Sequence[str], columns: Sequence[Sequence[str]], whole: Sequence[bool]
) -> int:
    """Minimum width: short columns in full, other columns at their shortest."""
    total = 0
    for name, cells, fits in zip(headings, columns, whole, strict=True):
        longest = max(len(name), *map(len, cells))
        word = max((len(word) for cell in cells for word in cell.split()), default=0)
        broken = max(_WHOLE_CELL, min(word, _WHOLE_WORD))
        total += 2 + (longest if fits else min(longest, broken))
    return total


def _print_stacked(headings: Sequence[str], row: Sequence[str], whole: Sequence[bool]) -> None:
    """Print a row as lines: its short cells first, then each long cell."""
    import textwrap

    cells = [cell for cell in zip(headings, row, whole, strict=True) if cell[1]]
    first = next((number for number, (_, cell, _) in enumerate(cells) if len(cell) > 1), 0)
    head: list[str] = []
    rest: list[str] = []
    named = ""
    for number, (name, cell, fits) in enumerate(cells):
        if fits or (number == first and len(cell) <= _WHOLE_WORD):
            head.append(one_line(cell))
            named = head[-1] if name == "id" else named
        else:
            rest.append(indented(cell, by=2))
    lines = textwrap.wrap("  ".join(head), width(), subsequent_indent="  ")
    if named:
        lines[0] = lines[0].replace(named, click.style(named, fg="cyan"), 1)
    click.echo("\n".join([*lines, *rest]))


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


# -- Prompts and progress --------------------------------------------------------------------------


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation; without a terminal, refuse."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            f"{question} Confirmation needs a terminal.",
            hint="Add --yes, or use --dry-run to preview.",
        )
    click.confirm(question, abort=True, err=True)


def is_interactive() -> bool:
    """Whether a person can be asked: questions go to standard error."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def require_editor(*, alternative: str) -> None:
    """Refuse to open an editor when none is configured and there is no terminal."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor and not sys.stdin.isatty():
        raise UsageError("No terminal to edit in.", hint=f"Pass {alternative}, or set EDITOR.")


@contextmanager
def progress_bar(label: str) -> Generator[Progress | None, None, None]:
    """A callback that draws a progress bar on standard error, from its first call on.

    None when standard error is not a terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    with ExitStack() as stack:
        bars: list[ProgressBar[int]] = []

        def report(done: int, total: int) -> None:
            if not bars:
                bar: ProgressBar[int] = click.progressbar(length=1, label=label, file=sys.stderr)
                bars.append(stack.enter_context(bar))
            bars[0].length = max(total, 1)
            bars[0].update(done - bars[0].pos)

        yield report


def read_input(words: Sequence[str], *, what: str) -> str:
    """Join the words; a single `-` reads standard input."""
    if list(words) != ["-"]:
        return " ".join(words)
    read: Callable[[], bytes] = sys.stdin.buffer.read
    try:
        return read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"The {what} on standard input is not UTF-8 text.") from None
