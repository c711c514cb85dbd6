"""The fixtures that the conformance tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.samples import Samples
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter, Validity

HERE = Filter(project="example")
EVERYTHING = Filter(project=None, validity=Validity.ANY, archived=None)


class ConformanceFixture:
    """A store, a second handle on it, and samples to fill it with."""

    @pytest.fixture
    def open_at(self) -> Callable[[Path], Store]:
        raise NotImplementedError("An engine's tests give a way to open it.")

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        return tmp_path / "store.db"

    @pytest.fixture
    def store(self, open_at: Callable[[Path], Store], place: Path) -> Iterator[Store]:
        opened = open_at(place)
        yield opened
        opened.close()

    @pytest.fixture
    def other(self, open_at: Callable[[Path], Store], place: Path) -> Iterator[Store]:
        """A second handle on the same database."""
        opened = open_at(place)
        yield opened
        opened.close()

    @pytest.fixture
    def samples(self) -> Samples:
        return Samples()
