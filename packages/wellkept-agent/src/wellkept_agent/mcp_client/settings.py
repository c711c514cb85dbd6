"""Limits of MCP servers."""

from __future__ import annotations

from typing import ClassVar

from wellkept.core.records import record
from wellkept.core.settings.model import setting


@record(kw_only=True)
class McpSettings:
    """How long servers may take, how much they may say, how often they are started again."""

    VARIABLES: ClassVar = "MCP_"
    enabled: bool = setting(True, "Connect to MCP servers", why="no servers at all")
    project_servers: bool = setting(
        True,
        "Offer the servers in a project's .mcp.json; each starts only after your yes",
        why="checkouts you do not trust",
    )
    connect_time_limit_s: float = 30.0  # seconds until a server must answer
    call_time_limit_s: float = 120.0  # seconds that a tool of a server may take
    max_result_chars: int = 50_000  # characters of one result
    max_tools: int = 128  # tools of one server that are offered to the model
    restarts: int = 3  # how often a server that ended is started again in a row
    first_wait_s: float = 0.5  # seconds before the first restart; twice as long each time
    longest_wait_s: float = 30.0  # longest wait before a restart, in seconds
