"""Settings of compaction; the names that other agents use for them are accepted too."""

from __future__ import annotations

from wellkept.core.records import record
from wellkept.core.settings.model import setting

COMPACTABLE_TOOLS = ("Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write")


@record(kw_only=True)
class CompactionSettings:
    """When a conversation is made shorter, and how."""

    disable_compact: bool = setting(False, "No compaction at all", "", "DISABLE_COMPACT")
    disable_auto_compact: bool = setting(
        False, "No compaction by itself but micro-compaction", "", "DISABLE_AUTO_COMPACT"
    )
    disable_micro_compact: bool = setting(
        False, "No micro-compaction", "", "DISABLE_MICROCOMPACT", variable="DISABLE_MICROCOMPACT"
    )
    auto_compact_offset: int = setting(
        13_000, "Compact when fewer tokens than these are free", "0.."
    )
    auto_compact_ratio: float = setting(
        0.8, "Compact when this share of the window is used", "0.01..1"
    )
    auto_compact_percent: float | None = setting(
        None,
        "The same in percent, in place of the share",
        "1..100",
        "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
        variable="AUTOCOMPACT_PCT",
    )
    warning_offset: int = setting(20_000, "Warn when fewer tokens than these are free", "0..")
    error_offset: int = setting(20_000, "Warn as an error below these free tokens", "0..")
    blocking_offset: int = setting(
        3_000, "Tokens that must stay free; without them no call is made", "0.."
    )
    blocking_limit: int | None = setting(
        None,
        "Tokens in use from which no call is made",
        "1..",
        "CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE",
    )
    safety_margin: float = setting(1.33, "Estimated tokens are multiplied by this", "1..4")
    min_messages: int = setting(4, "A shorter conversation is not compacted", "1..")
    tail_tokens: int = setting(8_000, "Tokens of the last messages that stay word for word", "0..")

    micro_threshold: int = setting(
        40_000, "Tokens of tool results before old ones are cleared", "0.."
    )
    micro_min_savings: int = setting(
        20_000, "Clear old tool results only when it saves these tokens", "0.."
    )
    micro_keep_results: int = setting(3, "Tool results that always stay", "0..")
    micro_persist_tokens: int = setting(
        1_000, "A cleared result with more tokens names its file", "0.."
    )
    micro_tools: tuple[str, ...] = setting(COMPACTABLE_TOOLS, "Tools whose old results are cleared")

    session_memory_compact: bool = setting(
        True, "Use the session's running summary instead of a new one"
    )
    session_memory_min_tokens: int = setting(
        10_000,
        "Tokens that the running summary must save",
        "0..",
        "CLAUDE_SESSION_MEMORY_MIN_TOKENS",
    )
    session_memory_max_tokens: int = setting(
        40_000, "A longer running summary is not used", "0..", "CLAUDE_SESSION_MEMORY_MAX_TOKENS"
    )

    summary_retries: int = setting(2, "More attempts when a summary fails", "0..10")
    summary_tokens: int = setting(8_000, "Tokens of a summary", "100..")
    instructions: str = setting("", "What a summary should keep", variable="COMPACT_INSTRUCTIONS")
    pre_compact_command: str = setting("", "Command run before compaction")
    pre_compact_time_limit_s: float = setting(30.0, "Seconds that the command may take", "0.01..")

    restore_max_files: int = setting(
        5, "Files shown again after compaction", "0..", "CLAUDE_CONTEXT_RESTORE_MAX_FILES"
    )
    restore_file_tokens: int = setting(5_000, "A larger file is not shown again", "0..")
    restore_budget_tokens: int = setting(
        50_000,
        "Tokens of all files that are shown again",
        "0..",
        "CLAUDE_CONTEXT_RESTORE_BUDGET",
        variable="RESTORE_BUDGET",
    )
