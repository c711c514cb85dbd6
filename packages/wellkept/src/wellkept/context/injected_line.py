"""Find a line that agents were given by what somebody pasted: its id, its text, or part of it.

The newest injections are looked through, since a person asks about what they just saw. Case,
spacing, list marks and citations do not matter. Knows nothing of where the text was copied from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.core.ports.injections import (
    InjectedLine,
    Injection,
    InjectionFilter,
    LineUse,
    SilentLine,
)
from wellkept.core.records import record
from wellkept.core.text import fold, shorten

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store

MAX_INJECTIONS: Final = 2_000
MAX_LATEST: Final = 5
_PAGE: Final = 200
_MAX_NAMED: Final = 5
_CITED: Final = re.compile(r"\bm:([0-9A-Za-z]{4,40})\b")
_MARK: Final = re.compile(r"\A\s*(?:[-*•>]\s+)?(?:\[[A-Z0-9]{2,6}\]\s+)?")


@record(kw_only=True)
class LineReason:
    """An injected line: its newest text and reason, the latest times it was given, how it fared."""

    line: InjectedLine
    latest: tuple[Injection, ...]
    use: LineUse | None = None
    silent: SilentLine | None = None


def cited_memory(text: str) -> str | None:
    """The id of the first memory that a text cites; None without one."""
    found = _CITED.search(text)
    return found[1] if found else None


def find_line(store: Store, project: str, text: str) -> LineReason:
    """The line with this id, or the one line that says this.

    NotFoundError when there is none, ConflictError when several lines say it.
    """
    wanted = _plain(text)
    part: dict[str, InjectedLine] = {}
    whole: dict[str, InjectedLine] = {}
    for line in _lines(store, project):
        said = _plain(line.text)
        if line.line_id == text.strip():
            return _reason(store, project, line)
        if wanted and wanted in said:
            part.setdefault(line.line_id, line)
        if wanted and wanted == said:
            whole.setdefault(line.line_id, line)
    found = list((whole or part).values())
    if not found:
        raise NotFoundError(
            f"No memory has the id {shorten(text, limit=80)!r}, and no agent was told that lately.",
            hint="`wellkept why` lists what was said; paste a line of it, or part of one.",
        )
    if len(found) > 1:
        named = "\n".join(f"  {one.line_id}  {_short(one)}" for one in found[:_MAX_NAMED])
        raise ConflictError(
            f"{len(found)} lines say {shorten(text, limit=80)!r}.",
            hint=f"Paste more of it, or give one of these ids:\n{named}",
        )
    return _reason(store, project, found[0])


def _lines(store: Store, project: str) -> Iterator[InjectedLine]:
    """Lines of the newest injections, newest first."""
    where, cursor = InjectionFilter(project=project), None
    for _ in range(MAX_INJECTIONS // _PAGE):
        page = store.injections(where, limit=_PAGE, cursor=cursor)
        for one in page.items:
            yield from one.lines
        cursor = page.next_cursor
        if cursor is None:
            return


def _reason(store: Store, project: str, line: InjectedLine) -> LineReason:
    where = InjectionFilter(project=project, line_id=line.line_id)
    uses = store.line_uses(project=project, line_ids=[line.line_id])
    silent = [one for one in store.silent_lines(project=project) if one.line_id == line.line_id]
    return LineReason(
        line=line,
        latest=store.injections(where, limit=MAX_LATEST).items,
        use=uses[0] if uses else None,
        silent=silent[0] if silent else None,
    )


def _plain(text: str) -> str:
    """A line as people compare it: without marks, citations and case."""
    said = _MARK.sub("", re.sub(r"\[m:[^\]]*\]", " ", text))
    return " ".join(fold(said).split()).strip(" .…")


def _short(line: InjectedLine) -> str:
    return shorten(" ".join(line.text.split()), limit=70)
