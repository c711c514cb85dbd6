"""Storage: the engines behind `wellkept.core.ports`, the event spool, files of other memory tools.

Open this file first, then `sqlite/store.py`. Code above `store` calls only the functions below and
never names an engine. To add an engine: put it beside `sqlite`, pass
`tests.support.conformance`, and choose it inside these functions.

Importing this package is free, because the hook process imports it for `spool`: engines are
imported by the functions that open them, numpy by the first vector search.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from wellkept.core.clock import Clock
    from wellkept.core.codec import Json
    from wellkept.core.ports.code_search import CodeSearchStore
    from wellkept.core.ports.graph import GraphStore
    from wellkept.core.ports.plugins import TeamStoreDoors
    from wellkept.core.ports.store import Store
    from wellkept.core.ports.transcripts import Transcripts
    from wellkept.core.query import Finding, StoreContents
    from wellkept.core.types import Progress
    from wellkept.store.sqlite.restore import ReplacedFile

__all__ = [
    "check_derived_file",
    "inspect_database",
    "is_address",
    "open_code_search",
    "open_graph",
    "open_store",
    "open_transcripts",
    "restore_store",
    "short_list",
    "verify_backup",
]


def open_store(
    path: "Path | str",
    *,
    busy_timeout_ms: int = 5_000,
    read_only: bool = False,
    clock: "Clock | None" = None,
    tenant: str | None = None,
) -> "Store":
    """Open the store in a file, or in the PostgreSQL database of an address such as
    `postgresql://user@host/database`; create or migrate it as needed.

    A committed write survives the death of any process and a power cut.

    A file that cannot be written is opened for reading: each write then raises
    StoreReadOnlyError. `read_only` requests that and leaves the file unchanged. PostgreSQL waits
    for the disk as its server is set up. `tenant` is an organisation of a server, for whoever owns
    the database; a file has none.
    """
    from pathlib import Path

    from wellkept.core.clock import system_clock

    if isinstance(path, str) and is_address(path):
        from wellkept.core.doors import require_plugin
        from wellkept.core.team.people import LOCAL_TENANT

        plugin: TeamStoreDoors = require_plugin("team")
        return plugin.open_store(
            path,
            busy_timeout_ms=busy_timeout_ms,
            read_only=read_only,
            clock=clock or system_clock,
            tenant=tenant or LOCAL_TENANT,
        )
    from wellkept.store.sqlite.store import SqliteStore

    return SqliteStore.open(
        Path(path),
        busy_timeout_ms=busy_timeout_ms,
        read_only=read_only,
        clock=clock or system_clock,
    )


def is_address(text: str) -> bool:
    """Whether a text is the address of a database server and not a path."""
    return text.startswith(("postgresql://", "postgres://"))


def open_graph(
    path: "Path | str",
    *,
    busy_timeout_ms: int = 5_000,
    read_only: bool = False,
    clock: "Clock | None" = None,
) -> "GraphStore":
    """Open the code graphs in a file; create or migrate it as needed."""
    from pathlib import Path

    from wellkept.core.clock import system_clock
    from wellkept.store.sqlite.graph_store import SqliteGraph

    return SqliteGraph.open(
        Path(path),
        busy_timeout_ms=busy_timeout_ms,
        clock=clock or system_clock,
        read_only=read_only,
    )


def open_code_search(
    path: "Path | str",
    *,
    busy_timeout_ms: int = 5_000,
    read_only: bool = False,
    clock: "Clock | None" = None,
) -> "CodeSearchStore":
    """Open the code search index in a file; create it as needed."""
    from pathlib import Path

    from wellkept.core.clock import system_clock
    from wellkept.store.sqlite.code_search import SqliteCodeSearch

    return SqliteCodeSearch.open(
        Path(path),
        busy_timeout_ms=busy_timeout_ms,
        clock=clock or system_clock,
        read_only=read_only,
    )


def check_derived_file(path: "Path", *, deep: bool) -> "Finding | None":
    """What is wrong with a code graph (`.graph.db`) or code search (`.words.db`) file, or None.
    Both can be rebuilt from source. Changes nothing."""
    from wellkept.store.sqlite import code_search
    from wellkept.store.sqlite import graph_tables as tables
    from wellkept.store.sqlite.opening import check_file

    kind = code_search if path.name.endswith(".words.db") else tables
    return check_file(path, steps=kind.STEPS, application_id=kind.APPLICATION_ID, deep=deep)


def inspect_database(path: "Path") -> "StoreContents":
    """Contents of a database file of any schema version. Changes nothing."""
    from wellkept.store.sqlite.restore import inspect

    return inspect(path)


def verify_backup(source: "Path", path: "Path") -> "StoreContents":
    """Contents of a backup for the database at `path`. Changes nothing.

    StoreError when it is corrupt, of another program or of a newer Wellkept.
    """
    from wellkept.store.sqlite.restore import verify

    return verify(source, path)


def restore_store(
    source: "Path",
    path: "Path",
    *,
    busy_timeout_ms: int = 5_000,
    clock: "Clock | None" = None,
    progress: "Progress | None" = None,
) -> "ReplacedFile":
    """Restore a backup over a database in any state, all or nothing.

    Not a method of the store, because a damaged database cannot be opened. The old content is
    copied beside it first.
    """
    from wellkept.core.clock import system_clock
    from wellkept.store.sqlite.restore import restore

    return restore(
        source,
        path,
        busy_timeout_ms=busy_timeout_ms,
        clock=clock or system_clock,
        progress=progress,
    )


def open_transcripts(
    folder: "Path", *, redact: "Callable[[Json], Json]", clock: "Clock | None" = None
) -> "Transcripts":
    """The conversations of the agent below a folder; texts are redacted before they are written."""
    from wellkept.core.clock import system_clock
    from wellkept.store.transcripts import TranscriptFiles

    return TranscriptFiles(folder, redact=redact, clock=clock or system_clock)


def short_list(
    path: str, kind: str, prefix: str, *, project: str, folders: "Sequence[str]"
) -> list[tuple[str, str]]:
    """Ids or names for shell completion, from the store in a file; see `sqlite.short_lists`."""
    from wellkept.store.sqlite import completion_names as short_lists

    return short_lists.short_list(path, kind, prefix, project=project, folders=folders)
