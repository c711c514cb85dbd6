"""Opening a memory in a temporary folder, with a clock and an embedder that tests can steer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import wellkept
from wellkept.core.errors import ProviderError
from wellkept.core.ports.models import Embedder, Vector
from wellkept.core.settings.model import Settings
from wellkept.testing.fakes import ManualClock, WordEmbedder


def open_in(
    folder: Path,
    *,
    project: str | None = "demo",
    embedder: Embedder | str | None = "none",
    clock: ManualClock | None = None,
    settings: Settings | None = None,
) -> wellkept.Wellkept:
    """A memory in `folder`, which is also the project's folder."""
    return wellkept.open(
        folder / "data" / "memory.db",
        project=project,
        cwd=folder,
        embedder=embedder,
        settings=settings or Settings(),
        clock=clock or ManualClock(),
        environment={},
    )


class FailingEmbedder(WordEmbedder):
    """Works for so many texts, then fails like a server that went away."""

    def __init__(self, *, texts: int, model_id: str = "failing") -> None:
        super().__init__(model_id=model_id)
        self.left = texts

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self.left -= len(texts)
        if self.left < 0:
            raise ProviderError("The server went away.")
        return super().embed_documents(texts)
