"""Settings of the built-in tools."""

from __future__ import annotations

from wellkept.core.records import record
from wellkept_agent.settings import setting


@record(kw_only=True)
class ToolSettings:
    """Which tools there are, and their limits."""

    profile: str = setting(
        "all",
        "Tools to begin with: all or read_only",
        "WELLKEPT_AGENT_TOOLS",
        choices=("all", "read_only"),
    )
    enabled: tuple[str, ...] = setting(
        (), "Only these tools, by name; empty is all of the profile", "WELLKEPT_AGENT_ENABLED_TOOLS"
    )
    disabled: tuple[str, ...] = setting(
        (), "Tools that are left out, by name", "WELLKEPT_AGENT_DISABLED_TOOLS"
    )
    read_lines: int = setting(
        2_000, "Lines that Read gives at once", "WELLKEPT_AGENT_READ_LINES", low=1
    )
    line_chars: int = setting(
        2_000, "Characters of a line before it is cut", "WELLKEPT_AGENT_LINE_CHARS", low=100
    )
    pdf_pages: int = setting(
        20, "Pages of a PDF that Read gives at once", "WELLKEPT_AGENT_PDF_PAGES", low=1, high=200
    )
    bash_timeout_ms: int = setting(
        120_000,
        "Milliseconds that a command may take by default",
        "WELLKEPT_AGENT_BASH_TIMEOUT_MS",
        "BASH_DEFAULT_TIMEOUT_MS",
        low=1,
    )
    bash_max_timeout_ms: int = setting(
        600_000,
        "Milliseconds that a command may ask for",
        "WELLKEPT_AGENT_BASH_MAX_TIMEOUT_MS",
        "BASH_MAX_TIMEOUT_MS",
        low=1,
    )
    bash_output_chars: int = setting(
        30_000,
        "Characters of a command's output that are kept, mostly its end",
        "WELLKEPT_AGENT_BASH_OUTPUT_CHARS",
        "BASH_MAX_OUTPUT_LENGTH",
        low=500,
    )
    bash_keep_variables: tuple[str, ...] = setting(
        (),
        "Variables that commands get although they look like keys of ours",
        "WELLKEPT_AGENT_BASH_KEEP_VARIABLES",
    )
    glob_results: int = setting(100, "Files that Glob lists", "WELLKEPT_AGENT_GLOB_RESULTS", low=1)
    grep_results: int = setting(
        250, "Lines that Grep gives by default", "WELLKEPT_AGENT_GREP_RESULTS", low=1
    )
    search_timeout_s: float = setting(
        30.0, "Seconds that Grep may take", "WELLKEPT_AGENT_SEARCH_TIMEOUT_S", low=0.1
    )
    web_timeout_s: float = setting(
        30.0, "Seconds that a page may take", "WELLKEPT_AGENT_WEB_TIMEOUT_S", low=0.1
    )
    web_max_bytes: int = setting(
        5_000_000, "Bytes of a page that are loaded", "WELLKEPT_AGENT_WEB_MAX_BYTES", low=1_000
    )
    web_chars: int = setting(
        30_000, "Characters of a page's text at once", "WELLKEPT_AGENT_WEB_CHARS", low=500
    )
    web_search_address: str = setting(
        "",
        "Search page of a SearXNG server for WebSearch; empty is none",
        "WELLKEPT_AGENT_WEB_SEARCH_ADDRESS",
    )
