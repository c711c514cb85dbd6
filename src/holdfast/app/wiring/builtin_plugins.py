"""The plugin that comes with Holdfast: it takes the same door as any other."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.app.wiring.plugins import hookimpl
from holdfast.observe.methodology.builtin import BUILTIN
from holdfast.observe.methodology.protocol import Methodology


@hookimpl
def holdfast_methodologies() -> Iterable[Methodology]:
    """native, bmad, tdd and agile."""
    return BUILTIN
