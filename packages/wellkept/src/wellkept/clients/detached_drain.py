"""Start a spool drain that outlives the hook process, unless a server is running.

The drain command is in a file of the state folder: the hook's bare interpreter does not know where
Wellkept is installed. Failures are silent; events wait in the spool.

At most `SLOTS` drains run at once. The hook takes a slot, a lock that the drain inherits and holds
until it ends. One drains while another may wait for a model. A hook without a slot starts nothing:
each drain releases its slot, checks for new events, and goes on if there are any.

Imported by the hook process at the end of a turn or a session.
"""

import os

from wellkept.clients.answers.protocol import is_server_running
from wellkept.store.spool import FOLDER_NAME, fcntl, state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

FILE_NAME = "drain.command"
SLOTS = 2
SLOT_VARIABLE = "WELLKEPT_DRAIN_SLOT"
_MAX_BYTES = 1 << 16
# Above the standard streams, which are replaced even when the client had closed them.
_LOWEST_DESCRIPTOR = 10


def record_command(state: str, words: "Sequence[str]") -> None:
    """Save the command that drains the spool."""
    path = f"{state}/{FILE_NAME}"
    partial = f"{path}.{os.getpid()}"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, b"\0".join(map(os.fsencode, words)))
    finally:
        os.close(descriptor)
    os.replace(partial, path)


def is_recorded(environment: "Mapping[str, str]") -> bool:
    """Whether a command is saved; also when there is no folder to save one in."""
    state = state_folder(environment)
    return state is None or os.path.exists(f"{state}/{FILE_NAME}")


def recorded_command(state: str) -> list[str]:
    """The saved command; empty when there is none."""
    try:
        descriptor = os.open(f"{state}/{FILE_NAME}", os.O_RDONLY)
    except OSError:
        return []
    try:
        raw = os.read(descriptor, _MAX_BYTES)
    finally:
        os.close(descriptor)
    return [os.fsdecode(word) for word in raw.split(b"\0") if word]


def start(state: str) -> bool:
    """Start a drain unless a server or enough drains are running; whether one was started."""
    words = recorded_command(state)
    if not words or not hasattr(os, "fork") or is_server_running(state):
        return False
    slot = take_slot(state)
    if slot is None:
        return False
    if os.fork():
        os.close(slot)
        return True
    try:
        # Detach from the client's signals, pipes and folder.
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.chdir(state)
        os.execve(words[0], words, {**os.environ, SLOT_VARIABLE: str(slot)})
    finally:
        os._exit(127)


def take_slot(state: str) -> int | None:
    """A descriptor that holds a slot until closed, also across `exec`; None when all are taken or
    the system has no file locks."""
    if fcntl is None:
        return None
    for number in range(SLOTS):
        try:
            path = f"{state}/{FOLDER_NAME}/drain.slot-{number}"
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fcntl.fcntl(descriptor, fcntl.F_DUPFD, _LOWEST_DESCRIPTOR)
        except OSError:
            continue
        finally:
            os.close(descriptor)
    return None


def drain_rounds(state: str, *, list_files: "Callable[[], Iterable[object]]") -> "Generator[None]":
    """Yield once per round of a drain: one, and with a slot another whenever events came whose hook
    may have found no slot. `list_files` lists the spool's files with their sizes."""
    slot = _inherited_slot()
    while True:
        seen = set(list_files())
        yield
        if slot is None:
            return
        # A hook that found no slot captured its event before this check; later ones find a slot.
        os.close(slot)
        slot = None if seen.issuperset(list_files()) else take_slot(state)
        if slot is None:
            return


def _inherited_slot() -> int | None:
    """The slot that the hook passed on, once."""
    value = os.environ.pop(SLOT_VARIABLE, "")
    try:
        os.fstat(int(value))
    except (ValueError, OSError):
        return None
    return int(value)
