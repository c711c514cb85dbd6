"""A call's arguments as a capability sees them: whatever the model wrote, never an error."""

from __future__ import annotations

import json
from typing import Any, cast


def argument_fields(arguments: str) -> dict[str, Any]:
    """The arguments by name; empty when they are no JSON object."""
    try:
        read: object = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {}
