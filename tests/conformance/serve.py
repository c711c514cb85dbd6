"""Holdfast's server with the suite's fixtures, over HTTP: `python -m tests.conformance.serve`.

Prints its address once it listens. Its memory is new and empty, in the folder that is given.
"""

from __future__ import annotations

import sys
from pathlib import Path

import holdfast
from holdfast.app.settings.model import Settings
from holdfast.server.mcp.server import Place, make_server
from holdfast.server.mcp.transports import serve_http
from holdfast.server.open_projects import Memories
from tests.conformance.fixtures import mount


def main(folder: Path) -> None:
    """Serve until stopped."""

    def open_in(cwd: Path, project: str | None) -> holdfast.Holdfast:
        path = folder / "memory.db"
        settings = Settings()
        return holdfast.open(path, project=project, cwd=cwd, embedder="none", settings=settings)

    memories = Memories(open_in, folder=folder)
    server = mount(make_server(memories, Place(folder=folder)))
    try:
        serve_http(server, port=0, token=None, on_ready=lambda at: print(at, flush=True))
    finally:
        memories.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
