"""Parser process: `python -m wellkept.graph.index.worker`.

Reads requests (root, paths) from stdin and writes one `ParsedFile` per path to stdout, both as
length-prefixed pickles exchanged only with the parent process. A crashing parser ends this process
and nothing else.
"""

from __future__ import annotations

import gc
import pickle
import signal
import struct
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from wellkept.graph.index.parse_file import ParsedFile

LENGTH = struct.Struct(">I")
_MAX_FILE_S = 120
"""The parent gives up much earlier; this ends the worker if the parent was killed."""


def send(stream: BinaryIO, value: object) -> None:
    """Write one value."""
    data = pickle.dumps(value, protocol=5)
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


def main(parse: Callable[[str, str], ParsedFile] | None = None) -> None:
    """Serve requests until stdin ends. `parse` replaces `parse_file`, for tests."""
    if parse is None:
        from wellkept.graph.index.parse_file import parse_file as parse

    # Parsing creates few reference cycles, so the cycle collector can run rarely.
    gc.set_threshold(100_000)
    reader, writer = sys.stdin.buffer, sys.stdout.buffer
    while head := reader.read(LENGTH.size):
        root, paths = pickle.loads(reader.read(LENGTH.unpack(head)[0]))
        for path in paths:
            _set_alarm(_MAX_FILE_S)
            send(writer, tuple(parse(root, path)))
        _set_alarm(0)


def _set_alarm(seconds: int) -> None:
    """Let the system end this process then, even inside C code; 0 cancels."""
    alarm: Callable[[int], int] | None = getattr(signal, "alarm", None)  # not on Windows
    if alarm is not None:
        alarm(seconds)


if __name__ == "__main__":
    main()
