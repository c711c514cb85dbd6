"""Micro-compaction: old tool results are cleared before a model call, without asking a model.

`plan` only looks: it says what would be cleared, or nothing when that saves too little. `apply`
writes results to files first and clears only what was written, so that a full disk loses nothing;
when too little is saved then, the files are removed and nothing changes. The file of a large result
is named in its place; small ones share a file that can be searched. A result that the model has not
seen yet is never cleared.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wellkept.core.chat.messages import Message, Part, Role, ToolResultPart
from wellkept.core.errors import WellkeptError
from wellkept.core.records import record, replace
from wellkept.core.text import estimate_tokens
from wellkept_agent.compaction.session_files import (
    CLEARED,
    SessionFiles,
    is_cleared,
    persisted_mark,
    remove,
)
from wellkept_agent.compaction.settings import CompactionSettings
from wellkept_agent.token_meter import TokenMeter

_CLEARED_TOKENS = estimate_tokens(CLEARED)
_MARK_TOKENS = 60
"""About what a mark with its path takes; the real one is counted when it is written."""


@record
class Clearing:
    """A result that can be cleared, and its tokens. `turn` and `part` say where it is."""

    turn: int
    part: int
    result: ToolResultPart
    tokens: int


@record(kw_only=True)
class Cleared:
    """What micro-compaction did. `problem` is set when a result could not be written."""

    turns: tuple[Message, ...]
    ids: frozenset[tuple[str, str]]
    saved_tokens: int
    problem: str = ""


def plan(
    turns: Sequence[Message],
    settings: CompactionSettings,
    meter: TokenMeter,
    *,
    compacted: frozenset[tuple[str, str]] | set[tuple[str, str]] = frozenset(),
    tools: frozenset[str] | None = None,
) -> list[Clearing]:
    """What to clear; empty when it is not worth it. `tools` defaults to those of the settings."""
    names = frozenset(settings.micro_tools) if tools is None else tools
    last_answer = _last_answer(turns)
    places = [
        (index, number, part)
        for index, message in enumerate(turns)
        if message.role is Role.TOOL
        for number, part in enumerate(message.parts)
        if isinstance(part, ToolResultPart)
    ]
    kept = len(places) - settings.micro_keep_results
    total = savings = 0
    found: list[Clearing] = []
    for order, (index, number, part) in enumerate(places):
        if part.name not in names or (turns[index].id, part.call_id) in compacted:
            continue
        tokens = meter.result(turns[index], part)
        total += tokens
        worth = tokens - (_MARK_TOKENS if _is_named(tokens, settings) else _CLEARED_TOKENS)
        if order < kept and index < last_answer and worth > 0 and not is_cleared(part.content):
            found.append(Clearing(index, number, part, tokens))
            savings += worth
    if total <= settings.micro_threshold or savings < settings.micro_min_savings:
        return []
    return found


def apply(
    turns: Sequence[Message],
    planned: Sequence[Clearing],
    settings: CompactionSettings,
    files: SessionFiles,
) -> Cleared | None:
    """Clear what was planned; None when nothing changes. Writes files: call it in a thread."""
    written: list[Path] = []
    marks: dict[tuple[int, int], str] = {}
    problem = ""
    small = [one for one in planned if not _is_named(one.tokens, settings)]
    for one in planned:
        if not _is_named(one.tokens, settings):
            continue
        try:
            file = files.write_result(one.result.call_id, one.result.content)
        except (OSError, WellkeptError) as error:
            problem = problem or f"A tool result could not be written: {error}"
            continue
        if file.is_new:
            written.append(file.path)
        marks[one.turn, one.part] = persisted_mark(file.path, len(one.result.content))
    if small:
        try:
            file = files.write_small_results([one.result for one in small])
            written += [file.path] if file.is_new else []
            marks |= {(one.turn, one.part): CLEARED for one in small}
        except (OSError, WellkeptError) as error:
            problem = problem or f"Tool results could not be written: {error}"
    saved = sum(
        one.tokens - estimate_tokens(marks[place])
        for one in planned
        if (place := (one.turn, one.part)) in marks
    )
    if not marks or saved < settings.micro_min_savings:
        remove(written)
        return None
    return Cleared(
        turns=tuple(_cleared(message, index, marks) for index, message in enumerate(turns)),
        ids=frozenset(
            (turns[one.turn].id, one.result.call_id)
            for one in planned
            if (one.turn, one.part) in marks
        ),
        saved_tokens=saved,
        problem=problem,
    )


def reminder(count: int) -> str:
    """What the model is told when results were cleared."""
    return (
        "<system-reminder>\n"
        f"Micro-compact cleared {count} tool result(s) to reduce context size.\n"
        "</system-reminder>"
    )


def _last_answer(turns: Sequence[Message]) -> int:
    """Where the model's last message is: results after it have not been seen yet."""
    return next((i for i in range(len(turns) - 1, -1, -1) if turns[i].role is Role.ASSISTANT), -1)


def _is_named(tokens: int, settings: CompactionSettings) -> bool:
    return tokens > settings.micro_persist_tokens


def _cleared(message: Message, turn: int, marks: dict[tuple[int, int], str]) -> Message:
    if message.role is not Role.TOOL or not any(
        (turn, n) in marks for n in range(len(message.parts))
    ):
        return message
    return replace(
        message,
        parts=tuple(_part(part, marks.get((turn, n))) for n, part in enumerate(message.parts)),
    )


def _part(part: Part, mark: str | None) -> Part:
    if mark is None or not isinstance(part, ToolResultPart):
        return part
    return replace(part, content=mark, images=())
