"""Doors: what another distribution adds, asked for by name.

A distribution has a module `plugin` whose functions have the names of doors. It is looked for with
`find_spec` (0.1 ms), not with entry points (`importlib.metadata` costs about 50 ms): those stay for
packages of others, where plugins are loaded anyway. Nothing is imported until a door is used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from wellkept.core.errors import UsageError

DISTRIBUTIONS = {"agent": "wellkept_agent", "team": "wellkept_team"}
"""Extra of `wellkept` -> the package that it installs."""


@cache
def plugin(extra: str) -> ModuleType | None:
    """The plugin module of a distribution, or None where it is not installed."""
    package = DISTRIBUTIONS[extra]
    return import_module(f"{package}.plugin") if find_spec(package) is not None else None


def each(door: str, *arguments: Any, **named: Any) -> list[Any]:
    """What every installed distribution answers at a door; nothing where there is none."""
    found = [getattr(plugin(extra), door, None) for extra in DISTRIBUTIONS]
    return [answer(*arguments, **named) for answer in found if answer is not None]


def the(door: str, *, extra: str) -> Callable[..., Any]:
    """A door that a person asked for; UsageError says what to install."""
    found = getattr(plugin(extra), door, None)
    if found is None:
        raise UsageError(
            f"This needs the package {DISTRIBUTIONS[extra].replace('_', '-')}.",
            hint=f"Run `pip install 'wellkept[{extra}]'`.",
        )
    return found
