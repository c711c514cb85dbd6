"""Searching files for a regular expression: with ripgrep when it is there, else in Python.

Both are given the same files in the same order and yield the same lines. ripgrep knows no
lookaround; a pattern that it refuses is searched in Python, and so is one that spans lines, where
the two disagree about Windows line ends. A file is binary when its beginning holds a NUL.
What is left: a byte that is not UTF-8 fits `.` in Python only.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final, cast

from wellkept.core.errors import UsageError
from wellkept.core.records import record

_SCRIPT: Final = Path(__file__).with_name("grep_script.py")
_FILES_PER_CALL: Final = 500
_LINE_BYTES: Final = 64 << 20
_SNIFFED_BYTES: Final = 8_192


@record(kw_only=True)
class Search:
    """What to look for. `most` bounds the matches of each file; 0 is no bound."""

    pattern: str
    folder: Path
    files: tuple[str, ...]
    ignore_case: bool = False
    multiline: bool = False
    before: int = 0
    after: int = 0
    most: int = 0


@record
class FoundLine:
    """A line of a file; `is_match` is False for lines shown around a match."""

    path: str
    number: int
    text: str
    is_match: bool


class _RefusedError(Exception):
    """ripgrep does not take the pattern."""


def find_ripgrep() -> str | None:
    """The program, when it is installed."""
    return shutil.which("rg")


async def found_lines(search: Search, ripgrep: str | None) -> AsyncGenerator[FoundLine]:
    """Lines in the order of the files."""
    if ripgrep is not None and not search.multiline:
        try:
            async with aclosing(_by_ripgrep(search, ripgrep)) as lines:
                async for line in lines:
                    yield line
        except _RefusedError:
            pass
        else:
            return
    async with aclosing(_by_python(search)) as lines:
        async for line in lines:
            yield line


async def _by_ripgrep(search: Search, program: str) -> AsyncGenerator[FoundLine]:
    options = ["--no-config", "--json", "--no-messages", "--threads=1", "--crlf", "--no-ignore"]
    options += ["--text"]
    options += [f"-B{search.before}", f"-A{search.after}"]
    options += ["-i"] if search.ignore_case else ["-s"]
    options += ["-m", str(search.most)] if search.most else []
    for start in range(0, len(search.files), _FILES_PER_CALL):
        names = search.files[start : start + _FILES_PER_CALL]
        waiting: list[FoundLine] = []
        command = [program, *options, "-e", search.pattern, "--", *names]
        async with aclosing(_output(command, search.folder, refuses=start == 0)) as output:
            async for raw in output:
                event = cast("dict[str, Any]", json.loads(raw))
                kind, data = event["type"], event["data"]
                if kind in ("match", "context"):
                    waiting += _lines(data, is_match=kind == "match")
                elif kind == "end" and waiting:
                    if not _is_binary(search.folder / waiting[0].path):
                        for line in waiting:
                            yield line
                    waiting = []


def _is_binary(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(_SNIFFED_BYTES)
    except OSError:
        return True
    return not head.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" in head


def _lines(data: dict[str, Any], *, is_match: bool) -> list[FoundLine]:
    path, text = _text(data["path"]), _text(data["lines"])
    first: int = data["line_number"]
    text = text.removesuffix("\n").removesuffix("\r")
    return [
        FoundLine(path, first + n, line.removesuffix("\r"), is_match)
        for n, line in enumerate(text.split("\n"))
    ]


def _text(value: dict[str, str]) -> str:
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode("utf-8", "replace")


async def _by_python(search: Search) -> AsyncGenerator[FoundLine]:
    job = {
        "pattern": search.pattern,
        "folder": str(search.folder),
        "files": search.files,
        "ignore_case": search.ignore_case,
        "multiline": search.multiline,
        "before": search.before,
        "after": search.after,
        "most": search.most,
    }
    command = [sys.executable, "-I", "-S", str(_SCRIPT)]
    output = _output(command, search.folder, stdin=json.dumps(job).encode())
    async with aclosing(output) as lines:
        async for raw in lines:
            found: object = json.loads(raw)
            if isinstance(found, dict):
                problem = cast("dict[str, str]", found)["problem"]
                raise UsageError(
                    f"'{search.pattern}' is no valid regular expression: {problem}.",
                    hint="Put a backslash before characters such as ( [ { * + ? . to mean them.",
                )
            number, line, text, is_match = cast("tuple[int, int, str, bool]", found)
            yield FoundLine(search.files[number], line, text, is_match)


async def _output(
    command: Sequence[str], folder: Path, *, stdin: bytes = b"", refuses: bool = False
) -> AsyncGenerator[bytes]:
    """The lines of a program's output. Ends the program when nobody wants more."""
    process = await asyncio.create_subprocess_exec(
        *map(os.fsencode, command),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=_LINE_BYTES,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    feeding = asyncio.ensure_future(_fed(process.stdin, stdin))
    try:
        async for line in process.stdout:
            yield line
        code = await process.wait()
        if refuses and code == 2:
            raise _RefusedError
    finally:
        feeding.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _fed(stream: asyncio.StreamWriter, data: bytes) -> None:
    try:
        stream.write(data)
        await stream.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        stream.close()
