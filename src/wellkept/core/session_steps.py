"""What an agent did in a session, step by step: the edits, commands and tools that can be repeated.

A trail is short and plain data: no contents of files, no output of commands beyond the one line
that names an error. Looking around is not in it. Everything in it was cleaned before.
Knows nothing of clients, of sessions' other records, or of what a trail is read for.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from wellkept.core.records import record

MAX_STEPS = 80
MAX_WHAT_CHARS = 300

StepKind: TypeAlias = Literal["edit", "create", "run", "tool", "skill"]
StepPurpose: TypeAlias = Literal["test", "check", "install", "migrate", "commit", "look", "other"]


@record
class SessionStep:
    """One step. `what` is a file from the project's root, a command line, or a tool's or skill's
    name; `prompt` is the number of the prompt that it followed.

    `mark` tells an edit apart without its text: short hashes of the text before and after it.
    """

    kind: StepKind
    what: str
    ok: bool = True
    purpose: StepPurpose = "other"
    error: str | None = None
    mark: str = ""
    prompt: int = 0

    @property
    def is_edit(self) -> bool:
        """Whether a file was written."""
        return self.kind in ("edit", "create")


def with_step(trail: tuple[SessionStep, ...], step: SessionStep) -> tuple[SessionStep, ...]:
    """The trail with one more step; edits of one file in a row are one, and the latest are kept."""
    last = trail[-1] if trail else None
    if last is not None and (last.kind, last.what, last.ok) == (step.kind, step.what, step.ok):
        mark = _joined_mark(last.mark, step.mark)
        again = SessionStep(
            step.kind, step.what, step.ok, step.purpose, step.error, mark, step.prompt
        )
        return (*trail[:-1], again)
    return (*trail, step)[-MAX_STEPS:]


def _joined_mark(first: str, then: str) -> str:
    """From before the first of two edits to after the second; of other parts of the file nothing
    can be said."""
    before, _, between = first.partition(">")
    again, _, after = then.partition(">")
    return f"{before}>{after}" if after and between == again else ""
