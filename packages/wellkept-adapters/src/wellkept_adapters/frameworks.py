"""Imports a framework, or says how to get it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def framework(name: str, *, extra: str) -> Generator[None]:
    """Around the imports of an adapter: a missing framework is named with the way to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("wellkept"):
            raise
        raise ImportError(
            f"This adapter needs {name}, and {error.name} is not installed."
            f" Run: pip install 'wellkept[{extra}]'",
            name=error.name,
        ) from error
