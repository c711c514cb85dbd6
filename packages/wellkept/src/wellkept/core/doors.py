"""Doors: what another distribution adds, asked for by name.

A distribution has a module `plugin` whose functions are the doors. Who opens one annotates the
answer with a Protocol of what it expects; `wellkept.api.plugins` joins these, and pyright checks
each module against that.
The module is looked for on the path (0.1 ms), not with entry points (`importlib.metadata`
costs about 50 ms): those stay for packages of others, where plugins are loaded anyway. Nothing is
imported until a door is used.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Any

from wellkept.core.errors import UsageError

DISTRIBUTIONS = {
    "agent": "wellkept_agent",
    "team": "wellkept_team",
    "adapters": "wellkept_adapters",
}
"""Extra of `wellkept` -> the package that it installs."""


@cache
def find_plugin(extra: str) -> Any | None:
    """The plugin of a distribution, or None where it is not installed."""
    package = DISTRIBUTIONS[extra]
    is_there = any(finder.find_spec(package, None) for finder in sys.meta_path)
    return import_module(f"{package}.plugin") if is_there else None


def require_plugin(extra: str) -> Any:
    """The plugin that a person asked for; UsageError says what to install."""
    found = find_plugin(extra)
    if found is None:
        raise not_installed(extra)
    return found


def not_installed(extra: str) -> UsageError:
    """Says which package is missing, and how to install it."""
    return UsageError(
        f"This needs the package {DISTRIBUTIONS[extra].replace('_', '-')}.",
        hint=f"Run `pip install 'wellkept[{extra}]'`.",
    )
