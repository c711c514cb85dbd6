"""A connection to a server in process, in each era of the protocol and over each transport."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.server.mcp_client import Talk, talking_in

# The SDK speaks both eras by itself; ours over stdio is what is tested most.
_WAYS = (("auto", "stdio"), ("legacy", "stdio"), ("auto", "sdk"))


@pytest.fixture(params=_WAYS, ids="-".join)
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Talk]:
    """A client and a server with an empty memory."""
    era, transport = request.param
    with talking_in(tmp_path, era=era, transport=transport) as connection:
        yield connection
