"""Whether an injected line was used in the rest of its session, decided by plain rules.

Written apart from the product's own counting, so that one can check the other. A line counts as
used when a command in it is run, a file in it is touched for the first time, or a name in it that
the session had not mentioned before turns up in what the agent does. Agreement is no proof that the
line caused it: the baselines in the same run show what chance gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bench.session_replay import Asked, Line
from wellkept.core.session.events import Event, PromptSubmitted, ToolCalled, ToolKind
from wellkept.text.shell.reader import ShellCommand, parse_command

_QUOTED = re.compile(r"`([^`\n]+)`")
_FILE = re.compile(r"(?:[\w.@-]+/)+[\w.@-]+|\b[\w-]+\.(?:[a-z]{1,4}|[jt]sx)\b")
_NAME = re.compile(r"\b(?=\w*[\d_]|\w*[a-z][A-Z])\w{5,}\b")
_PLACEHOLDER = frozenset({"X", "…", "...", "ID", "N"})


def is_used(line: Line, asked: Asked) -> bool:
    """Whether the rest of the session took a line up."""
    before = " ".join(_texts(asked.session.events[: asked.position]))
    later = asked.later
    return (
        _ran(line.text, later)
        or _touched(line.text, before, later)
        or _named(line.text, before, later)
    )


def is_run(command: str, later: Sequence[ShellCommand]) -> bool:
    """Whether a command was run, with any value in the place of a placeholder."""
    wanted = [one for one in parse_command(command) if one.words[0] not in ("cd", "echo")]
    return bool(wanted) and any(_same(one, wanted[-1]) for one in later)


def commands_of(events: Sequence[Event], limit: int | None = None) -> list[ShellCommand]:
    """The commands that some events ran, of the first `limit` calls."""
    calls = [e for e in events if isinstance(e, ToolCalled) and e.kind is ToolKind.SHELL]
    return [one for call in calls[:limit] for one in parse_command(call.command or "")]


def _same(run: ShellCommand, wanted: ShellCommand) -> bool:
    if not set(wanted.environment) <= set(run.environment):
        return False
    if len(run.words) < len(wanted.words):
        return False
    return all(
        need == has or any(mark in need for mark in _PLACEHOLDER)
        for need, has in zip(wanted.words, run.words, strict=False)
    )


def _ran(text: str, later: Sequence[Event]) -> bool:
    quoted = [one for one in _QUOTED.findall(text) if " " in one]
    runs = commands_of(later) if quoted else []
    return any(is_run(one, runs) for one in quoted)


def _touched(text: str, before: str, later: Sequence[Event]) -> bool:
    files = {name for name in _FILE.findall(text) if name not in before}
    return any(
        path.endswith(name)
        for name in files
        for event in later
        if isinstance(event, ToolCalled)
        for path in event.files
    )


def _named(text: str, before: str, later: Sequence[Event]) -> bool:
    names = {name for name in _NAME.findall(text) if name not in before}
    acts = " ".join(_texts([one for one in later if not isinstance(one, PromptSubmitted)]))
    return any(name in acts for name in names)


def _texts(events: Sequence[Event]) -> Iterator[str]:
    for event in events:
        match event:
            case PromptSubmitted():
                yield event.text
            case ToolCalled():
                yield f"{event.command or ''} {event.query or ''} {' '.join(event.files)}"
                yield from (f"{edit.before} {edit.after}" for edit in event.edits)
            case _:
                pass
