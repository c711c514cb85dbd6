"""A switch that forbids requests to other machines, for tests.

`tests.support.real_requests` turns it; in a child process the variable does. Loopback servers
stay reachable.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError

if TYPE_CHECKING:
    from wellkept.models.http.client import Endpoint

VARIABLE = "WELLKEPT_FORBID_REAL_REQUESTS"
_forbidding = 0


def forbid() -> None:
    """Forbid requests to other machines until `allow` is called as often."""
    global _forbidding  # noqa: PLW0603 - one switch for the whole process is the point
    _forbidding += 1


def allow() -> None:
    """Take one `forbid` back."""
    global _forbidding  # noqa: PLW0603
    _forbidding = max(0, _forbidding - 1)


def check_allowed(endpoint: Endpoint) -> None:
    """Raise when a request to this server is forbidden."""
    if (_forbidding or os.environ.get(VARIABLE)) and not endpoint.is_loopback:
        raise UsageError(
            f"Real requests are forbidden here, and {endpoint.shown_url} is another machine.",
            hint="Use a scripted model or a loopback server of wellkept.testing.",
        )
