"""The command line: one file per noun under `commands`, no logic.

Invariant: `--json` prints one JSON document on standard output and nothing else; errors are one
clear line on standard error, with an exit code that means something.
"""

from __future__ import annotations

from typing import NoReturn


def main() -> None:
    """Entry point of the `wellkept` command."""
    import gc
    import os
    import sys

    # Nearly all that a command makes lasts until its end: looking through it for garbage at every
    # few hundred objects takes a twentieth of a short one.
    gc.set_threshold(50_000)
    # One thread is enough for what a command computes, and starting more makes numpy slow to load.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from wellkept.cli.root import run

    _leave(run(sys.argv[1:]))


def _leave(code: int) -> NoReturn:
    """End the process. Taking the interpreter apart would take a tenth of a short command's time,
    so that is left to the system, unless other threads are still at work."""
    import os
    import sys
    from contextlib import suppress
    from threading import active_count

    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    if active_count() > 1:
        sys.exit(code)
    os._exit(code)
