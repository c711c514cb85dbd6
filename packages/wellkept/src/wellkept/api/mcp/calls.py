"""Which operation a tool name means. Imported with the first call: it loads the operation table."""

from __future__ import annotations

from typing import Any

from wellkept.api.operations.operation import Operation
from wellkept.api.operations.table import TOOLS
from wellkept.api.verbs.tools import spellings


def find_tool(name: str) -> Operation[Any, Any] | None:
    """The operation of a tool by any of its names, with or without the client's prefix."""
    return next((TOOLS[one] for one in spellings(name) if one in TOOLS), None)
