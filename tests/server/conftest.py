"""A connection to a server in process, in each era of the protocol."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.server.mcp_client import ERAS, Talk, talking_in


@pytest.fixture(params=ERAS)
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Talk]:
    """A client and a server with an empty memory."""
    with talking_in(tmp_path, era=request.param) as connection:
        yield connection
