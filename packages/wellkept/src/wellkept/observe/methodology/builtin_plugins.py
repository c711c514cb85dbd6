"""The built-in plugin: the four methodologies that come with Wellkept."""

from __future__ import annotations

from collections.abc import Iterable

from wellkept.observe.methodology.builtin import BUILTIN
from wellkept.observe.methodology.hookspecs import hookimpl
from wellkept.observe.methodology.protocol import Methodology


@hookimpl
def wellkept_methodologies() -> Iterable[Methodology]:
    """native, bmad, tdd and agile."""
    return BUILTIN
