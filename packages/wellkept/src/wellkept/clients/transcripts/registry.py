"""Transcript readers by client name, imported on demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol, cast

from wellkept.clients.hook_spec import ClientFolders
from wellkept.core.chat.transcripts import Transcript, UnreadableFile

SOURCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "claude-code": "wellkept.clients.transcripts.claude_code",
        "codex": "wellkept.clients.transcripts.codex",
        "gemini": "wellkept.clients.transcripts.gemini",
        "opencode": "wellkept.clients.transcripts.opencode",
    }
)


class TranscriptSource(Protocol):
    """A transcript reader: a client's transcript folders and the sessions in them."""

    def transcript_folders(self, folders: ClientFolders) -> list[Path]: ...

    def transcripts(
        self, paths: Sequence[Path], *, folders: ClientFolders
    ) -> Iterator[Transcript | UnreadableFile]: ...


def transcripts(
    name: str, *, folders: ClientFolders, paths: Sequence[Path] = ()
) -> Iterator[Transcript | UnreadableFile]:
    """A client's sessions: in the given paths, else in the client's own folders."""
    source = cast("TranscriptSource", import_module(SOURCES[name]))
    return source.transcripts(paths or source.transcript_folders(folders), folders=folders)
