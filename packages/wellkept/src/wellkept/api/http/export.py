"""Export as a download: JSONL, as `wellkept export` writes it, under any filter."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import RootModel

from wellkept.api.http.operation_routes import ProjectHeader
from wellkept.api.operations.inputs import MemoryFilterInput
from wellkept.api.server.threads import WorkerThreads

if TYPE_CHECKING:
    from wellkept.api import Wellkept

MEDIA_TYPE = "application/x-ndjson"
_CHUNK = 1 << 16
_IN_MEMORY = 4 << 20


class ExportLine(RootModel[dict[str, Any]]):
    """One line of the file: a memory, whole. `wellkept import` reads it again."""


def add_export(router: APIRouter, workers: WorkerThreads) -> None:
    """Add the route."""

    @router.get(
        "/export",
        operation_id="export",
        tags=["memories"],
        response_class=StreamingResponse,
        responses={
            200: {
                "model": ExportLine,
                "description": "JSON lines, one for each memory.",
                "content": {MEDIA_TYPE: {}},
            }
        },
    )
    async def export(
        request: Annotated[MemoryFilterInput, Query()], in_project: ProjectHeader = ""
    ) -> StreamingResponse:
        """Every memory that matches, as a file that can be imported again."""

        def write(wk: Wellkept) -> IO[str]:
            file = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - the response closes it
                max_size=_IN_MEMORY, mode="w+", encoding="utf-8", newline="\n"
            )
            wk.export(file, **request.filters())  # type: ignore[arg-type]
            file.seek(0)
            return file  # type: ignore[return-value]

        file = await workers.run(request.project or unquote(in_project), write)
        headers = {
            "content-disposition": 'attachment; filename="wellkept-memories.jsonl"',
            "cache-control": "no-store",
        }
        return StreamingResponse(_chunks(file), media_type=MEDIA_TYPE, headers=headers)


def _chunks(file: IO[str]) -> Iterator[str]:
    with file:
        while text := file.read(_CHUNK):
            yield text
