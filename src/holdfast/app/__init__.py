"""The application: settings, projects, and `open`, which wires engines and vendors together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.app.wiring.services import open  # noqa: A004 - the package reads `holdfast.open()`

if TYPE_CHECKING:
    from holdfast.app.facade import Holdfast

__all__ = ["Holdfast", "open"]


def __getattr__(name: str) -> object:
    if name == "Holdfast":
        from holdfast.app.facade import Holdfast

        return Holdfast
    raise AttributeError(f"module 'holdfast.app' has no attribute {name!r}")
