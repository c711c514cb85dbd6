"""Cheaper start-up for a process that only answers one hook.

`install` changes `re.compile` and `sys.modules` for the rest of the process. Call it only in a
process that is about to exit.
"""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any

_compile = re.compile


class LazyPattern:
    """A regular expression that is compiled at its first use.

    Compiling takes far longer than loading, and one answer uses few of the expressions it loads.
    """

    def __init__(self, pattern: Any, flags: Any = 0) -> None:
        self._arguments = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(_compile(*self._arguments), name)
        # Stored, so that the next use goes straight to the compiled expression's method.
        setattr(self, name, attribute)
        return attribute


class LazyModule(ModuleType):
    """A module that is imported at its first use."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        sys.modules.pop(self.__name__, None)
        real = __import__(self.__name__)
        self.__dict__.update(real.__dict__)
        return getattr(real, name)


def install() -> None:
    """Compile later patterns lazily, and replace two costly standard modules not loaded yet."""
    re.compile = LazyPattern  # pyright: ignore[reportAttributeAccessIssue]
    # `urllib.parse`, which `pathlib` imports, needs `ipaddress` only for addresses in brackets.
    sys.modules.setdefault("ipaddress", LazyModule("ipaddress"))
    try:
        # Python 3.11 runs all of `datetime` in Python first, then replaces it by this one.
        sys.modules.setdefault("datetime", __import__("_datetime"))
    except ImportError:
        return
