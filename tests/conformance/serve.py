"""Wellkept's server with the suite's fixtures, over HTTP: `python -m tests.conformance.serve`.

Prints its address once it listens. Its memory is new and empty, in the folder that is given.
"""

from __future__ import annotations

import sys
from pathlib import Path

import wellkept
from tests.conformance.fixtures import mount
from wellkept.api.mcp.handlers import ServerLocation
from wellkept.api.mcp.server import make_server
from wellkept.api.mcp.streamable_http import serve_http
from wellkept.api.server.open_projects import OpenProjects
from wellkept.core.settings.model import Settings


def main(folder: Path) -> None:
    """Serve until stopped."""

    def open_in(cwd: Path, project: str | None) -> wellkept.Wellkept:
        path = folder / "memory.db"
        settings = Settings()
        return wellkept.open(path, project=project, cwd=cwd, embedder="none", settings=settings)

    memories = OpenProjects(open_in, folder=folder)
    server = mount(make_server(memories, ServerLocation(folder=folder)))
    try:
        serve_http(server, port=0, token=None, on_ready=lambda at: print(at, flush=True))
    finally:
        memories.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
