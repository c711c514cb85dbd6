"""A process that writes memories one by one and says each id once it is kept.

Run as a module: DATABASE PROJECT COUNT [MAX_FILE_BYTES]. A count of 0 writes until it is killed.
With a limit on file sizes it stops at the first StoreFullError, as on a full disk.
"""

from __future__ import annotations

import itertools
import resource
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.support.samples import make_vector
from wellkept.core.changes import IndexEntry, Insert
from wellkept.core.clock import whole_ms
from wellkept.core.errors import StoreFullError
from wellkept.core.ids import IdSource
from wellkept.core.memory import Memory
from wellkept.core.types import MemoryType
from wellkept.store import open_store


def main(path: Path, project: str, count: int, max_file_bytes: int) -> None:
    store = open_store(path, busy_timeout_ms=60_000)
    ids = IdSource(lambda: time.time_ns() // 1_000_000)
    if max_file_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
    for number in range(count) if count else itertools.count():
        now = whole_ms(datetime.now(UTC))
        memory = Memory(
            id=ids(), project=project, type=MemoryType.FACT, created_at=now, updated_at=now,
            valid_from=now, accessed_at=now, tags=("written",), files=(f"{project}.py",),
            content=f"{project} row{number} " + "filler text " * (200 if max_file_bytes else 2),
        )  # fmt: skip
        vector = make_vector([1.0, number % 7, number % 5])
        try:
            store.apply([Insert(memory, IndexEntry("extra", "m", vector))])
        except StoreFullError as error:
            print("full", error, flush=True)
            return
        print(memory.id, flush=True)
    store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int([*sys.argv, "0"][4]))
