"""Parse patches in the `*** Begin Patch` format: files touched, text before and after.

An incomplete patch gives what can be read of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wellkept.core.records import field, record
from wellkept.core.session.events import Edit

_HEAD = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVE = re.compile(r"\*\*\* Move to: (.+)")


@record(frozen=False)
class _Hunk:
    """One hunk of one file."""

    path: str
    before: list[str] = field(default_factory=list[str])
    after: list[str] = field(default_factory=list[str])

    def add(self, line: str) -> None:
        if line[:1] != "+":
            self.before.append(line[1:])
        if line[:1] != "-":
            self.after.append(line[1:])

    def edit(self) -> Edit:
        return Edit(self.path, _text(self.before), _text(self.after))


def read_patch(body: str) -> tuple[tuple[str, ...], tuple[Edit, ...]]:
    """The files of a patch in order, once each, and its edits."""
    files: dict[str, None] = {}
    edits: list[Edit] = []
    for part in _parts(body):
        if isinstance(part, str):
            files[part] = None
        elif part.before or part.after:
            edits.append(part.edit())
    return tuple(files), tuple(edits)


def _parts(body: str) -> Iterator[str | _Hunk]:
    """Each file's path, then its hunks; a renamed file is named by both paths."""
    hunk: _Hunk | None = None
    for line in body.splitlines():
        if line.startswith("*** "):
            if (move := _MOVE.match(line)) and hunk is not None:
                hunk.path = move[1].strip()
                yield hunk.path
                continue
            if hunk is not None:
                yield hunk
            head = _HEAD.match(line)
            hunk = _Hunk(head[2].strip()) if head else None
            if head:
                yield head[2].strip()
        elif hunk is not None and line.startswith("@@"):
            yield hunk
            hunk = _Hunk(hunk.path)
        elif hunk is not None and line[:1] in ("+", "-", " ", ""):
            hunk.add(line)
    if hunk is not None:
        yield hunk


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
