"""The list of MCP tools, made from the verbs: what `tools.json` holds."""

from __future__ import annotations

import json

from wellkept.api.mcp import toolsets
from wellkept.api.verbs.generate import all_verbs
from wellkept.api.verbs.tools import tool_of


def tools_json() -> str:
    """The text of `tools.json`."""
    entries = [
        {"toolset": one.toolset, "tool": tool_of(one)}
        for name in toolsets.TOOLSETS
        for _, one in all_verbs()
        if one.toolset == name
    ]
    return json.dumps(entries, ensure_ascii=False, indent=1) + "\n"
