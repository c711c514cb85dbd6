"""A worker whose parser crashes or never ends on certain files: `python -m` this."""

from __future__ import annotations

import os
import threading

from wellkept.graph.index.parse_file import ParsedFile, parse_file
from wellkept.graph.index.worker import main


def parse(root: str, path: str) -> ParsedFile:
    """Stands in for a grammar of C code with a mistake in it."""
    if path == "crash.py":
        os.abort()
    if path == "hang.py":
        threading.Event().wait()
    return parse_file(root, path)


if __name__ == "__main__":
    main(parse)
