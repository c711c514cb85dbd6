"""Starting a drain that outlives the hook process, when no live Wellkept process is there to do it.

Which program drains is told by a file in the state folder, because the hook runs in a bare
interpreter that knows nothing of the environment Wellkept was installed in. Whatever fails here
fails in silence: events wait in the spool.

However many sessions end at once, at most `SLOTS` such drains are at work: the hook takes a slot, a
lock that the drain inherits and keeps until it is through or is killed. One drains while another
may still wait for a model. A hook that finds no slot leaves it to those who have one: they let go
of it, look again, and then either go on or end.

Imported by the hook process at the end of a turn or a session.
"""

import os

from wellkept.clients.answers.protocol import is_answered
from wellkept.store.spool import FOLDER_NAME, fcntl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

FILE_NAME = "drain.command"
SLOTS = 2
SLOT_VARIABLE = "WELLKEPT_DRAIN_SLOT"
_MAX_BYTES = 1 << 16
# Above the standard streams, which are given away even when the client had closed them.
_LOWEST_DESCRIPTOR = 10


def record_command(state: str, words: "Sequence[str]") -> None:
    """Note the program and its arguments that drain the spool."""
    path = f"{state}/{FILE_NAME}"
    partial = f"{path}.{os.getpid()}"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, b"\0".join(map(os.fsencode, words)))
    finally:
        os.close(descriptor)
    os.replace(partial, path)


def recorded_command(state: str) -> list[str]:
    """The program and its arguments; none when nobody has noted them."""
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
    """Start a drain unless a live process or enough drains are there; tells whether one was."""
    words = recorded_command(state)
    if not words or not hasattr(os, "fork") or is_answered(state):
        return False
    slot = take_slot(state)
    if slot is None:
        return False
    if os.fork():
        os.close(slot)
        return True
    try:
        # Away from the client: its signals, its pipes and its folder are no longer ours.
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.chdir(state)
        os.execve(words[0], words, {**os.environ, SLOT_VARIABLE: str(slot)})
    finally:
        os._exit(127)


def take_slot(state: str) -> int | None:
    """A descriptor that holds a slot until it is closed, and outlives `exec`; None when all are
    taken or there are none on this system."""
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


def rounds(state: str, *, look: "Callable[[], Iterable[object]]") -> "Generator[None]":
    """The rounds of a drain: one; and for one that has a slot, another whenever something came
    that may have found no slot. `look` tells what is in the spool, each file with its size."""
    slot = _given_slot()
    while True:
        seen = set(look())
        yield
        if slot is None:
            return
        # Whoever finds no slot has caught its event before this look, and all others a free one.
        os.close(slot)
        slot = None if seen.issuperset(look()) else take_slot(state)
        if slot is None:
            return


def _given_slot() -> int | None:
    """The slot that the hook handed over, once."""
    given = os.environ.pop(SLOT_VARIABLE, "")
    try:
        os.fstat(int(given))
    except (ValueError, OSError):
        return None
    return int(given)
