"""Settings of thinking. `level` and `max_tokens` win over everything else, as variables should."""

from __future__ import annotations

from typing import ClassVar

from wellkept.core.records import record
from wellkept.core.settings.model import setting
from wellkept_agent.thinking.levels import ThinkingLevel


@record(kw_only=True)
class ThinkingSettings:
    """How much models think."""

    VARIABLES: ClassVar = "THINKING_"
    level: ThinkingLevel | None = setting(
        None,
        "Level that wins over keywords and everything else: none, deep_think, ultra_think",
        "",
        "COCODE_THINKING_LEVEL",
    )
    max_tokens: int | None = setting(
        None,
        "Tokens for thinking that win over every level's own; 0 turns thinking off",
        "0..",
        "COCODE_MAX_THINKING_TOKENS",
        variable="MAX_THINKING_TOKENS",
    )
    interleaved: bool = setting(
        False,
        "Think between tool calls too, where that is an option (Anthropic)",
        "",
        "COCODE_INTERLEAVED_THINKING",
        variable="INTERLEAVED_THINKING",
    )
    default_level: ThinkingLevel = setting(ThinkingLevel.NONE, "Level where nothing else says one")
    auto_enable: bool = setting(False, "Think deeply with every model that can")
    deep_budget: int = setting(16_000, "Tokens of deep_think", "1024..")
    ultra_budget: int = setting(32_000, "Tokens of ultra_think", "1024..")
    deep_keywords: tuple[str, ...] = setting(
        ("deepthink", "think deeper"), "Words in a prompt that ask for deep_think"
    )
    ultra_keywords: tuple[str, ...] = setting(
        ("ultrathink", "maximum thinking"), "Words in a prompt that ask for ultra_think"
    )
