"""`wellkept hook EVENT` without the rest of the command line: a client waits for it.

Whatever goes wrong, it says nothing and the exit code is 0; with `WELLKEPT_DEBUG` the error is on
standard error.
"""

import os
import sys


def run_hook(event: str) -> None:
    """Handle one event; its payload is on standard input."""
    if "WELLKEPT_SELF" in os.environ:
        return
    try:
        from wellkept.clients.detached_drain import is_recorded
        from wellkept.clients.hook_process import BOTH, main

        if not is_recorded(os.environ):
            # Nobody installed a client: without this, nobody would take the events in.
            from wellkept.api.cli.run.install import record_drain_command

            record_drain_command(os.environ)
        main(["generic", event, BOTH])
    except BaseException:  # noqa: BLE001 - no error may reach the client
        if "WELLKEPT_DEBUG" in os.environ:
            import traceback

            traceback.print_exc()
        # Standard input may still be written to.
        sys.stderr.flush()
