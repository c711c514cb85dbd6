"""Limits of MCP servers."""

from __future__ import annotations

from wellkept.core.records import record
from wellkept_agent.settings import setting


@record(kw_only=True)
class McpSettings:
    """How long servers may take, how much they may say, how often they are started again."""

    enabled: bool = setting(True, "Connect to MCP servers", "WELLKEPT_AGENT_MCP_ENABLED")
    project_servers: bool = setting(
        True,
        "Offer the servers in a project's .mcp.json; each starts only after your yes",
        "WELLKEPT_AGENT_MCP_PROJECT_SERVERS",
    )
    connect_time_limit_s: float = setting(
        30.0, "Seconds until a server must answer", "WELLKEPT_AGENT_MCP_CONNECT_TIME_LIMIT_S", low=1
    )
    call_time_limit_s: float = setting(
        120.0, "Seconds that a tool of a server may take", "WELLKEPT_AGENT_MCP_TIME_LIMIT_S", low=1
    )
    max_result_chars: int = setting(
        50_000, "Characters of one result", "WELLKEPT_AGENT_MCP_MAX_RESULT_CHARS", low=200
    )
    max_tools: int = setting(
        128,
        "Tools of one server that are offered to the model",
        "WELLKEPT_AGENT_MCP_MAX_TOOLS",
        low=1,
    )
    restarts: int = setting(
        3,
        "How often a server that ended is started again in a row",
        "WELLKEPT_AGENT_MCP_RESTARTS",
        low=0,
        high=20,
    )
    first_wait_s: float = setting(
        0.5,
        "Seconds before the first restart; twice as long each time",
        "WELLKEPT_AGENT_MCP_FIRST_WAIT_S",
        low=0,
    )
    longest_wait_s: float = setting(
        30.0,
        "Longest wait before a restart, in seconds",
        "WELLKEPT_AGENT_MCP_LONGEST_WAIT_S",
        low=0,
    )
