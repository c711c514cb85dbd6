"""The environment of the local process at the other end of a connection, on Linux.

A token in a file can be read by an agent's shell as well as by a person's script. The marks that
clients set for their agents' commands tell the two apart. Elsewhere, and for processes of other
users, nothing is known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

_TABLES = ("net/tcp", "net/tcp6")
_MOST_KEPT = 256


class Peers:
    """Looks at a process once for each connection, and not for each request that it sends."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, Mapping[str, str]]] = {}

    def environment(self, client: tuple[str, int], server: tuple[str, int]) -> Mapping[str, str]:
        """The variables of the process at the other end. `client` is the server's own object for
        the connection: a later one from the same port is another object, while this one is kept."""
        known = self._known.get(client[1])
        if known is not None and known[0] is client:
            return known[1]
        found = peer_environment(client[1], server[1])
        if found:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[client[1]] = client, found
        return found


def peer_environment(client_port: int, server_port: int) -> Mapping[str, str]:
    """The variables of the process that connected from one local port to another; empty when it
    is not known."""
    inode = _inode(client_port, server_port)
    wanted = f"socket:[{inode}]"
    for process in _own_processes() if inode else ():
        if _holds(process, wanted):
            return _variables(process)
    return {}


def _inode(client_port: int, server_port: int) -> str | None:
    """The socket of the client's side."""
    row = re.compile(rf"^ *\d+: \w+:{client_port:04X} \w+:{server_port:04X} .*$", re.MULTILINE)
    for table in _TABLES:
        try:
            with open(f"/proc/{table}", encoding="ascii") as file:  # noqa: PTH123
                found = row.search(file.read())
        except (OSError, UnicodeDecodeError):
            continue
        if found is not None:
            return found[0].split()[9]
    return None


def _own_processes() -> Iterator[str]:
    """Folders of processes, the latest first: whoever asks has mostly just been started."""
    mine = os.getuid()
    for number in sorted((int(one) for one in os.listdir("/proc") if one.isdigit()), reverse=True):  # noqa: PTH208
        try:
            if os.stat(f"/proc/{number}").st_uid == mine:  # noqa: PTH116
                yield f"/proc/{number}"
        except OSError:
            continue  # it ended


def _holds(process: str, wanted: str) -> bool:
    try:
        with os.scandir(f"{process}/fd") as files:
            return any(os.readlink(one.path) == wanted for one in files)  # noqa: PTH115
    except OSError:
        return False


def _variables(process: str) -> Mapping[str, str]:
    try:
        with open(f"{process}/environ", "rb") as file:  # noqa: PTH123
            raw = file.read()
    except OSError:
        return {}
    pairs = (one.decode("utf-8", "replace").partition("=") for one in raw.split(b"\0"))
    return {name: value for name, _, value in pairs if name}
