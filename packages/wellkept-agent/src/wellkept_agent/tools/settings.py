"""Settings of the built-in tools."""

from __future__ import annotations

from wellkept.core.records import record
from wellkept.core.settings.model import setting


@record(kw_only=True)
class ToolSettings:
    """Which tools there are, and their limits."""

    profile: str = setting(
        "all", "Tools to begin with: all or read_only", "all|read_only", variable="TOOLS"
    )
    enabled: tuple[str, ...] = setting(
        (), "Only these tools, by name; empty is all of the profile", variable="ENABLED_TOOLS"
    )
    disabled: tuple[str, ...] = setting(
        (), "Tools that are left out, by name", variable="DISABLED_TOOLS"
    )
    read_lines: int = setting(2_000, "Lines that Read gives at once", "1..")
    line_chars: int = setting(2_000, "Characters of a line before it is cut", "100..")
    pdf_pages: int = setting(20, "Pages of a PDF that Read gives at once", "1..200")
    bash_timeout_ms: int = setting(
        120_000, "Milliseconds that a command may take by default", "1..", "BASH_DEFAULT_TIMEOUT_MS"
    )
    bash_max_timeout_ms: int = setting(
        600_000, "Milliseconds that a command may ask for", "1..", "BASH_MAX_TIMEOUT_MS"
    )
    bash_output_chars: int = setting(
        30_000,
        "Characters of a command's output that are kept, mostly its end",
        "500..",
        "BASH_MAX_OUTPUT_LENGTH",
    )
    bash_keep_variables: tuple[str, ...] = setting(
        (), "Variables that commands get although they look like keys of ours"
    )
    glob_results: int = setting(100, "Files that Glob lists", "1..")
    grep_results: int = setting(250, "Lines that Grep gives by default", "1..")
    search_timeout_s: float = setting(30.0, "Seconds that Grep may take", "0.1..")
    web_timeout_s: float = setting(30.0, "Seconds that a page may take", "0.1..")
    web_max_bytes: int = setting(5_000_000, "Bytes of a page that are loaded", "1000..")
    web_chars: int = setting(30_000, "Characters of a page's text at once", "500..")
    web_search_address: str = setting(
        "", "Search page of a SearXNG server for WebSearch; empty is none"
    )
