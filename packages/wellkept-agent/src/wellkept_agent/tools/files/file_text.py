"""Text of files: how it is encoded, its line ends, and writing it back without a trace.

Invariant: what an edit does not touch keeps every byte. A file is replaced in one step; its
permissions stay. Text that is neither UTF-8 nor UTF-16 is taken as Latin-1, which loses nothing.
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import threading
from collections.abc import Iterator
from difflib import get_close_matches, unified_diff
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import TYPE_CHECKING, Final, TypeAlias

from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.records import record
from wellkept.skills.documents.atomic_write import write_atomically, write_new
from wellkept.text.secrets.redaction import redact

if TYPE_CHECKING:
    from wellkept_agent.tools.base import ToolContext


MAX_EDITED_BYTES: Final = 20_000_000
_SNIFFED_BYTES: Final = 8_192
_MAX_DIFF_LINES: Final = 400
_MAX_COMPARED_LINES: Final = 5_000
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_writing = threading.Lock()
"""Sub-agents may write side by side: check and write are one step."""


@record
class FileText:
    """A text with what is needed to write it back."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""

    @property
    def newline(self) -> str:
        """The line end that most lines have."""
        windows = self.text.count("\r\n")
        return "\r\n" if windows > self.text.count("\n") - windows else "\n"

    def encoded(self, text: str) -> bytes:
        """Another text in the same form."""
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            character = text[error.start : error.end][:1]
            raise UsageError(
                f"The file is encoded as {self.encoding}, which has no {character!r}.",
                hint="Leave that character out, or convert the file to UTF-8 first.",
            ) from error


def is_binary(head: bytes) -> bool:
    """Whether bytes look like no text at all."""
    return not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and b"\0" in head


def decode(data: bytes) -> FileText:
    """Bytes as text. Never fails."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                return FileText(data[len(bom) :].decode(encoding), encoding, bom)
            except UnicodeDecodeError:
                break
    try:
        return FileText(data.decode("utf-8"))
    except UnicodeDecodeError:
        return FileText(data.decode("latin-1"), "latin-1")


def existing_file(context: ToolContext, given: str) -> Path:
    """The path of a regular file that is there; else an error that helps to find it."""
    path = context.path(given)
    shown = context.label(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise NotFoundError(f"{shown} does not exist.", hint=_nearby(context, path)) from None
    except OSError as error:
        raise UsageError(file_problem(error, shown)) from error
    if path.is_dir():
        raise UsageError(f"{shown} is a folder.", hint="Use LS or Glob to see what is in it.")
    if not S_ISREG(mode):
        raise UsageError(f"{shown} is no regular file (a device, pipe or socket).")
    return path


def _nearby(context: ToolContext, path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        return f"The nearest folder that exists is {context.label(folder)}."
    try:
        names = [one.name for one in list(folder.iterdir())[:5_000]]
    except OSError:
        names = []
    lowered = {name.lower(): name for name in names}
    near = get_close_matches(path.name.lower(), lowered, n=3, cutoff=0.6)
    if near:
        found = ", ".join(context.label(folder / lowered[name]) for name in near)
        return f"Did you mean {found}?"
    return f"Paths begin at {context.working_directory}. Use Glob to find it."


def text_to_change(context: ToolContext, path: Path) -> FileText:
    """The text of a file that may be changed: seen in this session and unchanged since."""
    shown = context.label(path)
    stamp = context.session.reads.stamp(path)
    if stamp is None:
        raise ConflictError(f"{shown} was not read in this session.", hint="Read it first.")
    if not is_unchanged(path, stamp):
        raise ConflictError(
            f"{shown} was changed after it was read, by a person, a command or another agent.",
            hint="Read it again, then repeat the change.",
        )
    try:
        if path.stat().st_size > MAX_EDITED_BYTES:
            raise UsageError(f"{shown} is too large to be edited here.", hint="Use Bash.")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(file_problem(error, shown)) from error
    if is_binary(data[:_SNIFFED_BYTES]):
        raise UsageError(f"{shown} is a binary file; it cannot be edited as text.")
    return decode(data)


def save(context: ToolContext, path: Path, data: bytes, *, expected: FileStamp | None) -> None:
    """Write a file in one step, if it still is what it was (`expected`), or new (None).

    Files of the session itself, such as plans, are its owner's only, and without secrets.
    """
    shown = context.label(path)
    is_own = path.is_relative_to(context.session.folder.resolve())
    if is_own:
        data = redact(data.decode("utf-8", "replace")).text.encode("utf-8", "replace")
    try:
        with _writing:
            if expected is None:
                write_new(path, data)
                if is_own:
                    path.chmod(0o600)
            else:
                if not is_unchanged(path, expected):
                    raise ConflictError(
                        f"{shown} was changed just now by somebody else.", hint="Read it again."
                    )
                mode = S_IMODE(path.stat().st_mode)
                if not mode & 0o222:
                    raise UsageError(f"{shown} is write-protected.", hint="Ask before changing it.")
                write_atomically(path, data, mode=mode)
            context.session.reads.saw(path, FileStamp.of(path, data))
    except OSError as error:
        raise UsageError(f"Not written. {file_problem(error, shown)}") from error


def diff(before: str, after: str, *, shown: str) -> str:
    """A unified diff for people; of a very large change only how it begins."""
    old, new = before.splitlines(), after.splitlines()
    names = (f"a/{shown}", f"b/{shown}")
    if min(len(old), len(new)) > _MAX_COMPARED_LINES:
        lines = [f"--- {names[0]}", f"+++ {names[1]}", *_coarse(old, new)]
    else:
        lines = list(unified_diff(old, new, *names, lineterm="", n=3))
    if len(lines) > _MAX_DIFF_LINES:
        more = len(lines) - _MAX_DIFF_LINES
        lines = [*lines[:_MAX_DIFF_LINES], f"[… {more:,} more lines …]"]
    return "\n".join(lines)


def _coarse(old: list[str], new: list[str]) -> Iterator[str]:
    """What differs between the first and the last difference; comparing more takes too long."""
    pairs = zip(old, new, strict=False)
    first = next((n for n, (left, right) in enumerate(pairs) if left != right), None)
    if first is None:
        first = min(len(old), len(new))
    backwards = zip(reversed(old[first:]), reversed(new[first:]), strict=False)
    same = next(
        (n for n, (left, right) in enumerate(backwards) if left != right),
        min(len(old), len(new)) - first,
    )
    gone, come = old[first : len(old) - same], new[first : len(new) - same]
    yield f"@@ -{first + 1},{len(gone)} +{first + 1},{len(come)} @@"
    half = _MAX_DIFF_LINES // 2
    for mark, lines in (("-", gone), ("+", come)):
        yield from (f"{mark}{line}" for line in lines[:half])
        if len(lines) > half:
            yield f"{mark}[… {len(lines) - half:,} more lines …]"


def file_problem(error: OSError, shown: str) -> str:
    """What went wrong with a file, for a model to act on."""
    reason = {
        "ENOSPC": "the disk is full",
        "EACCES": "no permission",
        "EPERM": "no permission",
        "EROFS": "the file system is read-only",
        "ENAMETOOLONG": "the name is too long",
        "EISDIR": "it is a folder",
        "EEXIST": "a part of the path is a file, not a folder",
        "ENOTDIR": "a part of the path is a file, not a folder",
        "ENOENT": "it does not exist",
        "ELOOP": "its links go in a circle",
        "EDQUOT": "the disk quota is used up",
    }.get(_name(error), error.strerror or str(error))
    return f"{shown}: {reason}."


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "")


# -- Which files a session has seen, and as what: an edit of anything else is refused -------------


ReadKey: TypeAlias = tuple[Path, int | None, int | None]
"""Path, offset and limit."""


@record
class FileStamp:
    """A file's content at a moment."""

    mtime_ns: int
    size_bytes: int
    digest: str

    @classmethod
    def of(cls, path: Path, data: bytes) -> FileStamp:
        """The stamp of a file that was read or written as `data`."""
        found = path.stat()
        return cls(found.st_mtime_ns, found.st_size, _digest(data))


@record
class PastRead:
    """A result that the conversation holds: whose call it was, and how it begins."""

    call_id: str
    stamp: FileStamp
    beginning: str


class ReadLog:
    """Stamps of files, and results of reads by path, offset and limit."""

    def __init__(self) -> None:
        self._stamps: dict[Path, FileStamp] = {}
        self._results: dict[ReadKey, PastRead] = {}

    def saw(self, path: Path, stamp: FileStamp) -> None:
        """The conversation knows a file as it is now."""
        self._stamps[path] = stamp

    def forget(self, path: Path) -> None:
        """A file is gone."""
        self._stamps.pop(path, None)

    def stamp(self, path: Path) -> FileStamp | None:
        """How a file was when it was last seen; None when it never was."""
        return self._stamps.get(path)

    def keep_result(self, key: ReadKey, past: PastRead) -> None:
        """Remember which call a part of a file was read by."""
        self._results[key] = past

    def result(self, key: ReadKey) -> PastRead | None:
        """The last read of the same part."""
        return self._results.get(key)


def is_unchanged(path: Path, stamp: FileStamp) -> bool:
    """Whether a file still is what it was. A touched file with the same content is unchanged."""
    try:
        found = path.stat()
        if found.st_size != stamp.size_bytes:
            return False
        return _digest(path.read_bytes()) == stamp.digest
    except OSError:
        return False


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
