"""Read: text with line numbers, images, PDF pages and notebooks."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from wellkept.core.chat.messages import ImagePart
from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.session.events import ToolKind
from wellkept_agent.settings import ToolSettings
from wellkept_agent.tools.base import Arguments, ToolContext, ToolOutput, TypedTool, failure
from wellkept_agent.tools.files.file_text import (
    FileStamp,
    PastRead,
    decode,
    existing_file,
    file_problem,
    is_binary,
    is_unchanged,
)
from wellkept_agent.tools.files.notebooks import notebook_text
from wellkept_agent.tools.scripts import run_script

# -- Text of PDF pages. Runs in a process of its own: a broken file must not hold the session -----


_TIMEOUT_S: Final = 60.0
_SCRIPT: Final = Path(__file__).with_name("pdf_script.py")
_RANGE: Final = re.compile(r"(\d+)(?:-(\d+)?)?")


async def read_pdf(path: Path, shown: str, pages: str | None, most: int) -> ToolOutput:
    """Pages of a PDF as text; without `pages` the first ones."""
    wanted = _ranges(pages) if pages else [(1, most)]
    try:
        found = await run_script(
            _SCRIPT,
            str(path),
            json.dumps(wanted),
            str(most),
            timeout_s=_TIMEOUT_S,
            packages=True,
        )
    except UsageError as error:
        return failure(f"{shown}: the PDF cannot be read. {error}")
    if "problem" in found:
        return failure(f"{shown}: {found['problem']}")
    return _output(path, shown, found, asked=pages is not None)


def _output(path: Path, shown: str, found: dict[str, Any], *, asked: bool) -> ToolOutput:
    total: int = found["total"]
    pages: list[tuple[int, str]] = [(number, text) for number, text in found["pages"]]
    if not pages:
        return failure(f"{shown} has {total} pages; none of those was asked for.")
    parts = [f"[Page {number} of {total}]\n{text.strip() or '(no text)'}" for number, text in pages]
    last = pages[-1][0]
    if found["cut"] or (not asked and last < total):
        parts.append(f"[There are {total} pages. Go on with pages='{last + 1}-{total}'.]")
    if not any(text.strip() for _, text in pages):
        parts.append("[These pages hold no text: they may be scanned images.]")
    return ToolOutput(content="\n\n".join(parts), files=(str(path),))


def _ranges(pages: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for part in pages.replace(" ", "").split(","):
        match = _RANGE.fullmatch(part)
        if match is None or int(match[1]) < 1:
            raise UsageError(f"pages={pages!r} is not understood.", hint="Write 3, 1-5 or 2,7-9.")
        first = int(match[1])
        last = int(match[2]) if match[2] else (10**6 if "-" in part else first)
        if last < first:
            raise UsageError(f"pages={pages!r}: {last} comes before {first}.")
        found.append((first, last))
    return found


_WHOLE_BYTES: Final = 20_000_000
"""Larger files are read line by line and cannot be edited."""
_LONGEST_LINE: Final = 1 << 20
_MAX_IMAGE_BYTES: Final = 3_750_000
_SNIFFED_BYTES: Final = 8_192
_BEGINNING_CHARS: Final = 200
_IMAGES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_KNOWN_BINARY: Final = (
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"MZ", "a Windows program"),
)


class _ReadArguments(Arguments):
    file_path: Annotated[str, Field(description="The file, absolute or from the working folder.")]
    offset: Annotated[
        int | None, Field(ge=0, description="Line to begin at, from 1; for long files.")
    ] = None
    limit: Annotated[int | None, Field(ge=1, description="How many lines.")] = None
    pages: Annotated[str | None, Field(description="Pages of a PDF, such as 3, 1-5 or 2,7-9.")] = (
        None
    )


class Read(TypedTool[_ReadArguments]):
    """Reads a file; a part that is in the conversation already is answered in a line."""

    name = "Read"
    description = (
        "Read a file: text with line numbers, images, pages of a PDF, cells of a notebook. Long"
        " files come in parts: go on with offset and limit. Several files can be read at once."
    )
    kind = ToolKind.READ
    read_only = True

    def __init__(self, settings: ToolSettings | None = None) -> None:
        self._settings = settings or ToolSettings()

    def subject(self, context: ToolContext, arguments: Mapping[str, object]) -> str:
        """The path as rules see it."""
        return context.label(context.path(str(arguments.get("file_path", ""))))

    async def run(self, context: ToolContext, arguments: _ReadArguments) -> ToolOutput:
        """Read a file or a part of it."""
        path = existing_file(context, arguments.file_path)
        shown = context.label(path)
        try:
            with path.open("rb") as file:
                head = file.read(_SNIFFED_BYTES)
            if head.startswith(b"%PDF-"):
                return await read_pdf(path, shown, arguments.pages, self._settings.pdf_pages)
            if (media_type := _image_type(head)) is not None:
                return await asyncio.to_thread(_image, context, path, shown, media_type)
            if is_binary(head):
                return _refused_binary(path, shown, head)
            if arguments.pages is not None:
                raise UsageError(f"{shown} is no PDF: pages do not apply.", hint="Use offset.")
            return await asyncio.to_thread(self._text, context, path, arguments)
        except OSError as error:
            raise UsageError(file_problem(error, shown)) from error

    def _text(self, context: ToolContext, path: Path, arguments: _ReadArguments) -> ToolOutput:
        shown = context.label(path)
        key = (path, arguments.offset, arguments.limit)
        past = context.session.reads.result(key)
        if past is not None and _is_still_there(context, past) and is_unchanged(path, past.stamp):
            context.session.files.count_read(path)
            return ToolOutput(
                content=f"{shown} is unchanged since you read it (see that result above).",
                files=(str(path),),
            )
        part = self._part(context, path, arguments)
        if part.stamp is not None:
            context.session.reads.saw(path, part.stamp)
            beginning = part.content[:_BEGINNING_CHARS]
            past = PastRead(context.call_id, part.stamp, beginning)
            context.session.reads.keep_result(key, past)
        context.session.files.track_read(path, part.raw)
        return ToolOutput(content=part.content, files=(str(path),))

    def _part(self, context: ToolContext, path: Path, arguments: _ReadArguments) -> _Part:
        size = path.stat().st_size
        first = max(1, arguments.offset or 1)
        most = min(arguments.limit or self._settings.read_lines, 100_000)
        if size > _WHOLE_BYTES:
            with path.open("r", encoding="utf-8", errors="replace", newline="\n") as file:
                pieces = iter(lambda: file.readline(_LONGEST_LINE), "")
                lines = islice((line.rstrip("\r\n") for line in pieces), first - 1, None)
                return self._shown(context, lines, first, most, total=None)
        data = path.read_bytes()
        stamp = FileStamp.of(path, data)
        decoded = decode(data)
        text, notes = decoded.text, list[str]()
        if decoded.encoding != "utf-8":
            notes.append(f"[Encoded as {decoded.encoding}; edits keep that.]")
        if path.suffix == ".ipynb" and (cells := notebook_text(text)) is not None:
            text = cells
        if not text:
            return _Part(f"{context.label(path)} is empty.", "", stamp)
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        if first > len(lines):
            raise UsageError(
                f"{context.label(path)} has {len(lines)} lines; offset {first} is after the end."
            )
        rest = (line.removesuffix("\r") for line in islice(lines, first - 1, None))
        part = self._shown(context, rest, first, most, total=len(lines))
        return _Part("\n".join([part.content, *notes]), part.raw, stamp)

    def _shown(
        self,
        context: ToolContext,
        lines: Iterator[str],
        first: int,
        most: int,
        *,
        total: int | None,
    ) -> _Part:
        """Numbered lines within the limits, and how to go on when there are more."""
        room = context.session.settings.max_result_chars - 400
        cut = self._settings.line_chars
        shown: list[str] = []
        raw: list[str] = []
        for line in lines:
            text = line if len(line) <= cut else f"{line[:cut]} [… {len(line) - cut:,} more]"
            numbered = f"{first + len(shown):>6}\t{text}"
            if len(shown) == most or (shown and room < len(numbered)):
                break
            room -= len(numbered) + 1
            shown.append(numbered)
            raw.append(line)
        last = first + len(shown) - 1
        if total is None or last < total:
            of = "a very large file" if total is None else f"{total:,}"
            shown.append(f"[Lines {first}-{last} of {of}. Go on with offset={last + 1}.]")
        return _Part("\n".join(shown), "\n".join(raw), None)


@record
class _Part:
    """What was read: numbered for the model, plain for the file cache. No stamp for a file that is
    too large to be edited."""

    content: str
    raw: str
    stamp: FileStamp | None


def _is_still_there(context: ToolContext, past: PastRead) -> bool:
    """Whether the conversation still holds the earlier result, in full."""
    return any(
        result.call_id == past.call_id and result.content.startswith(past.beginning)
        for message in reversed(context.session.conversation.turns)
        for result in message.tool_results
    )


def _image_type(head: bytes) -> str | None:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _IMAGES if head.startswith(magic)), None)


def _image(context: ToolContext, path: Path, shown: str, media_type: str) -> ToolOutput:
    size = path.stat().st_size
    what = f"{shown}: {media_type}, {size:,} bytes"
    if not context.session.model.info.has_images:
        return ToolOutput(content=f"{what}. This model cannot see images.", files=(str(path),))
    if size > _MAX_IMAGE_BYTES:
        raise UsageError(
            f"{what}: too large to be shown (at most {_MAX_IMAGE_BYTES:,}).",
            hint="Scale it down with a command first.",
        )
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return ToolOutput(content=what, images=(ImagePart(data, media_type),), files=(str(path),))


def _refused_binary(path: Path, shown: str, head: bytes) -> ToolOutput:
    what = next((name for magic, name in _KNOWN_BINARY if head.startswith(magic)), "binary data")
    return ToolOutput(
        content=f"{shown} is {what} ({path.stat().st_size:,} bytes), not text. Look at it with a"
        " command (file, xxd, unzip -l) if you must.",
        is_error=True,
        files=(str(path),),
    )
