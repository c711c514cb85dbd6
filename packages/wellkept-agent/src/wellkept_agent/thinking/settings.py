"""Settings of thinking. `level` and `max_tokens` win over everything else, as variables should."""

from __future__ import annotations

from wellkept.core.records import record
from wellkept_agent.settings import setting
from wellkept_agent.thinking.levels import ThinkingLevel


@record(kw_only=True)
class ThinkingSettings:
    """How much models think."""

    level: ThinkingLevel | None = setting(
        None,
        "Level that wins over keywords and everything else: none, deep_think, ultra_think",
        "WELLKEPT_AGENT_THINKING_LEVEL",
        "COCODE_THINKING_LEVEL",
    )
    max_tokens: int | None = setting(
        None,
        "Tokens for thinking that win over every level's own; 0 turns thinking off",
        "WELLKEPT_AGENT_MAX_THINKING_TOKENS",
        "COCODE_MAX_THINKING_TOKENS",
        low=0,
    )
    interleaved: bool = setting(
        False,
        "Think between tool calls too, where that is an option (Anthropic)",
        "WELLKEPT_AGENT_INTERLEAVED_THINKING",
        "COCODE_INTERLEAVED_THINKING",
    )
    default_level: ThinkingLevel = setting(
        ThinkingLevel.NONE,
        "Level where nothing else says one",
        "WELLKEPT_AGENT_THINKING_DEFAULT_LEVEL",
    )
    auto_enable: bool = setting(
        False,
        "Think deeply with every model that can",
        "WELLKEPT_AGENT_THINKING_AUTO_ENABLE",
    )
    deep_budget: int = setting(
        16_000, "Tokens of deep_think", "WELLKEPT_AGENT_THINKING_DEEP_BUDGET", low=1_024
    )
    ultra_budget: int = setting(
        32_000, "Tokens of ultra_think", "WELLKEPT_AGENT_THINKING_ULTRA_BUDGET", low=1_024
    )
    deep_keywords: tuple[str, ...] = setting(
        ("deepthink", "think deeper"),
        "Words in a prompt that ask for deep_think",
        "WELLKEPT_AGENT_THINKING_DEEP_KEYWORDS",
    )
    ultra_keywords: tuple[str, ...] = setting(
        ("ultrathink", "maximum thinking"),
        "Words in a prompt that ask for ultra_think",
        "WELLKEPT_AGENT_THINKING_ULTRA_KEYWORDS",
    )
