"""Limits of MCP servers."""

from __future__ import annotations

from typing import ClassVar

from wellkept.core.records import record
from wellkept.core.settings.model import setting


@record(kw_only=True)
class McpSettings:
    """How long servers may take, how much they may say, how often they are started again."""

    VARIABLES: ClassVar = "MCP_"
    enabled: bool = setting(True, "Connect to MCP servers")
    project_servers: bool = setting(
        True, "Offer the servers in a project's .mcp.json; each starts only after your yes"
    )
    connect_time_limit_s: float = setting(30.0, "Seconds until a server must answer", "1..")
    call_time_limit_s: float = setting(
        120.0, "Seconds that a tool of a server may take", "1..", variable="MCP_TIME_LIMIT_S"
    )
    max_result_chars: int = setting(50_000, "Characters of one result", "200..")
    max_tools: int = setting(128, "Tools of one server that are offered to the model", "1..")
    restarts: int = setting(3, "How often a server that ended is started again in a row", "0..20")
    first_wait_s: float = setting(
        0.5, "Seconds before the first restart; twice as long each time", "0.."
    )
    longest_wait_s: float = setting(30.0, "Longest wait before a restart, in seconds", "0..")
