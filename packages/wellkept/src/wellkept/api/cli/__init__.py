"""The `wellkept` command line: parses options, calls the library, prints. No logic of its own.

Open `root.py` first: it lists the commands and maps each to its module. Invariant:
with `--json`, standard output is one JSON document; errors are one line on standard error with a
documented exit code.
"""

# Not from typing: a Tab in a shell pays for this import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> None:
    """Entry point of the `wellkept` command."""
    import os

    if "_WELLKEPT_COMPLETE" in os.environ:
        from wellkept.api.cli.completion.answer import main as complete

        complete(os.environ)
        os._exit(0)
    import sys

    if len(sys.argv) == 3 and sys.argv[1] == "hook" and not sys.argv[2].startswith("-"):
        from wellkept.api.cli.hook_entry import run_hook

        run_hook(sys.argv[2])
        os._exit(0)
    import gc

    # Most objects live until the end: the default threshold costs 5 % of a short command.
    gc.set_threshold(50_000)
    # One thread is enough, and starting more slows down the import of numpy.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from wellkept.core import startup

    startup.install()
    from wellkept.api.cli.root import run

    _exit(run(sys.argv[1:]))


def _exit(code: int) -> "NoReturn":
    """End the process without interpreter teardown (10 % of a short command), unless other
    threads still run."""
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
