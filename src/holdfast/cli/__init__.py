"""The command line: one file per noun under `commands`, no logic.

Invariant: `--json` prints one JSON document on standard output and nothing else; errors are one
clear line on standard error, with an exit code that means something.
"""

from __future__ import annotations


def main() -> None:
    """Entry point of the `holdfast` command."""
    import os
    import sys

    # One thread is enough for what a command computes, and starting more makes numpy slow to load.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from holdfast.cli.root import run

    sys.exit(run(sys.argv[1:]))
