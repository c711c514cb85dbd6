"""Event spool, writing side: an event is on disk before the hook process returns.

A spool is a folder of append-only files, one per client session. An entry is an ASCII header line,
the unchanged payload and a newline, written by one append:

    H1 <event id> <milliseconds> <client> <event> <payload length> <checksum>

Invariants: concurrent appenders never mix or lose entries; a file that a reader is about to remove
is not written to (both sides lock); events that exceed the size limit or the disk are counted in
the `dropped` file where possible. An entry that was appended survives the death of any process and
a power cut.

The hook process imports this module at every event, so it uses only modules that load in
microseconds. Payloads are opaque here; `spool_reader` is the reading side.
"""

import os
import sys
import time
import zlib

try:
    import fcntl
except ImportError:  # Windows: readers remove only files not written for long
    fcntl = None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER_NAME = "spool"
SUFFIX = ".spool"
DROPPED_NAME = "dropped"
# In the state folder: when it is there, payloads are redacted before they are written.
REDACT_NAME = "redact-first"
# In the state folder: when it is there, hooks may be paused; `store.pause` reads it.
OFF_NAME = "off"
MAX_ENTRY_BYTES = 64 << 20
MAX_TOTAL_BYTES = 512 << 20
# Total size is checked when a file is created and each time it grows past such a step.
STEP_BYTES = 64 << 10

_DETAILED_DROPS_BYTES = 64 << 10
NAME_CHARS = 64
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-")
_FLAGS = (
    os.O_WRONLY
    | os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)


class _ShortWriteError(OSError):
    """Only part of an entry was written; readers skip and report it."""


def append(
    directory: str,
    *,
    client: str,
    session: str,
    event: str,
    payload: bytes,
    now_ms: int,
    max_total_bytes: int = MAX_TOTAL_BYTES,
) -> str | None:
    """Add an event to its session's file; returns the event's id, or None when it was dropped.

    OSError when it cannot be written at all.
    """
    event_id = new_event_id(now_ms)
    entry = encode(event_id, client=client, event=event, payload=payload, now_ms=now_ms)
    path = os.path.join(directory, file_name(client, session))
    size = len(payload)
    kept = False
    try:
        small = size <= MAX_ENTRY_BYTES
        kept = small and _append_to(path, entry, max_total_bytes=max_total_bytes)
    finally:
        # Also on a full disk: a few bytes often fit where an event does not.
        if not kept:
            record_drop(directory, client=client, event=event, size=size, now_ms=now_ms)
    return event_id if kept else None


def encode(event_id: str, *, client: str, event: str, payload: bytes, now_ms: int) -> bytes:
    """An entry in file format."""
    names = f"{plain_name(client)} {plain_name(event)}"
    head = f"H1 {event_id} {now_ms} {names} {len(payload)} ".encode("ascii")
    check = zlib.crc32(payload, zlib.crc32(head))
    return b"%b%08x\n%b\n" % (head, check, payload)


def new_event_id(now_ms: int) -> str:
    """An id for one event: a UUIDv7, so that ids sort by the time of the event."""
    chance = int.from_bytes(os.urandom(10), "big")
    value = (now_ms & ((1 << 48) - 1)) << 80 | 0x7 << 76 | (chance >> 62 & 0xFFF) << 64
    text = f"{value | 0b10 << 62 | chance & ((1 << 62) - 1):032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def file_name(client: str, session: str) -> str:
    """The file of a session. A key with other characters gets a hash suffix."""
    name = plain_name(session).replace(":", "_")
    if name != session:
        name = f"{name[: NAME_CHARS - 17]}-{_hash(session):016x}"
    return f"{plain_name(client).replace(':', '_')}-{name}{SUFFIX}"


def plain_name(text: str) -> str:
    """The text as one header word; never empty, of bounded length."""
    return "".join(c if c in _PLAIN else "_" for c in text[:NAME_CHARS]) or "_"


def state_folder(environment: "Mapping[str, str]") -> str | None:
    """The folder for persistent state; None when there is no home.

    `WELLKEPT_HOME` overrides the platform default. The spool is its folder `FOLDER_NAME`.
    """
    own = environment.get("WELLKEPT_HOME")
    if own:
        folder = os.path.expanduser(own)
        # `~unknown` stays unexpanded: do not create a folder of that name in the working directory.
        return None if folder.startswith("~") else folder
    if sys.platform == "win32":
        return _below_home(environment.get("LOCALAPPDATA"), "AppData/Local")
    if sys.platform == "darwin":
        return _below_home(None, "Library/Application Support")
    return _below_home(environment.get("XDG_STATE_HOME"), ".local/state")


def _below_home(given: str | None, usual: str) -> str | None:
    if given and os.path.isabs(given):
        return os.path.join(given, "wellkept")
    home = os.path.expanduser("~")
    return os.path.join(home, usual, "wellkept") if os.path.isabs(home) else None


def make_private_folder(directory: str) -> None:
    """Create a folder and its missing parents with owner-only permissions."""
    if os.path.isdir(directory):
        return
    parent = os.path.dirname(directory)
    if parent and parent != directory:
        make_private_folder(parent)
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        if not os.path.isdir(directory):
            raise


def sync_folder(folder: str) -> None:
    """Wait until the names in a folder are on the disk, where the system can."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# -- One file -------------------------------------------------------------------------------------


def _append_to(path: str, entry: bytes, *, max_total_bytes: int) -> bool:
    """Write the entry at the end of the file; False when the spool is full."""
    while True:
        descriptor = _open(path)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_SH)
            now = os.fstat(descriptor)
            # A reader may have removed the file between open and lock.
            if now.st_nlink == 0:
                continue
            if _has_no_room(path, now.st_size, len(entry), max_total_bytes):
                return False
            written = os.write(descriptor, entry)
            if written != len(entry):
                raise _ShortWriteError(f"{written} of {len(entry)} bytes were written to {path}")
            os.fsync(descriptor)
            sync_folder(os.path.dirname(path))
            return True
        finally:
            os.close(descriptor)


def _open(path: str) -> int:
    try:
        return os.open(path, _FLAGS, 0o600)
    except FileNotFoundError:
        folder = os.path.dirname(path)
        make_private_folder(folder)
        sync_folder(os.path.dirname(folder))
        return os.open(path, _FLAGS, 0o600)


def _has_no_room(path: str, size: int, more: int, max_total_bytes: int) -> bool:
    if size and size // STEP_BYTES == (size + more) // STEP_BYTES:
        return False
    return total_bytes(os.path.dirname(path)) + more > max_total_bytes


def total_bytes(directory: str) -> int:
    """Total size of the spool's files."""
    total = 0
    with os.scandir(directory) as found:
        for item in found:
            if item.name.endswith(SUFFIX):
                try:
                    total += item.stat(follow_symlinks=False).st_size
                except FileNotFoundError:
                    continue
    return total


def waiting_files(directory: str, *, longer_than_s: float) -> int:
    """How many sessions have events that nobody took in for so long."""
    oldest = time.time() - longer_than_s
    try:
        with os.scandir(directory) as found:
            return sum(
                one.name.endswith(SUFFIX) and one.stat(follow_symlinks=False).st_mtime < oldest
                for one in found
            )
    except OSError:
        return 0


def record_drop(directory: str, *, client: str, event: str, size: int, now_ms: int) -> None:
    """Record a dropped event: one line each, without details once there are many.

    On a full disk the file grows by a hole, which takes no room; readers take it for a line end.
    """
    descriptor = _open(os.path.join(directory, DROPPED_NAME))
    try:
        known = os.fstat(descriptor).st_size
        line = f"{now_ms} {plain_name(client)} {plain_name(event)} {size}\n".encode("ascii")
        line = line if known < _DETAILED_DROPS_BYTES else b"\n"
        if not _is_written(descriptor, line):
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.ftruncate(descriptor, os.fstat(descriptor).st_size + 1)
    finally:
        os.close(descriptor)


def _is_written(descriptor: int, line: bytes) -> bool:
    try:
        return os.write(descriptor, line) == len(line)
    except OSError:
        return False


def _hash(text: str) -> int:
    """FNV-1a, 64 bits: stable between processes and needs no import."""
    value = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value
