"""The models that a benchmark of recall sets side by side: embedders, and a reranker or none."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from wellkept import open as open_memory
from wellkept.api import Wellkept
from wellkept.api.wiring import services
from wellkept.core.clock import Clock, system_clock
from wellkept.core.settings.model import Settings


class Way(NamedTuple):
    """An embedder, and a reranker or none."""

    embedder: str
    reranker: str | None = None
    reranker_url: str | None = None

    @property
    def label(self) -> str:
        """What the tables call it."""
        return f"{self.embedder}, reranked by {self.reranker}" if self.reranker else self.embedder


def add_models(options: argparse.ArgumentParser) -> None:
    """The options that choose models."""
    has_models = importlib.util.find_spec("fastembed") is not None
    usual = "static,minilm" if has_models else "static"
    reranker = "minilm" if has_models else "none"
    options.add_argument(
        "--models", default=usual, help=f"embedders, the main one first (default: {usual})"
    )
    options.add_argument(
        "--reranker",
        default=reranker,
        help=f"also the first one reranked by this model, or none (default: {reranker})",
    )
    options.add_argument("--reranker-url", help="a server with /rerank that has the model")


def chosen_ways(asked: argparse.Namespace) -> list[Way]:
    """What the options of `add_models` choose, the main one first."""
    ways = [Way(name) for name in asked.models.split(",")]
    if asked.reranker == "none":
        return ways
    return [*ways, Way(ways[0].embedder, asked.reranker, asked.reranker_url)]


@contextmanager
def opened(way: Way, *, clock: Clock = system_clock) -> Generator[Wellkept, None, None]:
    """An empty memory with these models; an error when one cannot be used."""
    settings = Settings(reranker_name=way.reranker, reranker_base_url=way.reranker_url)
    services.RERANKER_LIMIT_S = 600.0  # quality is measured here, not patience
    with (
        TemporaryDirectory() as folder,
        open_memory(
            Path(folder) / "memory.db",
            project="bench",
            embedder=way.embedder,
            settings=settings,
            clock=clock,
        ) as memory,
    ):
        if reranker := memory.engine.reranker():
            # Recall would go on without it, and the table would call that reranked.
            reranker.scores("question", ["one text", "another"])
        yield memory
