"""Settings of the background session memory."""

from __future__ import annotations

from typing import ClassVar

from wellkept.core.records import record
from wellkept.core.settings.model import setting


@record(kw_only=True)
class SessionMemorySettings:
    """When the running summary is brought up to date, and how long anybody waits for it."""

    VARIABLES: ClassVar = "SESSION_MEMORY_"
    session_memory: bool = setting(
        True, "Keep a running summary of the session", variable="SESSION_MEMORY"
    )
    min_tokens_to_init: int = setting(
        5_000, "Tokens of a conversation before the first summary", "0.."
    )
    min_tokens_between_update: int = setting(5_000, "New tokens before the next one", "0..")
    tool_calls_between_updates: int = setting(
        10, "New tool calls before the next one, while compaction runs", "0.."
    )
    max_summary_tokens: int = setting(4_000, "Tokens of the summary", "100..")
    cooldown_s: float = setting(
        60.0,
        "Seconds between two updates",
        "0..",
        "CLAUDE_EXTRACTION_COOLDOWN",
        variable="EXTRACTION_COOLDOWN",
    )
    wait_ms: int = setting(15_000, "Compaction waits so long for a running update", "0..")
    stale_ms: int = setting(60_000, "A running update older than this is given up", "1..")
    idle_s: float = setting(
        1.0,
        "Seconds after a turn before an update begins; a session that is closed needs none",
        "0..",
    )
    max_steps: int = setting(6, "Model calls of one update", "1..")
    max_input_tokens: int = setting(30_000, "Tokens of the conversation read at once", "500..")
    max_result_chars: int = setting(
        2_000, "Characters of a tool result that an update reads", "100.."
    )
    max_failures: int = setting(3, "Failures in a row after which it stays off", "1..")
