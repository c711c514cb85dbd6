"""Settings of the background session memory."""

from __future__ import annotations

from wellkept.core.records import record
from wellkept_agent.settings import setting


@record(kw_only=True)
class SessionMemorySettings:
    """When the running summary is brought up to date, and how long anybody waits for it."""

    session_memory: bool = setting(
        True, "Keep a running summary of the session", "WELLKEPT_AGENT_SESSION_MEMORY"
    )
    min_tokens_to_init: int = setting(
        5_000,
        "Tokens of a conversation before the first summary",
        "WELLKEPT_AGENT_SESSION_MEMORY_MIN_TOKENS_TO_INIT",
        low=0,
    )
    min_tokens_between_update: int = setting(
        5_000,
        "New tokens before the next one",
        "WELLKEPT_AGENT_SESSION_MEMORY_MIN_TOKENS_BETWEEN_UPDATE",
        low=0,
    )
    tool_calls_between_updates: int = setting(
        10,
        "New tool calls before the next one, while compaction runs",
        "WELLKEPT_AGENT_SESSION_MEMORY_TOOL_CALLS_BETWEEN_UPDATES",
        low=0,
    )
    max_summary_tokens: int = setting(
        4_000, "Tokens of the summary", "WELLKEPT_AGENT_SESSION_MEMORY_MAX_SUMMARY_TOKENS", low=100
    )
    cooldown_s: float = setting(
        60.0,
        "Seconds between two updates",
        "WELLKEPT_AGENT_EXTRACTION_COOLDOWN",
        "CLAUDE_EXTRACTION_COOLDOWN",
        low=0,
    )
    wait_ms: int = setting(
        15_000,
        "Compaction waits so long for a running update",
        "WELLKEPT_AGENT_SESSION_MEMORY_WAIT_MS",
        low=0,
    )
    stale_ms: int = setting(
        60_000,
        "A running update older than this is given up",
        "WELLKEPT_AGENT_SESSION_MEMORY_STALE_MS",
        low=1,
    )
    idle_s: float = setting(
        1.0,
        "Seconds after a turn before an update begins; a session that is closed needs none",
        "WELLKEPT_AGENT_SESSION_MEMORY_IDLE_S",
        low=0,
    )
    max_steps: int = setting(
        6, "Model calls of one update", "WELLKEPT_AGENT_SESSION_MEMORY_MAX_STEPS", low=1
    )
    max_input_tokens: int = setting(
        30_000,
        "Tokens of the conversation read at once",
        "WELLKEPT_AGENT_SESSION_MEMORY_MAX_INPUT_TOKENS",
        low=500,
    )
    max_result_chars: int = setting(
        2_000,
        "Characters of a tool result that an update reads",
        "WELLKEPT_AGENT_SESSION_MEMORY_MAX_RESULT_CHARS",
        low=100,
    )
    max_failures: int = setting(
        3,
        "Failures in a row after which it stays off",
        "WELLKEPT_AGENT_SESSION_MEMORY_MAX_FAILURES",
        low=1,
    )
