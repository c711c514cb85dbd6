"""Cheaper start-up for a process of ours: the command, and the hook.

`install` changes `re.compile` and `sys.modules` for the rest of the process, so it is for processes
that run one of our programs and never for whoever imports the library.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_compile = re.compile
KNOWN: dict[tuple[str | bytes, int], tuple[Any, ...]] = {}
"""What patterns were compiled to, by this Python; kept for the next process with its bytecode."""


class LazyPattern:
    """A regular expression that is compiled at its first use.

    Compiling takes far longer than loading, and a process uses few of the expressions it loads.
    """

    def __init__(self, pattern: Any, flags: Any = 0) -> None:
        self._arguments = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(_compiled(*self._arguments), name)
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


def _compiled(pattern: str | bytes, flags: int) -> Any:
    """A compiled pattern; one that is known takes a twentieth of the time."""
    key = (pattern, int(flags))
    try:
        engine = import_module("_sre")
        if key not in KNOWN:
            KNOWN[key] = _code_of(*key)
        return engine.compile(pattern, *KNOWN[key])
    except (AttributeError, ImportError, RuntimeError, TypeError, ValueError):
        return _compile(pattern, flags)  # another Python, or a damaged file


def _code_of(pattern: str | bytes, flags: int) -> tuple[Any, ...]:
    """What `re.compile` hands to its engine."""
    parser, compiler = import_module("re._parser"), import_module("re._compiler")
    parsed = parser.parse(pattern, flags)
    names: dict[str, int] = parsed.state.groupdict
    by_number = {number: name for name, number in names.items()}
    groups = parsed.state.groups
    code = list(map(int, compiler._code(parsed, flags)))
    order = tuple(by_number.get(number) for number in range(groups))
    return int(flags | parsed.state.flags), code, groups - 1, dict(names), order


def install() -> None:
    """Compile the patterns of our modules at their first use."""
    re.compile = _compile_later  # pyright: ignore[reportAttributeAccessIssue]
    # `urllib.parse`, which `pathlib` imports, needs `ipaddress` only for addresses in brackets.
    sys.modules.setdefault("ipaddress", LazyModule("ipaddress"))


def install_for_one_answer() -> None:
    """The same for everything that is imported from now on. Only in a process that is about to
    exit."""
    install()
    re.compile = LazyPattern  # pyright: ignore[reportAttributeAccessIssue]
    try:
        # Python 3.11 runs all of `datetime` in Python first, then replaces it by this one.
        sys.modules.setdefault("datetime", __import__("_datetime"))
    except ImportError:
        return


def _compile_later(pattern: Any, flags: Any = 0) -> Any:
    """A pattern of a module of ours, later; what a function asks for, now: it may be wrong."""
    caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    names = caller.f_globals
    is_ours = caller.f_locals is names and str(names.get("__name__")).startswith("wellkept")
    return (LazyPattern if is_ours else _compile)(pattern, flags)
