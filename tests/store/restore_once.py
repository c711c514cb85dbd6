"""A process that puts a backup in place and dies or runs out of room on the way.

Run as a script: BACKUP DATABASE kill|limit NUMBER. It kills itself once that many pages are
written, or may not let a file grow above that many bytes.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path

from wellkept.core.errors import StoreFullError
from wellkept.store import restore_store


def main(source: Path, path: Path, fault: str, number: int) -> None:
    def tell(done: int, _total: int) -> None:
        if fault == "kill" and done >= number:
            os.kill(os.getpid(), signal.SIGKILL)

    if fault == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (number, number))
    try:
        restore_store(source, path, progress=tell)
    except StoreFullError:
        print("full")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
