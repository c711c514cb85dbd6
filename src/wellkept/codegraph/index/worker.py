"""A process that parses files: `python -m wellkept.codegraph.index.worker`.

It reads requests (root, path) from standard input and answers each with a `ParsedFile`, both as
length-prefixed pickles between a process and its own child. A parser that crashes takes this
process down and nothing else.
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
    from wellkept.codegraph.index.parse_file import ParsedFile

LENGTH = struct.Struct(">I")
_LONGEST_S = 120
"""Whoever started this process gives a file up long before; but it may have been killed itself."""


def send(stream: BinaryIO, value: object) -> None:
    """Write one value."""
    data = pickle.dumps(value, protocol=5)
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


def main(parse: Callable[[str, str], ParsedFile] | None = None) -> None:
    """Answer until the input ends; `parse` takes the place of what reads a file of a root."""
    if parse is None:
        from wellkept.codegraph.index.parse_file import parse_file as parse

    # What a file leaves behind is freed by counting; looking for circles would find next to none.
    gc.set_threshold(100_000)
    reader, writer = sys.stdin.buffer, sys.stdout.buffer
    while head := reader.read(LENGTH.size):
        root, paths = pickle.loads(reader.read(LENGTH.unpack(head)[0]))
        for path in paths:
            _end_in(_LONGEST_S)
            send(writer, tuple(parse(root, path)))
        _end_in(0)


def _end_in(seconds: int) -> None:
    """Let the system end this process then, even inside C code; 0 takes that back."""
    alarm: Callable[[int], int] | None = getattr(signal, "alarm", None)  # not on Windows
    if alarm is not None:
        alarm(seconds)


if __name__ == "__main__":
    main()
