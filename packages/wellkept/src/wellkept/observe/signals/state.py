"""State of signal detection between events: recent file uses and edits, and the current sub-task.

Part of the session state; bounded. Of file contents only hashes and one sample line are kept:
enough to recognise that the same lines were rewritten or that a file is back to what it was.
"""

from __future__ import annotations

from hashlib import blake2b

from wellkept.core.records import record, replace
from wellkept.core.session.events import Edit
from wellkept.core.text import content_words, shorten
from wellkept.observe.signals.todo_plan import Plan

MAX_TOUCHES = 24
MAX_EDITS = 60
MAX_PAGES = 160
_MAX_LINES = 40
_MIN_LINE_CHARS = 4
_SAMPLE_CHARS = 100


@record
class FileTouch:
    """A file that was read or edited at a step."""

    path: str
    step: int
    at_ms: int
    edited: bool
    agent: str | None = None


@record
class EditMark:
    """Hashes of an edit: the text before and after it, and the lines it wrote.

    `sample` is the line with most words. `void` when the edit was reverted or reverts another.
    """

    path: str
    step: int
    before: str
    after: str
    lines: tuple[str, ...] = ()
    sample: str = ""
    void: bool = False


@record
class SignalState:
    """What signal detection remembers between events.

    `settled_step` is the step of the last commit: earlier edits can no longer be given up.
    `failed_step`, `failure_message` and `failed_check` describe the last failure; the message is
    None when it names no cause. `prompt_step` is the step of the last prompt, `stashed_step` of an
    open `git stash`. `pages` are hashes of the parts of files that were read.
    """

    touches: tuple[FileTouch, ...] = ()
    edits: tuple[EditMark, ...] = ()
    task: str | None = None
    settled_step: int = 0
    failed_step: int = 0
    failure_message: str | None = None
    failed_check: bool = False
    next_note: int = 0
    prompt_step: int = 0
    prompt: str | None = None
    stashed_step: int = 0
    pages: tuple[str, ...] = ()
    plan: Plan = Plan()


def edit_mark(edit: Edit, *, path: str, step: int) -> EditMark:
    """The hashes of an edit."""
    old = set(edit.before.splitlines())
    written = [line for line in edit.after.splitlines() if line not in old]
    candidates = [line.strip() for line in written if len(line.strip()) >= _MIN_LINE_CHARS]
    lines = tuple(text_hash(line) for line in candidates[:_MAX_LINES])
    sample = max(
        candidates[:_MAX_LINES], key=lambda line: len(set(content_words(line))), default=""
    )
    return EditMark(
        path,
        step,
        text_hash(edit.before),
        text_hash(edit.after),
        lines,
        shorten(sample, limit=_SAMPLE_CHARS),
    )


def with_edit(edits: tuple[EditMark, ...], mark: EditMark) -> tuple[EditMark, ...]:
    """The edits and one more; it and the latest edit that it reverts are void."""
    for n in range(len(edits) - 1, -1, -1):
        old = edits[n]
        is_same = old.path == mark.path and not old.void
        if is_same and mark.after and (old.before, old.after) == (mark.after, mark.before):
            voided = (*edits[:n], replace(old, void=True), *edits[n + 1 :])
            return (*voided, replace(mark, void=True))[-MAX_EDITS:]
    return (*edits, mark)[-MAX_EDITS:]


def removed_lines(edit: Edit) -> frozenset[str]:
    """Hashes of the lines that an edit removes or rewrites."""
    new = set(edit.after.splitlines())
    return frozenset(
        text_hash(line.strip()) for line in edit.before.splitlines() if line not in new
    )


def text_hash(text: str) -> str:
    """A short hash of a text; "" for no text."""
    if not text:
        return ""
    return blake2b(text.encode("utf-8", errors="replace"), digest_size=5).hexdigest()
