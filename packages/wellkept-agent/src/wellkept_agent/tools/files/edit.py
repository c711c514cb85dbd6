"""Edit: replace exact text in a file that was read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.session.events import Edit as EditRecord
from wellkept.core.session.events import ToolKind
from wellkept.core.text import counted
from wellkept_agent.permissions import PermissionRequest
from wellkept_agent.tools.base import Arguments, ToolContext, ToolOutput, TypedTool, checked
from wellkept_agent.tools.files.file_text import (
    FileText,
    diff,
    existing_file,
    file_problem,
    save,
    text_to_change,
)

if TYPE_CHECKING:
    from wellkept_agent.tools.base import ToolContext


# -- The request to change a file, with what needs a yes even where edits are accepted ------------


_GUARDED: Final = frozenset({".git", ".hg", ".claude", ".cursor", ".vscode", ".idea", ".husky"})
"""Folders whose files make other programs run something."""
_GUARDED_FILES: Final = frozenset({".mcp.json", ".envrc", ".gitmodules", ".gitconfig", ".bashrc"})


def edit_request(
    context: ToolContext, tool: str, path: Path, reason: str, preview: str
) -> PermissionRequest:
    """A request that shows a diff. "Always" allows the tool for the whole session."""
    shown = context.label(path)
    parts = {part.lower() for part in Path(shown).parts}
    is_guarded = bool(parts & _GUARDED) or path.name.lower() in _GUARDED_FILES
    return PermissionRequest(
        tool=tool,
        arguments=shown,
        reason=reason,
        preview=preview,
        rule=f"{tool}({shown})" if is_guarded else tool,
        guarded=is_guarded,
    )


_NUMBERED = re.compile(r"(?m)^\s*\d+(?:\t|→)")
_CONTEXT_LINES = 4
_MAX_SNIPPET_LINES = 40
_MAX_COMPARED_LINES = 4_000
_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " "})


class EditArguments(Arguments):
    """Arguments of Edit."""

    file_path: Annotated[str, Field(description="The file, absolute or from the working folder.")]
    old_string: Annotated[
        str, Field(description="The text to replace, exactly as in the file, without line numbers.")
    ]
    new_string: Annotated[str, Field(description="The text to put there.")]
    replace_all: Annotated[
        bool, Field(description="Replace every occurrence; else it must be the only one.")
    ] = False


class Edit(TypedTool[EditArguments]):
    """Replaces text in a file; everything else keeps every byte."""

    name = "Edit"
    description = (
        "Replace text in a file that was read. old_string must be exactly what the file holds and"
        " occur once, or set replace_all. An empty old_string creates a file that does not exist."
    )
    kind = ToolKind.EDIT

    def subject(self, context: ToolContext, arguments: Mapping[str, object]) -> str:
        """The path as rules see it."""
        return context.label(context.path(str(arguments.get("file_path", ""))))

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> PermissionRequest:
        """The change, shown as a diff."""
        change = _planned(context, checked(EditArguments, arguments, tool=self.name))
        shown = context.label(change.path)
        preview = diff(change.before.text, change.after, shown=shown)
        return edit_request(context, self.name, change.path, f"edit {shown}", preview)

    async def run(self, context: ToolContext, arguments: EditArguments) -> ToolOutput:
        """Make the change."""
        return await asyncio.to_thread(_edited, context, arguments)


@record
class _Change:
    path: Path
    before: FileText
    after: str
    count: int
    is_new: bool
    first_line: int


def _edited(context: ToolContext, arguments: EditArguments) -> ToolOutput:
    change = _planned(context, arguments)
    expected = None if change.is_new else context.session.reads.stamp(change.path)
    save(context, change.path, change.before.encoded(change.after), expected=expected)
    shown = context.label(change.path)
    times = "" if change.count == 1 else f" in {counted(change.count, 'place')}"
    verb = "Created" if change.is_new else f"Edited{times}"
    return ToolOutput(
        content=f"{verb}: {shown}\n{_snippet(change, arguments.new_string)}".rstrip(),
        display=diff(change.before.text, change.after, shown=shown),
        files=(str(change.path),),
        edits=(EditRecord(str(change.path), arguments.old_string, arguments.new_string),),
    )


def _planned(context: ToolContext, arguments: EditArguments) -> _Change:
    """What the call would do; a UsageError says why it cannot."""
    if arguments.old_string == arguments.new_string:
        raise UsageError("old_string and new_string are the same: there is nothing to change.")
    path = context.path(arguments.file_path)
    if not arguments.old_string and not path.exists() and not path.is_symlink():
        return _Change(path, FileText(""), arguments.new_string, 1, is_new=True, first_line=1)
    path = existing_file(context, arguments.file_path)
    before = text_to_change(context, path)
    shown = context.label(path)
    if not arguments.old_string:
        if before.text:
            raise UsageError(
                f"old_string is empty, but {shown} is not.",
                hint="Give the text to replace, or use Write.",
            )
        return _Change(path, before, arguments.new_string, 1, is_new=False, first_line=1)
    found = _places(before.text, arguments.old_string)
    if not found:
        raise UsageError(f"{shown}: old_string was not found.", hint=_why(before.text, arguments))
    if len(found) > 1 and not arguments.replace_all:
        lines = ", ".join(str(_line_at(before.text, start)) for start, _ in found[:10])
        raise UsageError(
            f"{shown}: old_string occurs {len(found)} times (lines {lines}"
            f"{', …' if len(found) > 10 else ''}).",
            hint="Add lines around it until it is the only one, or set replace_all.",
        )
    after = _replaced(before, found, arguments.new_string)
    line = _line_at(before.text, found[0][0])
    return _Change(path, before, after, len(found), is_new=False, first_line=line)


def _places(text: str, old: str) -> list[tuple[int, int]]:
    """Where a text stands, literally; a line end fits either form."""
    plain = old.replace("\r\n", "\n")
    if "\r\n" in text and "\n" in plain:
        pattern = re.compile("\r?\n".join(map(re.escape, plain.split("\n"))))
        return [match.span() for match in pattern.finditer(text)]
    found: list[tuple[int, int]] = []
    at = text.find(plain)
    while at >= 0:
        found.append((at, at + len(plain)))
        at = text.find(plain, at + len(plain))
    return found


def _replaced(before: FileText, found: list[tuple[int, int]], new: str) -> str:
    new = new.replace("\r\n", "\n").replace("\n", before.newline)
    parts: list[str] = []
    end = 0
    for start, stop in found:
        parts += [before.text[end:start], new]
        end = stop
    return "".join([*parts, before.text[end:]])


def _line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _snippet(change: _Change, new: str) -> str:
    """The changed place with its line numbers."""
    lines = change.after.splitlines()
    first = max(1, change.first_line - _CONTEXT_LINES)
    last = change.first_line + new.count("\n") + _CONTEXT_LINES
    last = min(len(lines), last, first + _MAX_SNIPPET_LINES)
    return "\n".join(f"{n:>6}\t{lines[n - 1]}" for n in range(first, last + 1))


# -- Why a text was not found ---------------------------------------------------------------------


def _why(text: str, arguments: EditArguments) -> str:
    """The most likely reason, with what the file really holds."""
    old = arguments.old_string
    if _NUMBERED.match(old):
        return "It begins with line numbers: leave out what Read puts before each line."
    if arguments.new_string and _places(text, arguments.new_string):
        return "new_string is there already: was this edit made before?"
    lines = text.splitlines()
    wanted = old.splitlines()
    loose = _loose_match(lines, wanted)
    if loose is not None:
        real = "\n".join(lines[loose : loose + len(wanted)])
        return f"Only white space or quotes differ. Line {loose + 1} on is exactly:\n{real}"
    near = _nearest(lines, wanted)
    if near is not None:
        real = "\n".join(lines[near : near + min(len(wanted), 10)])
        return f"Nearest is line {near + 1}:\n{real}"
    return "Nothing in the file is like it. Read the file again."


def _squeezed(line: str) -> str:
    return " ".join(line.translate(_QUOTES).split())


def _loose_match(lines: list[str], wanted: list[str]) -> int | None:
    """Where the lines are, white space and quotes aside."""
    keys = [_squeezed(line) for line in wanted]
    while keys and not keys[-1]:
        keys.pop()
    if not keys:
        return None
    have = [_squeezed(line) for line in lines]
    starts = (at for at, line in enumerate(have) if line == keys[0] or keys[0] in line)
    for at in starts:
        window = have[at : at + len(keys)]
        if len(window) < len(keys):
            continue
        inner = window[1:-1] == keys[1:-1] if len(keys) > 1 else True
        if inner and window[0].endswith(keys[0]) and window[-1].startswith(keys[-1]):
            return at
        if len(keys) == 1:
            return at
    return None


def _nearest(lines: list[str], wanted: list[str]) -> int | None:
    """The line most like the first telling line of what was sought."""
    first = max(wanted, key=lambda line: len(line.strip()), default="").strip()
    if len(first) < 4 or len(lines) > _MAX_COMPARED_LINES:
        return None
    at_wanted = next(n for n, line in enumerate(wanted) if line.strip() == first)
    matcher = SequenceMatcher(b=first[:400], autojunk=False)
    best, best_at = 0.6, None
    for number, line in enumerate(lines):
        matcher.set_seq1(line.strip()[:400])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, best_at = ratio, number
    return None if best_at is None else max(0, best_at - at_wanted)


# -- Write: a whole file, new or in place of one that was read ------------------------------------


class _WriteArguments(Arguments):
    file_path: Annotated[str, Field(description="The file, absolute or from the working folder.")]
    content: Annotated[str, Field(description="All of its text.")]


class Write(TypedTool[_WriteArguments]):
    """Writes a file in one step; keeps permissions, encoding and line ends of the old one."""

    name = "Write"
    description = (
        "Write a whole file. A file that exists must have been read first and is replaced; prefer"
        " Edit to change a part of it. Missing folders are made."
    )
    kind = ToolKind.WRITE

    def subject(self, context: ToolContext, arguments: Mapping[str, object]) -> str:
        """The path as rules see it."""
        return context.label(context.path(str(arguments.get("file_path", ""))))

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> PermissionRequest:
        """The change, shown as a diff."""
        given = checked(_WriteArguments, arguments, tool=self.name)
        path, before, data = _write_planned(context, given)
        after = data.decode(before.encoding if before else "utf-8", "replace").lstrip("\ufeff")
        shown = context.label(path)
        preview = diff(before.text if before else "", after, shown=shown)
        verb = "create" if before is None else "replace"
        return edit_request(context, self.name, path, f"{verb} {shown}", preview)

    async def run(self, context: ToolContext, arguments: _WriteArguments) -> ToolOutput:
        """Write the file."""
        return await asyncio.to_thread(_written, context, arguments)


def _write_planned(
    context: ToolContext, arguments: _WriteArguments
) -> tuple[Path, FileText | None, bytes]:
    """Where to write, what is there, and the bytes to write."""
    path = context.path(arguments.file_path)
    try:
        is_new = not path.exists() and not path.is_symlink()
    except OSError as error:
        raise UsageError(f"Not written. {file_problem(error, arguments.file_path)}") from error
    if is_new:
        if arguments.file_path.endswith("/"):
            raise UsageError(f"{arguments.file_path} names a folder.", hint="Give a file name.")
        return path, None, arguments.content.encode("utf-8", "replace")
    path = existing_file(context, arguments.file_path)
    before = text_to_change(context, path)
    content = arguments.content
    if before.newline == "\r\n" and "\r\n" not in content:
        content = content.replace("\n", "\r\n")
    return path, before, before.encoded(content)


def _written(context: ToolContext, arguments: _WriteArguments) -> ToolOutput:
    path, before, data = _write_planned(context, arguments)
    expected = None if before is None else context.session.reads.stamp(path)
    save(context, path, data, expected=expected)
    shown = context.label(path)
    lines = counted(len(arguments.content.splitlines()), "line")
    old = before.text if before else ""
    same = before is not None and old == arguments.content
    verb = "Unchanged" if same else "Created" if before is None else "Replaced"
    return ToolOutput(
        content=f"{verb}: {shown} ({lines}).",
        display=diff(old, arguments.content, shown=shown),
        files=(str(path),),
        edits=(EditRecord(str(path), old, arguments.content),),
    )
