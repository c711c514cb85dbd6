"""Extended thinking: how much a model thinks in a turn, and who decided it.

Open `effective` first: the chain of seven sources. `keywords` finds "ultrathink" and the like in a
prompt, `state` is what a hotkey cycles, `capability` applies the result to each turn. How a
provider is told is the provider's affair (`core.runtime.chat.ThinkingRequest`).
"""

from __future__ import annotations

from wellkept.agent.thinking.capability import Thinking
from wellkept.agent.thinking.effective import (
    ThinkingConfig,
    ThinkingResult,
    ThinkingSource,
    effective_thinking,
)
from wellkept.agent.thinking.keywords import KeywordSpan, detect_keyword, keyword_spans
from wellkept.agent.thinking.levels import ThinkingLevel
from wellkept.agent.thinking.settings import ThinkingSettings
from wellkept.agent.thinking.state import ThinkingState

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
