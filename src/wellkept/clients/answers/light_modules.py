"""Two standard modules that cost more than they give in a process that only answers.

Python 3.11 defines all of `datetime` in Python first and then takes the compiled one: that one
alone will do. `urllib.parse`, which `pathlib` imports, wants `ipaddress` for addresses in brackets:
it is loaded when one is met. `install` is for the rest of the process, so only a process that is
about to end may call it.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """Stands for a module and loads it at the first touch."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        sys.modules.pop(self.__name__, None)
        real = __import__(self.__name__)
        self.__dict__.update(real.__dict__)
        return getattr(real, name)


def install() -> None:
    """Put the stand-ins in place, where the real ones are not loaded yet."""
    sys.modules.setdefault("ipaddress", LazyModule("ipaddress"))
    try:
        sys.modules.setdefault("datetime", __import__("_datetime"))
    except ImportError:
        return
