"""Forbid requests to model services on other machines, as a test suite should."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from wellkept.models.http import real_requests

VARIABLE = real_requests.VARIABLE
"""Set in a child process, it forbids them there."""


def forbid_real_requests() -> None:
    """Forbid them for the rest of the process, e.g. in a conftest."""
    real_requests.forbid()


@contextmanager
def no_real_requests() -> Generator[None]:
    """Forbid them for a while. Loopback servers stay reachable."""
    real_requests.forbid()
    try:
        yield
    finally:
        real_requests.allow()
