"""The command line: one file per noun under `commands`, no logic.

Invariant: `--json` prints one JSON document on standard output and nothing else; errors are one
clear line on standard error, with an exit code that means something.
"""

from __future__ import annotations


def main() -> None:
    """Entry point of the `holdfast` command."""
    import sys

    from holdfast.cli.root import run

    sys.exit(run(sys.argv[1:]))
