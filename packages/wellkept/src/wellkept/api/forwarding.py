"""Former packages of `wellkept` that are distributions now: their names and submodules forward.

For one minor version. A use warns, and imports the real module; nothing is loaded twice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import ModuleType
from typing import Any
from warnings import warn

from wellkept.core.doors import DISTRIBUTIONS, not_installed


def forwarding(old: str, *, extra: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module that moved to the package of an extra."""
    # In front: the path of a real package would load its modules a second time.
    sys.meta_path.insert(0, _Submodules(old, extra))

    def forward(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_moved(old, old, extra), name)

    return forward


class _Submodules(MetaPathFinder, Loader):
    """Finds the submodules of one former package."""

    def __init__(self, old: str, extra: str) -> None:
        self._old, self._extra = old, extra

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - part of the protocol
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        is_below = fullname.startswith(f"{self._old}.")
        return spec_from_loader(fullname, self) if is_below else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        found = _moved(spec.name, self._old, self._extra)
        spec.loader_state = found.__spec__
        return found

    def exec_module(self, module: ModuleType) -> None:
        """It ran under its own name; its spec stays that of the real module."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def _moved(name: str, old: str, extra: str) -> ModuleType:
    """The real module of a former name."""
    package = DISTRIBUTIONS[extra]
    if find_spec(package) is None:
        problem = not_installed(extra)
        raise ModuleNotFoundError(f"{problem.message} {problem.hint}", name=package)
    real = package + name.removeprefix(old)
    warn(f"{name} is now {real}.", DeprecationWarning, stacklevel=3)
    return import_module(real)
