"""What noticing holds open between two events: the last touches and edits, and where a task stands.

Kept with the scratchpad as plain data, bounded, so that any process can go on where another
stopped. Of texts only marks and one line are held: enough to tell that the same lines were written
again or that a file is back to what it was, and what was tried.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import cast

from wellkept.core.codec import Json, payload_from_json, payload_to_json
from wellkept.core.errors import UsageError
from wellkept.core.events import Edit
from wellkept.core.records import field, record, replace
from wellkept.core.text import content_words, shorten
from wellkept.observe.signals.todo_plan import Plan

MOST_TOUCHES = 24
MOST_EDITS = 60
MOST_RUNS = 8
MOST_PAGES = 160
_MOST_LINES = 40
_SHORTEST_LINE = 4
_SAMPLE_CHARS = 100


@record
class FileTouch:
    """A file that was used at a step."""

    path: str
    step: int
    at_ms: int
    edited: bool
    agent: str | None = None


@record
class EditMark:
    """An edit: marks of the text before and after it and of the lines that it wrote, and the most
    telling of these lines. `void` when it was taken back, or takes another one back."""

    path: str
    step: int
    before: str
    after: str
    lines: tuple[str, ...] = ()
    sample: str = ""
    void: bool = False


@record
class CommandRun:
    """A command that worked."""

    command: str
    step: int


@record
class CollectorState:
    """Everything held open. `failed_at` is the step of the last failure, with its words when they
    tell something; `asked_at` that of what a person said last; `stashed_at` since when work is set
    aside; `pages` the parts of files that were read."""

    touches: tuple[FileTouch, ...] = ()
    edits: tuple[EditMark, ...] = ()
    task: str | None = None
    settled_step: int = 0
    failed_at: int = 0
    failed_with: str | None = None
    failed_check: bool = False
    next_note: int = 0
    ran: tuple[CommandRun, ...] = ()
    asked_at: int = 0
    asked: str | None = None
    stashed_at: int = 0
    pages: tuple[str, ...] = ()
    plan: Plan = field(default_factory=Plan)


def load_collector(work: Json) -> CollectorState:
    """The lookout as it was kept; an empty one when it is of another time and cannot be read."""
    try:
        return payload_from_json(CollectorState, cast("dict[str, Json]", work or {}))
    except UsageError:
        return CollectorState()


def dump_collector(lookout: CollectorState) -> Json:
    """The lookout as JSON."""
    return cast("Json", payload_to_json(lookout))


def edit_mark(edit: Edit, *, path: str, step: int) -> EditMark:
    """What is kept of an edit."""
    old = set(edit.before.splitlines())
    written = [line for line in edit.after.splitlines() if line not in old]
    telling = [line.strip() for line in written if len(line.strip()) >= _SHORTEST_LINE]
    lines = tuple(mark_of(line) for line in telling[:_MOST_LINES])
    sample = max(telling[:_MOST_LINES], key=lambda line: len(set(content_words(line))), default="")
    return EditMark(
        path,
        step,
        mark_of(edit.before),
        mark_of(edit.after),
        lines,
        shorten(sample, limit=_SAMPLE_CHARS),
    )


def with_edit(edits: tuple[EditMark, ...], mark: EditMark) -> tuple[EditMark, ...]:
    """The edits and one more; with the latest that it takes back, both are void."""
    for n in range(len(edits) - 1, -1, -1):
        old = edits[n]
        is_same = old.path == mark.path and not old.void
        if is_same and mark.after and (old.before, old.after) == (mark.after, mark.before):
            voided = (*edits[:n], replace(old, void=True), *edits[n + 1 :])
            return (*voided, replace(mark, void=True))[-MOST_EDITS:]
    return (*edits, mark)[-MOST_EDITS:]


def lines_before(edit: Edit) -> frozenset[str]:
    """Marks of the lines that an edit takes away or writes anew."""
    new = set(edit.after.splitlines())
    return frozenset(mark_of(line.strip()) for line in edit.before.splitlines() if line not in new)


def mark_of(text: str) -> str:
    """A short mark of a text; "" of none."""
    if not text:
        return ""
    return blake2b(text.encode("utf-8", errors="replace"), digest_size=5).hexdigest()
