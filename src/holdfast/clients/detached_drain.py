"""Starting a drain that outlives the hook process, when no live Holdfast process is there to do it.

Which program drains is told by a file in the state folder, because the hook runs in a bare
interpreter that knows nothing of the environment Holdfast was installed in. The drain itself makes
sure that only one runs. Whatever fails here fails in silence: events wait in the spool.

Imported by the hook process at the end of a turn or a session.
"""

import os

from holdfast.clients.socket_protocol import is_answered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

FILE_NAME = "drain.command"
_MAX_BYTES = 1 << 16


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
    """Start a drain unless a live process is there; tells whether one was started."""
    words = recorded_command(state)
    if not words or not hasattr(os, "fork") or is_answered(state):
        return False
    if os.fork():
        return True
    try:
        # Away from the client: its signals, its pipes and its folder are no longer ours.
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.chdir(state)
        os.execv(words[0], words)
    finally:
        os._exit(127)
