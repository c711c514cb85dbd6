"""Export as a download: JSONL, as `wellkept admin export` writes it, under any filter."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, Unpack

from wellkept.api.http.endpoints import Asked, endpoint, streamed
from wellkept.core.team.people import Role
from wellkept.memory.arguments import FilterArgs

if TYPE_CHECKING:
    from starlette.responses import StreamingResponse

    from wellkept.api import Wellkept

MEDIA_TYPE = "application/x-ndjson"
_CHUNK = 1 << 16
_IN_MEMORY = 4 << 20


@endpoint(
    "GET",
    "/export",
    role=Role.READER,
    gives=dict[str, Any],
    media=MEDIA_TYPE,
    told="JSON lines, one for each memory, whole. `wellkept admin import` reads them again.",
)
async def export(asked: Asked, **filters: Unpack[FilterArgs]) -> StreamingResponse:
    """Every memory that matches, as a file that can be imported again."""

    def write(wk: Wellkept) -> IO[str]:
        file = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - the response closes it
            max_size=_IN_MEMORY, mode="w+", encoding="utf-8", newline="\n"
        )
        wk.export(file, **filters)  # type: ignore[arg-type]
        file.seek(0)
        return file  # type: ignore[return-value]

    file = await asked.server.workers.run(asked.project, write)
    name = 'attachment; filename="wellkept-memories.jsonl"'
    return streamed(_chunks(file), media=MEDIA_TYPE, **{"content-disposition": name})


def _chunks(file: IO[str]) -> Iterator[str]:
    with file:
        while text := file.read(_CHUNK):
            yield text
