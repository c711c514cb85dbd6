"""The program that every coding client starts at every event.

    /path/to/python -I -S /path/to/wellkept/clients/hook.py CLIENT EVENT [capture|both|answer]

It runs from source, isolated and without `site`, so this file is tiny: it finds the package from
its own path and calls a compiled module. It always exits with 0 and prints only the response: a
client must never notice that Wellkept is broken, half upgraded or slow. With `WELLKEPT_DEBUG`
set, errors go to stderr.

The command `wellkept-hook CLIENT EVENT [MODE]` does the same a little slower, for plugins that are
shared and so hold no path of a machine.
"""

import os
import sys


def main() -> None:
    """Handle one event, then leave at once."""
    # Inside a client that Wellkept itself asks as a model: see nothing, say nothing.
    if "WELLKEPT_SELF" in os.environ:
        os._exit(0)
    try:
        sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
        from wellkept.clients.hook_process import main as handle

        handle(sys.argv[1:])
    except BaseException:  # noqa: BLE001 - no error may reach the client
        if "WELLKEPT_DEBUG" in os.environ:
            import traceback

            traceback.print_exc()
    finally:
        # Skips the interpreter's shutdown, a sixth of its start.
        os._exit(0)


if __name__ == "__main__":
    main()
