"""Tool calls as steps of a session's trail: what was edited and run, and whether it worked.

Takes cleaned calls only. Reads and searches are no steps; a command that only looks is one when it
takes back what was done before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import blake2b

from wellkept.core.events import Edit, ToolCalled, ToolKind
from wellkept.core.session_steps import MAX_WHAT_CHARS, SessionStep
from wellkept.core.text import shorten
from wellkept.observe.reading.shell import ShellCommand, main_command

_TAKES_BACK = re.compile(r"\bgit\s+(?:-\S+\s+)*(?:stash|checkout|restore|reset|revert|clean)\b")
_LEADING_CD = re.compile(r"\A\s*cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;)\s*")
_HASH_BYTES = 4


def edit_steps(
    edits: Sequence[Edit], *, relative: Callable[[str], str | None]
) -> tuple[SessionStep, ...]:
    """The edits of one call, as far as they lie in the project."""
    return tuple(
        SessionStep(
            "edit" if edit.before.strip() else "create",
            shorten(name, limit=MAX_WHAT_CHARS),
            mark=f"{_hash(edit.before)}>{_hash(edit.after)}",
        )
        for edit in edits
        if (name := relative(edit.path))
    )


def run_step(
    command: str, found: Sequence[ShellCommand], *, ok: bool, error: str | None = None
) -> SessionStep | None:
    """A command line that does more than look, in one line."""
    main = main_command(found)
    if main is None:
        return _taken_back(command, ok=ok)
    line = _one_line(command) or main.call
    what = shorten(line, limit=MAX_WHAT_CHARS)
    return SessionStep("run", what, ok, main.purpose.value, error)


def tool_step(call: ToolCalled) -> SessionStep | None:
    """A call of a server's tool, or of a skill by its name."""
    ok = call.error is None
    if call.kind is ToolKind.MCP:
        return SessionStep("tool", shorten(call.name, limit=MAX_WHAT_CHARS), ok)
    if call.name.casefold() == "skill" and call.query:
        return SessionStep("skill", shorten(call.query, limit=MAX_WHAT_CHARS), ok)
    return None


def _taken_back(command: str, *, ok: bool) -> SessionStep | None:
    if not ok or not _TAKES_BACK.search(command):
        return None
    return SessionStep("run", shorten(_one_line(command), limit=MAX_WHAT_CHARS), purpose="look")


def _one_line(command: str) -> str:
    """The line without the change of folder in front; of several lines nothing, for they are a
    script and not a command."""
    plain = _LEADING_CD.sub("", command.strip())
    return " ".join(plain.split()) if "\n" not in plain else ""


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", errors="replace"), digest_size=_HASH_BYTES).hexdigest()
