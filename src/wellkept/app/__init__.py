"""The application: settings, projects, and `open`, which wires engines and vendors together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.app.wiring.services import open  # noqa: A004 - the package reads `wellkept.open()`

if TYPE_CHECKING:
    from wellkept.app.facade import Wellkept

__all__ = ["Wellkept", "open"]


def __getattr__(name: str) -> object:
    if name == "Wellkept":
        from wellkept.app.facade import Wellkept

        return Wellkept
    raise AttributeError(f"module 'wellkept.app' has no attribute {name!r}")
