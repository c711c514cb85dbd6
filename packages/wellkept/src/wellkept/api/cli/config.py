"""In a terminal every setting may be changed; over HTTP only those that the page offers."""

from __future__ import annotations

from typing import Any


def config_set(_: Any, given: dict[str, Any]) -> dict[str, Any]:
    """A person's own command."""
    return {**given, "any_key": True}


config_unset = config_set
