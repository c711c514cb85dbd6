"""Files that compaction writes into a session's folder, so that nothing is lost.

`tool-results/<call id>.txt` holds a tool result that was cleared, `compacted/<id>.md` the messages
that a summary replaced. Invariants: a file that a conversation refers to is whole and never
overwritten; a name cannot leave its folder, whatever a model or a server made up as an id; secrets
are redacted, as in every transcript. Synchronous: called in a thread.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from html import escape
from pathlib import Path

from wellkept.core.chat.messages import ToolResultPart
from wellkept.core.errors import ConflictError
from wellkept.core.records import record
from wellkept.text.secrets.redaction import redact

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
