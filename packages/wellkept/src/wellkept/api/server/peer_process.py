"""The environment of the local process at the other end of a connection, on Linux.

A token in a file can be read by an agent's shell as well as by a person's script. The marks that
clients set for their agents' commands tell the two apart. Elsewhere, and for processes of other
users, nothing is known.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

_PROC = Path("/proc")
_TABLES = ("net/tcp", "net/tcp6")


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
    for table in _TABLES:
        try:
            rows = (_PROC / table).read_text("ascii").splitlines()[1:]
        except (OSError, UnicodeDecodeError):
            continue
        for row in rows:
            fields = row.split()
            ports = [int(one.rpartition(":")[2], 16) for one in fields[1:3]]
            if ports == [client_port, server_port]:
                return fields[9]
    return None


def _own_processes() -> Iterator[Path]:
    mine = os.getuid()
    for process in _PROC.iterdir():
        try:
            if process.name.isdigit() and process.stat().st_uid == mine:
                yield process
        except OSError:
            continue  # it ended


def _holds(process: Path, wanted: str) -> bool:
    try:
        return any(str(one.readlink()) == wanted for one in (process / "fd").iterdir())
    except OSError:
        return False


def _variables(process: Path) -> Mapping[str, str]:
    try:
        raw = (process / "environ").read_bytes()
    except OSError:
        return {}
    pairs = (one.decode("utf-8", "replace").partition("=") for one in raw.split(b"\0"))
    return {name: value for name, _, value in pairs if name}
