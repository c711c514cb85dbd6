"""Settings of compaction; the names that other agents use for them are accepted too."""

from __future__ import annotations

from wellkept.core.records import record
from wellkept_agent.settings import setting

COMPACTABLE_TOOLS = ("Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write")


@record(kw_only=True)
class CompactionSettings:
    """When a conversation is made shorter, and how."""

    disable_compact: bool = setting(
        False, "No compaction at all", "WELLKEPT_AGENT_DISABLE_COMPACT", "DISABLE_COMPACT"
    )
    disable_auto_compact: bool = setting(
        False,
        "No compaction by itself but micro-compaction",
        "WELLKEPT_AGENT_DISABLE_AUTO_COMPACT",
        "DISABLE_AUTO_COMPACT",
    )
    disable_micro_compact: bool = setting(
        False,
        "No micro-compaction",
        "WELLKEPT_AGENT_DISABLE_MICROCOMPACT",
        "DISABLE_MICROCOMPACT",
    )
    auto_compact_offset: int = setting(
        13_000,
        "Compact when fewer tokens than these are free",
        "WELLKEPT_AGENT_AUTO_COMPACT_OFFSET",
        low=0,
    )
    auto_compact_ratio: float = setting(
        0.8,
        "Compact when this share of the window is used",
        "WELLKEPT_AGENT_AUTO_COMPACT_RATIO",
        low=0.01,
        high=1.0,
    )
    auto_compact_percent: float | None = setting(
        None,
        "The same in percent, in place of the share",
        "WELLKEPT_AGENT_AUTOCOMPACT_PCT",
        "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
        low=1,
        high=100,
    )
    warning_offset: int = setting(
        20_000, "Warn when fewer tokens than these are free", "WELLKEPT_AGENT_WARNING_OFFSET", low=0
    )
    error_offset: int = setting(
        20_000, "Warn as an error below these free tokens", "WELLKEPT_AGENT_ERROR_OFFSET", low=0
    )
    blocking_offset: int = setting(
        3_000,
        "Tokens that must stay free; without them no call is made",
        "WELLKEPT_AGENT_BLOCKING_OFFSET",
        low=0,
    )
    blocking_limit: int | None = setting(
        None,
        "Tokens in use from which no call is made",
        "WELLKEPT_AGENT_BLOCKING_LIMIT",
        "CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE",
        low=1,
    )
    safety_margin: float = setting(
        1.33,
        "Estimated tokens are multiplied by this",
        "WELLKEPT_AGENT_SAFETY_MARGIN",
        low=1.0,
        high=4.0,
    )
    min_messages: int = setting(
        4, "A shorter conversation is not compacted", "WELLKEPT_AGENT_MIN_MESSAGES", low=1
    )
    tail_tokens: int = setting(
        8_000,
        "Tokens of the last messages that stay word for word",
        "WELLKEPT_AGENT_TAIL_TOKENS",
        low=0,
    )

    micro_threshold: int = setting(
        40_000,
        "Tokens of tool results before old ones are cleared",
        "WELLKEPT_AGENT_MICRO_THRESHOLD",
        low=0,
    )
    micro_min_savings: int = setting(
        20_000,
        "Clear old tool results only when it saves these tokens",
        "WELLKEPT_AGENT_MICRO_MIN_SAVINGS",
        low=0,
    )
    micro_keep_results: int = setting(
        3, "Tool results that always stay", "WELLKEPT_AGENT_MICRO_KEEP_RESULTS", low=0
    )
    micro_persist_tokens: int = setting(
        1_000,
        "A cleared result with more tokens names its file",
        "WELLKEPT_AGENT_MICRO_PERSIST_TOKENS",
        low=0,
    )
    micro_tools: tuple[str, ...] = setting(
        COMPACTABLE_TOOLS, "Tools whose old results are cleared", "WELLKEPT_AGENT_MICRO_TOOLS"
    )

    session_memory_compact: bool = setting(
        True,
        "Use the session's running summary instead of a new one",
        "WELLKEPT_AGENT_SESSION_MEMORY_COMPACT",
    )
    session_memory_min_tokens: int = setting(
        10_000,
        "Tokens that the running summary must save",
        "WELLKEPT_AGENT_SESSION_MEMORY_MIN_TOKENS",
        "CLAUDE_SESSION_MEMORY_MIN_TOKENS",
        low=0,
    )
    session_memory_max_tokens: int = setting(
        40_000,
        "A longer running summary is not used",
        "WELLKEPT_AGENT_SESSION_MEMORY_MAX_TOKENS",
        "CLAUDE_SESSION_MEMORY_MAX_TOKENS",
        low=0,
    )

    summary_retries: int = setting(
        2, "More attempts when a summary fails", "WELLKEPT_AGENT_SUMMARY_RETRIES", low=0, high=10
    )
    summary_tokens: int = setting(
        8_000, "Tokens of a summary", "WELLKEPT_AGENT_SUMMARY_TOKENS", low=100
    )
    instructions: str = setting(
        "", "What a summary should keep", "WELLKEPT_AGENT_COMPACT_INSTRUCTIONS"
    )
    pre_compact_command: str = setting(
        "", "Command run before compaction", "WELLKEPT_AGENT_PRE_COMPACT_COMMAND"
    )
    pre_compact_time_limit_s: float = setting(
        30.0,
        "Seconds that the command may take",
        "WELLKEPT_AGENT_PRE_COMPACT_TIME_LIMIT_S",
        low=0.01,
    )

    restore_max_files: int = setting(
        5,
        "Files shown again after compaction",
        "WELLKEPT_AGENT_RESTORE_MAX_FILES",
        "CLAUDE_CONTEXT_RESTORE_MAX_FILES",
        low=0,
    )
    restore_file_tokens: int = setting(
        5_000, "A larger file is not shown again", "WELLKEPT_AGENT_RESTORE_FILE_TOKENS", low=0
    )
    restore_budget_tokens: int = setting(
        50_000,
        "Tokens of all files that are shown again",
        "WELLKEPT_AGENT_RESTORE_BUDGET",
        "CLAUDE_CONTEXT_RESTORE_BUDGET",
        low=0,
    )
