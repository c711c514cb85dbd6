"""The program that every coding client starts at every event.

    /path/to/python -I -S /path/to/wellkept/clients/hook.py CLIENT EVENT [capture|both|answer]

It is started from source, isolated and without `site`, so this file is kept tiny: it finds the
package from its own place and hands over to compiled code that Python keeps fresh by itself. It
always exits with 0 and writes nothing but the answer: a client must never notice that Wellkept is
broken, half upgraded or slow. With `WELLKEPT_DEBUG` set, what went wrong is written to stderr.
"""

import os
import sys

if __name__ == "__main__":
    try:
        sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
        from wellkept.clients.hook_process import main

        main(sys.argv[1:])
    except BaseException:  # noqa: BLE001 - whatever it is, it must not reach the client
        if "WELLKEPT_DEBUG" in os.environ:
            import traceback

            traceback.print_exc()
    finally:
        # Tidying up an interpreter takes a sixth of its start.
        os._exit(0)
