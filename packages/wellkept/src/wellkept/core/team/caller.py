"""Who asks: a person or an agent, and whether their role suffices.

The guard (`auth`) puts the principal into the ASGI scope. Each door (HTTP, MCP) hands it on with
`asked_by`, and everything below asks `asking()`, in whatever thread it runs. Where nothing was
handed on, it is whoever works on this machine; a team's projects refuse that.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from wellkept.core.team.people import LOCAL, Principal

PRINCIPAL: Final = "wellkept.principal"
"""Key of the principal in the ASGI scope."""

_ASKING: ContextVar[Principal] = ContextVar("wellkept_asking", default=LOCAL)


def asking() -> Principal:
    """Who asks."""
    return _ASKING.get()


def principal_in(scope: Mapping[str, Any] | None) -> Principal:
    """The principal of an ASGI scope; whoever works on this machine when there was no guard."""
    return LOCAL if scope is None else scope.get(PRINCIPAL, LOCAL)


def asked_in_this_task(principal: Principal) -> None:
    """Hand the principal on to the rest of this task and the threads it starts."""
    _ASKING.set(principal)


@contextmanager
def asked_by(principal: Principal) -> Generator[None]:
    """Hand the principal on inside the block."""
    before = _ASKING.set(principal)
    try:
        yield
    finally:
        _ASKING.reset(before)
