"""Extended thinking: how much a model thinks in a turn, and who decided it.

Open `effective` first: the chain of seven sources. `keywords` finds "ultrathink" and the like in a
prompt, `state` is what a hotkey cycles, `capability` applies the result to each turn. How a
provider is told is the provider's affair (`core.chat.messages.ThinkingRequest`).
"""

from __future__ import annotations

from wellkept_agent.thinking.capability import Thinking
from wellkept_agent.thinking.effective import (
    ThinkingConfig,
    ThinkingResult,
    ThinkingSource,
    effective_thinking,
)
from wellkept_agent.thinking.keywords import KeywordSpan, detect_keyword, keyword_spans
from wellkept_agent.thinking.levels import ThinkingLevel
from wellkept_agent.thinking.settings import ThinkingSettings
from wellkept_agent.thinking.state import ThinkingState

__all__ = [
    "KeywordSpan",
    "Thinking",
    "ThinkingConfig",
    "ThinkingLevel",
    "ThinkingResult",
    "ThinkingSettings",
    "ThinkingSource",
    "ThinkingState",
    "detect_keyword",
    "effective_thinking",
    "keyword_spans",
]
