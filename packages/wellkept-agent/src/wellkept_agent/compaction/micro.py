"""Micro-compaction: old tool results are cleared before a model call, without asking a model.

`plan` only looks: it says what would be cleared, or nothing when that saves too little. `apply`
writes results to files first and clears only what was written, so that a full disk loses nothing;
when too little is saved then, the files are removed and nothing changes. The file of a large result
is named in its place; small ones share a file that can be searched. A result that the model has not
seen yet is never cleared.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from html import escape
from pathlib import Path

from wellkept.core.chat.messages import Message, Part, Role, TextPart, ToolResultPart, part_tokens
from wellkept.core.errors import ConflictError, WellkeptError
from wellkept.core.records import record, replace
from wellkept.core.text import estimate_tokens
from wellkept.text.secrets.redaction import redact
from wellkept_agent.budgets import TokenMeter
from wellkept_agent.conversation import middle_cut
from wellkept_agent.settings import CompactionSettings

# -- Files that compaction writes into a session's folder, so that nothing is lost ----------------


CLEARED = "[Old tool result content cleared]"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
_RESERVED = re.compile(r"(?i)con|prn|aux|nul|com[0-9]|lpt[0-9]")
_MARK = re.compile(
    r'(?:<persisted-output path="[^"]*" original_size="\d+" />\n)?' + re.escape(CLEARED)
)
_MAX_MARK_CHARS = 5_000
_MAX_NAMESAKES = 10_000
_NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)


def safe_name(given: str) -> str:
    """A file name for an id; an id that is no plain name gets a digest, so that two stay two."""
    if _PLAIN_NAME.fullmatch(given) and not _RESERVED.fullmatch(given):
        return given
    digest = hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:12]
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", given[:40]).strip("_-")
    return f"{plain or 'id'}-{digest}"


def persisted_mark(path: Path, original_size: int) -> str:
    """What stands in the place of a result that was written to a file."""
    shown = escape(str(path), quote=True)
    return f'<persisted-output path="{shown}" original_size="{original_size}" />\n{CLEARED}'


def is_cleared(content: str) -> bool:
    """Whether a result's content is only the mark of a cleared one."""
    return len(content) <= _MAX_MARK_CHARS and _MARK.fullmatch(content) is not None


@record
class Written:
    """A file that holds a text; `is_new` when it was not there before."""

    path: Path
    is_new: bool


class SessionFiles:
    """The two folders of one session."""

    def __init__(self, folder: Path) -> None:
        self.results = folder / "tool-results"
        self.compacted = folder / "compacted"

    def write_result(self, call_id: str, content: str) -> Written:
        """Keep a tool result. A call id that was used before gets another file, unless it holds
        the same."""
        return _write(self.results, safe_name(call_id), ".txt", content)

    def write_small_results(self, results: Sequence[ToolResultPart]) -> Written:
        """Keep results that are not worth a file each: one file for all of them."""
        texts = (f"[{one.call_id} {one.name}]\n{one.content}" for one in results)
        name = safe_name(f"cleared-{results[0].call_id}")
        return _write(self.results, name, ".txt", "\n\n".join(texts))

    def write_compacted(self, name: str, text: str) -> Path:
        """Keep messages that are about to be replaced."""
        return _write(self.compacted, safe_name(name), ".md", text).path


def remove(paths: list[Path]) -> None:
    """Delete files that nothing refers to after all."""
    for path in paths:
        with suppress(OSError):
            path.unlink()


def _write(folder: Path, name: str, suffix: str, content: str) -> Written:
    data = redact(content).text.encode("utf-8", "replace")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for number in range(1, _MAX_NAMESAKES):
        path = folder / f"{name}{'' if number == 1 else f'-{number}'}{suffix}"
        try:
            file = os.fdopen(os.open(path, _NEW_FILE, 0o600), "wb")
        except FileExistsError:
            if path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data:
                return Written(path, is_new=False)
            continue
        try:
            with file:
                file.write(data)
        except BaseException:
            remove([path])
            raise
        return Written(path, is_new=True)
    raise ConflictError(f"{folder} holds too many files named {name}.")


_CLEARED_TOKENS = estimate_tokens(CLEARED)
_MARK_TOKENS = 60
"""About what a mark with its path takes; the real one is counted when it is written."""


@record
class _Clearing:
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
) -> list[_Clearing]:
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
    found: list[_Clearing] = []
    for order, (index, number, part) in enumerate(places):
        if part.name not in names or (turns[index].id, part.call_id) in compacted:
            continue
        tokens = meter.result(turns[index], part)
        total += tokens
        worth = tokens - (_MARK_TOKENS if _is_named(tokens, settings) else _CLEARED_TOKENS)
        if order < kept and index < last_answer and worth > 0 and not is_cleared(part.content):
            found.append(_Clearing(index, number, part, tokens))
            savings += worth
    if total <= settings.micro_threshold or savings < settings.micro_min_savings:
        return []
    return found


def apply(
    turns: Sequence[Message],
    planned: Sequence[_Clearing],
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


# -- Makes messages fit that must stay: their largest texts go to files, an excerpt stays ---------


_SMALLEST_EXCERPT = 200
_NOTE_TOKENS = 80


def shrunk(
    messages: Sequence[Message], *, max_tokens: int, files: SessionFiles
) -> tuple[Message, ...]:
    """The messages cut to about `max_tokens`, the largest parts first. Writes files: call it in a
    thread."""
    over = sum(message.tokens for message in messages) - max_tokens
    if over <= 0:
        return tuple(messages)
    places = [
        (part_tokens(part), index, number)
        for index, message in enumerate(messages)
        for number, part in enumerate(message.parts)
        if _may_be_cut(message, part)
    ]
    changed = [list(message.parts) for message in messages]
    for tokens, index, number in sorted(places, reverse=True):
        if over <= 0 or tokens <= _SMALLEST_EXCERPT + _NOTE_TOKENS:
            break
        room = max(_SMALLEST_EXCERPT, tokens - over - _NOTE_TOKENS)
        part = _excerpt(messages[index], changed[index][number], room, files)
        over -= tokens - part_tokens(part)
        changed[index][number] = part
    return tuple(
        message if list(message.parts) == parts else replace(message, parts=tuple(parts))
        for message, parts in zip(messages, changed, strict=True)
    )


def _may_be_cut(message: Message, part: Part) -> bool:
    return isinstance(part, ToolResultPart) or (
        message.role is Role.USER and isinstance(part, TextPart)
    )


def _excerpt(message: Message, part: Part, max_tokens: int, files: SessionFiles) -> Part:
    if isinstance(part, ToolResultPart):
        text = _noted(part.call_id, part.content, max_tokens, files)
        return replace(part, content=text, images=())
    assert isinstance(part, TextPart)
    return TextPart(_noted(f"prompt-{message.id}", part.text, max_tokens, files))


def _noted(name: str, text: str, max_tokens: int, files: SessionFiles) -> str:
    note = "[Too long for the model's window; an excerpt."
    if estimate_tokens(text) > max_tokens:
        try:
            path = files.write_result(name, text).path
            note += f" In full: {path}. Read it in parts.]"
        except (OSError, WellkeptError) as error:
            note += f" The rest could not be kept: {error}.]"
    return f"{note}\n{middle_cut(text, max_tokens=max_tokens)}"
