"""The plugin that comes with Wellkept: it takes the same door as any other."""

from __future__ import annotations

from collections.abc import Iterable

from wellkept.app.wiring.plugins import hookimpl
from wellkept.observe.methodology.builtin import BUILTIN
from wellkept.observe.methodology.protocol import Methodology


@hookimpl
def wellkept_methodologies() -> Iterable[Methodology]:
    """native, bmad, tdd and agile."""
    return BUILTIN
