"""Regular expressions that are compiled when they are first used, not when a module is loaded.

Compiling takes far longer than loading, and an answer uses few of the expressions that the modules
on its way define. `install` changes `re.compile` for the rest of the process, so only a process
that is about to end may call it.
"""

from __future__ import annotations

import re
from typing import Any

_compile = re.compile


class LazyPattern:
    """Stands for a compiled expression and becomes one at the first touch."""

    def __init__(self, pattern: Any, flags: Any = 0) -> None:
        self._arguments = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        made = _compile(*self._arguments)
        found = getattr(made, name)
        # Kept, so that the next use goes straight to the compiled expression's own method.
        setattr(self, name, found)
        return found


def install() -> None:
    """Have every later `re.compile` in this process wait."""
    re.compile = LazyPattern  # pyright: ignore[reportAttributeAccessIssue]
