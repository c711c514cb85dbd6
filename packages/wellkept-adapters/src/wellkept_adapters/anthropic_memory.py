"""Anthropic's memory tool (`memory_20250818`), with its files kept as memories.

    client.beta.messages.tool_runner(..., tools=[WellkeptMemoryTool(wellkept.open())])

Files lie below /memories and are found by recall like any other memory; the project's database is
the only thing written. A path that leaves /memories is refused. Folders are there when a file is in
them. Answers are worded as the tool's description asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wellkept.api.async_wellkept import AsyncWellkept
from wellkept.api.wellkept import Wellkept
from wellkept.core.errors import UsageError
from wellkept_adapters.items import Item, Items, Place, framework, require_plain_name

with framework("Anthropic's SDK", extra="anthropic"):
    from anthropic.lib.tools import (
        BetaAbstractMemoryTool,
        BetaAsyncAbstractMemoryTool,
        ToolError,
    )
    from anthropic.types.beta import (
        BetaMemoryTool20250818Command,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

ROOT: Final = "memories"
_LEVELS_SHOWN: Final = 2
_NUMBER_WIDTH: Final = 6
_MAX_LINES: Final = 999_999
_AROUND: Final = 2


class WellkeptMemoryTool(BetaAbstractMemoryTool):
    """Claude's memory folder, kept in one project."""

    def __init__(self, wellkept: Wellkept) -> None:
        super().__init__()
        self._items = Items(wellkept, "anthropic-memory")

    # -- The six commands -------------------------------------------------------------------------

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """A file with line numbers, or a folder two levels deep."""
        place = _parts(command.path)
        item = self._file(place)
        if item is not None:
            return _shown(command.path, _text(item), command.view_range)
        inside = list(self._items.below(place))
        if not inside and place:
            raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
        return _listing(command.path.rstrip("/"), place, inside)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """A new file."""
        place = _parts(command.path)
        self._require_free(place, command.path, f"File {command.path} already exists")
        self._write(place, command.file_text)
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once."""
        item = self._require_file(command.path)
        text, old = _text(item), command.old_str
        if not old or old not in text:
            raise ToolError(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in"
                f" {command.path}."
            )
        if text.count(old) > 1:
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines:"
                f" {', '.join(map(str, _lines_with(text, old)))}. Please ensure it is unique"
            )
        changed = text.replace(old, command.new_str)
        self._write(_parts(command.path), changed)
        line = text[: text.index(old)].count("\n")
        lines = changed.split("\n")
        first = max(0, line - _AROUND)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line"
            f" numbers):\n{_numbered(lines[first : line + _AROUND + 1], first + 1)}"
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Put text after a line; 0 is the beginning."""
        item = self._require_file(command.path)
        lines = _text(item).removesuffix("\n").split("\n") if _text(item) else []
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. It should be within the"
                f" range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        self._write(_parts(command.path), "\n".join(lines) + "\n")
        return f"The file {command.path} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a folder with all that is in it, for good."""
        place = _parts(command.path)
        if not place:
            raise ToolError("Cannot delete the /memories directory itself")
        if not self._items.remove(self._at(place)):
            raise ToolError(f"The path {command.path} does not exist")
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file, or a folder with all that is in it."""
        old, new = _parts(command.old_path), _parts(command.new_path)
        if not old:
            raise ToolError("Cannot rename the /memories directory itself")
        moved = self._at(old)
        if not moved:
            raise ToolError(f"The path {command.old_path} does not exist")
        if new[: len(old)] == old:
            raise ToolError(f"{command.new_path} lies inside {command.old_path}")
        self._require_free(
            new, command.new_path, f"The destination {command.new_path} already exists"
        )
        for item in moved:
            whole = (*item.place, item.name)
            self._write((*new, *whole[len(old) :]), _text(item))
        self._items.remove(moved)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Delete every file for good."""
        self._items.remove(list(self._items.below()))
        return "All memory cleared"

    # -- Files and folders ------------------------------------------------------------------------

    def _file(self, place: Place) -> Item | None:
        return self._items.get(place[:-1], place[-1]) if place else None

    def _at(self, place: Place) -> list[Item]:
        """The file at a path, or the files in the folder there."""
        item = self._file(place)
        return [item] if item else list(self._items.below(place))

    def _require_file(self, path: str) -> Item:
        place = _parts(path)
        item = self._file(place)
        if item is not None:
            return item
        if not place or self._at(place):
            raise ToolError(f"The path {path} is not a file.")
        raise ToolError(f"The path {path} does not exist. Please provide a valid path.")

    def _require_free(self, place: Place, path: str, taken: str) -> None:
        if not place or self._at(place):
            raise ToolError(taken)
        for depth in range(1, len(place)):
            if self._file(place[:depth]):
                raise ToolError(f"{path} cannot be made: {'/'.join(place[:depth])} is a file")

    def _write(self, place: Place, text: str) -> None:
        if text.count("\n") >= _MAX_LINES:
            raise ToolError(f"A file has at most {_MAX_LINES:,} lines.")
        try:
            self._items.put(place[:-1], place[-1], {"text": text}, text=text)
        except UsageError as error:
            raise ToolError(str(error)) from error


class AsyncWellkeptMemoryTool(BetaAsyncAbstractMemoryTool):
    """`WellkeptMemoryTool` for an asynchronous client; its commands run in threads."""

    def __init__(self, wellkept: AsyncWellkept) -> None:
        super().__init__()
        self._wellkept = wellkept
        self._tool = WellkeptMemoryTool(wellkept.sync)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """A file with line numbers, or a folder two levels deep."""
        return await self._run(command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """A new file."""
        return await self._run(command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once."""
        return await self._run(command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Put text after a line; 0 is the beginning."""
        return await self._run(command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a folder with all that is in it, for good."""
        return await self._run(command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file, or a folder with all that is in it."""
        return await self._run(command)

    async def clear_all_memory(self) -> str:
        """Delete every file for good."""
        return await self._wellkept.run(lambda _: self._tool.clear_all_memory())

    async def _run(self, command: BetaMemoryTool20250818Command) -> str:
        return str(await self._wellkept.run(lambda _: self._tool.execute(command)))


def _parts(path: str) -> Place:
    """The names of a path below /memories; a path that leaves it is refused."""
    first, *names = path.removeprefix("/").split("/")
    if not path.startswith("/") or first != ROOT:
        raise ToolError(f"Path must start with /memories, got: {path}")
    inside = tuple(name for name in names if name)
    for name in inside:
        if name in (".", "..") or "\\" in name or "%2e" in name.casefold():
            raise ToolError(f"Path {path} would escape /memories directory")
        try:
            require_plain_name(name)
        except UsageError as error:
            raise ToolError(f"Path {path} cannot be used: {error}") from error
    return inside


def _text(item: Item) -> str:
    return str(item.value.get("text", ""))


def _shown(path: str, text: str, view_range: Sequence[int] | None) -> str:
    lines, first = text.split("\n"), 1
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0])
        last = len(lines) if view_range[1] == -1 else view_range[1]
        lines = lines[first - 1 : last]
    return f"Here's the content of {path} with line numbers:\n{_numbered(lines, first)}"


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{n:>{_NUMBER_WIDTH}}\t{line}" for n, line in enumerate(lines, start=first))


def _lines_with(text: str, part: str) -> list[int]:
    found: list[int] = []
    at = text.find(part)
    while at >= 0:
        found.append(text[:at].count("\n") + 1)
        at = text.find(part, at + 1)
    return found


def _listing(path: str, place: Place, inside: Sequence[Item]) -> str:
    """Sizes and paths, folders with a slash, hidden names left out."""
    sizes: dict[tuple[str, ...], int] = {}
    files: set[tuple[str, ...]] = set()
    for item in inside:
        names = (*item.place, item.name)[len(place) :]
        size = len(_text(item).encode())
        if any(name.startswith(".") for name in names):
            continue
        for depth in range(min(len(names), _LEVELS_SHOWN) + 1):
            sizes[names[:depth]] = sizes.get(names[:depth], 0) + size
        if len(names) <= _LEVELS_SHOWN:
            files.add(names)
    rows = [f"{_size(sizes.get((), 0))}\t{path}"]
    for names in sorted(one for one in sizes if one):
        slash = "" if names in files else "/"
        rows.append(f"{_size(sizes[names])}\t{path}/{'/'.join(names)}{slash}")
    head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden"
    return "\n".join([f"{head} items:", *rows])


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for unit in "BKMG":
        if size < 1024 or unit == "G":
            break
        size /= 1024
    return f"{int(size)}{unit}" if size == int(size) else f"{size:.1f}{unit}"
