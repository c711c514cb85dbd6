"""Which clients' transcripts can be read: names to modules, imported when they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol, cast

from wellkept.clients.hook_spec import ClientFolders
from wellkept.core.transcripts import Transcript, UnreadableFile

SOURCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "claude-code": "wellkept.clients.transcripts.claude_code",
        "codex": "wellkept.clients.transcripts.codex",
        "gemini": "wellkept.clients.transcripts.gemini",
    }
)


class TranscriptSource(Protocol):
    """Where a client keeps its transcripts, and the sessions in them."""

    def places(self, where: ClientFolders) -> list[Path]: ...

    def transcripts(
        self, paths: Sequence[Path], *, where: ClientFolders
    ) -> Iterator[Transcript | UnreadableFile]: ...


def transcripts(
    name: str, *, where: ClientFolders, paths: Sequence[Path] = ()
) -> Iterator[Transcript | UnreadableFile]:
    """A client's sessions: in the given places, else where the client keeps them."""
    source = cast("TranscriptSource", import_module(SOURCES[name]))
    return source.transcripts(paths or source.places(where), where=where)
