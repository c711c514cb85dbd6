"""Forbid requests to model services on other machines, as a test suite should."""

from __future__ import annotations

from wellkept.models import http

VARIABLE = http.VARIABLE
"""Set in a child process, it forbids them there."""


def forbid_real_requests() -> None:
    """Forbid them for the rest of the process, e.g. in a conftest."""
    http.forbid()
