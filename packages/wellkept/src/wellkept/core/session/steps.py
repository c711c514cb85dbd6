"""The step log of a session: what was asked, read, edited, run and said, in order.

The one state of a session. Observations, digests, signals, ways out and generated skills are pure
functions over it. Holds no file contents and of a command's output only the line that names an
error. Everything in it was redacted before. Bounded to the first prompt and the latest steps.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from wellkept.core.records import record, replace

MAX_STEPS = 500
MAX_NAME_CHARS = 300
MAX_COMMAND_CHARS = 2_000
MAX_TOLD_CHARS = 300
_SPOKEN = ("prompt", "plan", "decision", "dead_end", "report", "compaction", "agent")
_REDACTED = re.compile(r"\[?redacted", re.IGNORECASE)
_LEADING_CD = re.compile(r"\A\s*cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;)\s*")

StepKind: TypeAlias = Literal[
    "prompt", "plan", "read", "look", "edit", "create", "run", "tool", "skill",
    "decision", "dead_end", "report", "compaction", "agent",
]  # fmt: skip
StepPurpose: TypeAlias = Literal["test", "check", "install", "migrate", "commit", "look", "other"]


@record
class SessionStep:
    """One step of a session.

    `what` is a file from the project's root, the main command of a line, or the name of a tool or
    skill. `command` is the line as typed, `began` the folder in which it was typed and `folder` the
    one in which its main command ran, from the project's root ("" is the root itself; None when it
    is outside or unknown). `mark` identifies an edit without its text (short hashes of the text
    before and after it), the part of a file that was read, the intent of a prompt, or the branch of
    a commit. `number` counts the tool calls of the session, `prompt` the prompts before the step.
    `count` is above 1 when the same step was repeated. `names` are the definitions that an edit
    added (+), changed (~) or removed (-), or the tests that failed. `said` is what an agent
    reported, the message of a commit, the items of a plan, or why something was given up; `files`
    are those of a commit.
    """

    kind: StepKind
    what: str
    ok: bool = True
    purpose: StepPurpose = "other"
    error: str | None = None
    mark: str = ""
    prompt: int = 0
    number: int = 0
    command: str = ""
    folder: str | None = None
    began: str | None = None
    agent: str | None = None
    at_ms: int = 0
    count: int = 1
    tokens: int = 0
    names: tuple[str, ...] = ()
    said: str = ""
    sha: str | None = None
    files: tuple[str, ...] = ()

    @property
    def is_edit(self) -> bool:
        """Whether a file was written."""
        return self.ok and self.kind in ("edit", "create")

    @property
    def is_commit(self) -> bool:
        """Whether a commit was made."""
        return self.kind == "run" and self.ok and bool(self.said)

    @property
    def is_act(self) -> bool:
        """Whether it did something, or failed to: not spoken, and no look that went well."""
        return self.kind not in (*_SPOKEN, "look") and not (self.kind == "read" and self.ok)

    @property
    def from_root(self) -> str | None:
        """The command as it was typed, to be run from the project's root. None when that cannot be
        said on one line: a script, a long line, a secret in it, or a folder that is not known."""
        line = self.command.strip()
        if not line or self.began is None or len(line) > MAX_TOLD_CHARS or "\n" in line:
            return None
        if _REDACTED.search(line):
            return None
        return f"cd {self.began} && {line}" if self.began else line

    @property
    def typed(self) -> str:
        """A command as it was typed, on one line."""
        return " ".join(self.command.split()) or self.what

    @property
    def line(self) -> str:
        """The step on one line: the command without a leading `cd`; `what` for everything else.

        Several lines are a script; its main command stands for it.
        """
        plain = _LEADING_CD.sub("", self.command.strip())
        return (
            " ".join(plain.split())[:MAX_NAME_CHARS] if plain and "\n" not in plain else self.what
        )


def with_step(steps: tuple[SessionStep, ...], step: SessionStep) -> tuple[SessionStep, ...]:
    """The log with one more step; a step repeated in a row is one. The first prompt and the latest
    steps are kept."""
    last = steps[-1] if steps else None
    if last is not None and step.kind not in _SPOKEN and _same(last) == _same(step):
        merged = replace(
            step,
            mark=_joined_mark(last.mark, step.mark)
            if step.kind in ("edit", "create")
            else step.mark,
            count=last.count + 1,
            tokens=last.tokens + step.tokens,
            names=tuple(dict.fromkeys((*last.names, *step.names))),
        )
        return (*steps[:-1], merged)
    kept = (*steps, step)[-MAX_STEPS:]
    lost = steps[: len(steps) + 1 - len(kept)]
    first = next((one for one in lost if one.kind == "prompt"), None)
    return kept if first is None else (first, *kept[1:])


def _same(step: SessionStep) -> tuple[object, ...]:
    if step.kind == "look":
        return step.kind, step.agent
    page = step.mark if step.kind == "read" else ""
    return step.kind, step.what, step.ok, step.command, step.folder, step.agent, page


def _joined_mark(first: str, then: str) -> str:
    """From before the first edit to after the second; "" when they touch different text."""
    if ">" not in then:
        return then  # a refused edit changed nothing
    before, _, between = first.partition(">")
    again, _, after = then.partition(">")
    return f"{before}>{after}" if after and between == again else ""
