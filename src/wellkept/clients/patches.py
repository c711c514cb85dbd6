"""Patches in the `*** Begin Patch` form: which files they touch, and the text before and after.

Knows the form and nothing else; a patch that is broken off gives what can be read of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wellkept.core.events import Edit
from wellkept.core.records import field, record

_HEAD = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVE = re.compile(r"\*\*\* Move to: (.+)")


@record(frozen=False)
class _Hunk:
    """Lines of one place in one file."""

    path: str
    before: list[str] = field(default_factory=list[str])
    after: list[str] = field(default_factory=list[str])

    def take(self, line: str) -> None:
        if line[:1] != "+":
            self.before.append(line[1:])
        if line[:1] != "-":
            self.after.append(line[1:])

    def edit(self) -> Edit:
        return Edit(self.path, _joined(self.before), _joined(self.after))


def read_patch(body: str) -> tuple[tuple[str, ...], tuple[Edit, ...]]:
    """The files of a patch in order, once each, and its edits."""
    files: dict[str, None] = {}
    edits: list[Edit] = []
    for step in _steps(body):
        if isinstance(step, str):
            files[step] = None
        elif step.before or step.after:
            edits.append(step.edit())
    return tuple(files), tuple(edits)


def _steps(body: str) -> Iterator[str | _Hunk]:
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
            hunk.take(line)
    if hunk is not None:
        yield hunk


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
