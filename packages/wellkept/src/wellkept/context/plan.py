"""What a plan needs to know of the code that a prompt names: who uses it, and which tests.

Exact records of the code graph; a file that changed since the graph saw it is not named. Told once
in a session, at the first prompt that names files or symbols that exist, and while a plan is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.context.sections import Section, SectionLine, SectionLines
from wellkept.core.text import identifiers

if TYPE_CHECKING:
    from wellkept.core.graph import CodeUsers

PLAN_LINE = "plan:"
"""How the ids of such lines begin."""
_MAX_NAMES, _MAX_LINES, _MAX_FILES = 8, 2, 4
_MARKED = re.compile(r"`([\w./:-]{2,80})(?:\(\))?`")


def named_code(
    text: str, *, root: Path, users: Callable[[str], CodeUsers | None]
) -> tuple[tuple[str, ...], tuple[CodeUsers, ...]]:
    """The files that a text names, also by a symbol, and the users of each name. Only what exists:
    a file below the root, or a name that the code graph has once."""
    names = (*_MARKED.findall(text), *identifiers(text))
    inside = f"{root}/"
    paths = [one.removeprefix(inside).removeprefix("./").rstrip(".:") for one in names]
    files: dict[str, None] = {}
    found: dict[str, CodeUsers] = {}
    for name in dict.fromkeys(paths[:_MAX_NAMES]):
        is_inside = not name.startswith("/") and ".." not in name.split("/")
        is_file = is_inside and (root / name).is_file()
        known = users(name) if is_inside else None
        if known is not None:
            found.setdefault(known.name, known)
        if is_file or known is not None:
            files[name if known is None else known.path] = None
    return tuple(files), tuple(found.values())


def plan_lines(known: Sequence[CodeUsers]) -> Iterator[SectionLines]:
    """Users and tests of what is named, one line each."""
    lines = tuple(_line(one) for one in known if one.files or one.tests)[:_MAX_LINES]
    if lines:
        yield SectionLines(Section.PLAN, lines)


def _line(one: CodeUsers) -> SectionLine:
    parts = (
        f"used by {_listed(one.files)}" if one.files else "",
        f"tests: {_listed(one.tests)}" if one.tests else "",
    )
    text = f"`{one.name}`: {'; '.join(filter(None, parts))}"
    line = SectionLine.of(Section.PLAN, text, reason="code graph", name=one.name)
    return SectionLine(
        id=line.id.replace("line:", PLAN_LINE),
        section=line.section,
        text=line.text,
        reason=line.reason,
    )


def _listed(files: Sequence[str]) -> str:
    more = f" and {len(files) - _MAX_FILES} more" if len(files) > _MAX_FILES else ""
    return ", ".join(files[:_MAX_FILES]) + more
