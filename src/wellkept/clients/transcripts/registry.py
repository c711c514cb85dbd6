"""Which clients' transcripts can be read: names to modules, imported when they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol, cast

from wellkept.clients.hook_spec import Places
from wellkept.observe.ingest.transcripts import Transcript, Unread

SOURCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "claude-code": "wellkept.clients.transcripts.claude_code",
        "codex": "wellkept.clients.transcripts.codex",
        "gemini": "wellkept.clients.transcripts.gemini",
    }
)


class Source(Protocol):
    """Where a client keeps its transcripts, and the sessions in them."""

    def places(self, where: Places) -> list[Path]: ...

    def transcripts(
        self, paths: Sequence[Path], *, where: Places
    ) -> Iterator[Transcript | Unread]: ...


def transcripts(
    name: str, *, where: Places, paths: Sequence[Path] = ()
) -> Iterator[Transcript | Unread]:
    """A client's sessions: in the given places, else where the client keeps them."""
    source = cast("Source", import_module(SOURCES[name]))
    return source.transcripts(paths or source.places(where), where=where)
