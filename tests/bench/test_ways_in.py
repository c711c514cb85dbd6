"""No planted secret reaches the disk, whichever way it comes in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.planted import PARTS, plants
from bench.ways_in import WAYS, run_way
from wellkept.text.secrets.known_values import use_known

pytestmark = pytest.mark.feature("A10")

SAMPLE = [plant for part in PARTS for plant in plants(part, each=1)][::6]


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    use_known(None)


@pytest.mark.parametrize("name", WAYS)
def test_no_planted_secret_reaches_the_disk(name: str) -> None:
    # An agent's session runs every tool for each of them.
    planted = SAMPLE[::2] if name == "agent_session" else SAMPLE
    assert [(plant.kind, plant.text) for plant in run_way(WAYS[name], planted)] == []
