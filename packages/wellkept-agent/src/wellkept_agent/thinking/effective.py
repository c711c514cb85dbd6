"""How much a model thinks in a turn: the first of seven sources that says something.

    1 variables        level, or tokens (0 is off)
    2 keyword          a word in the prompt; ultra wins over deep
    3 session toggle   what the person's hotkey chose
    4 per turn         what the caller wants for this turn
    5 settings         the default level, or deep where a model can and `auto_enable` is on
    6 model            the model's own default
    7 fallback         none

A level that a model does not have becomes the next lower one. Invariant: no budget is above the
model's largest.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from wellkept.core.chat.messages import ThinkingRequest, ThinkingSupport
from wellkept.core.records import record
from wellkept_agent.thinking.keywords import detect_keyword
from wellkept_agent.thinking.levels import ThinkingLevel
from wellkept_agent.thinking.settings import ThinkingSettings
from wellkept_agent.thinking.state import ThinkingState


class ThinkingSource(StrEnum):
    """What decided."""

    VARIABLES = "env_override"
    KEYWORD = "keyword"
    SESSION_TOGGLE = "session_toggle"
    PER_TURN = "per_turn_override"
    SETTINGS = "global_config"
    MODEL = "model_default"
    FALLBACK = "fallback"


@record(kw_only=True)
class ThinkingConfig:
    """What a caller wants of one turn; `budget_tokens` replaces the level's own."""

    level: ThinkingLevel = ThinkingLevel.NONE
    budget_tokens: int | None = None
    interleaved: bool | None = None


@record(kw_only=True)
class ThinkingResult:
    """The level of a turn. `explicit` when the provider has to be told, also that it is off."""

    level: ThinkingLevel
    budget_tokens: int | None
    keyword: str | None
    source: ThinkingSource
    explicit: bool
    interleaved: bool = False

    def request(self) -> ThinkingRequest | None:
        """What is told to the provider; a budget of 0 turns off what is on by itself."""
        if not self.explicit:
            return None
        if self.level is ThinkingLevel.NONE:
            return ThinkingRequest(budget_tokens=0)
        return ThinkingRequest(
            budget_tokens=self.budget_tokens,
            effort=self.level.effort,
            interleaved=self.interleaved,
        )


@record(kw_only=True)
class _Wish:
    """What one source says."""

    level: ThinkingLevel
    source: ThinkingSource
    budget_tokens: int | None = None
    keyword: str | None = None


def effective_thinking(
    text: str,
    *,
    settings: ThinkingSettings,
    support: ThinkingSupport,
    state: ThinkingState | None = None,
    per_turn: ThinkingConfig | None = None,
) -> ThinkingResult:
    """The level of a turn for a prompt and a model."""
    wish = next(_wishes(text, settings, support, state, per_turn))
    level = _supported(wish.level, support)
    is_lost = wish.level is not ThinkingLevel.NONE and level is ThinkingLevel.NONE
    wants = None if per_turn is None else per_turn.interleaved
    return ThinkingResult(
        level=level,
        budget_tokens=_budget(level, wish.budget_tokens, settings, support),
        keyword=wish.keyword,
        source=wish.source,
        explicit=wish.source is not ThinkingSource.FALLBACK and not is_lost,
        interleaved=settings.interleaved if wants is None else wants,
    )


def _wishes(
    text: str,
    settings: ThinkingSettings,
    support: ThinkingSupport,
    state: ThinkingState | None,
    per_turn: ThinkingConfig | None,
) -> Iterator[_Wish]:
    """What each source says, in order; those that say nothing are left out."""
    if settings.level is not None or settings.max_tokens is not None:
        yield _from_variables(settings)
    if (found := detect_keyword(text, settings)) is not None:
        yield _Wish(level=found[0], source=ThinkingSource.KEYWORD, keyword=found[1])
    if state is not None and state.level is not None:
        yield _Wish(level=state.level, source=ThinkingSource.SESSION_TOGGLE)
    if per_turn is not None:
        yield _Wish(
            level=per_turn.level,
            source=ThinkingSource.PER_TURN,
            budget_tokens=per_turn.budget_tokens,
        )
    if settings.default_level is not ThinkingLevel.NONE:
        yield _Wish(level=settings.default_level, source=ThinkingSource.SETTINGS)
    elif settings.auto_enable and support.levels:
        yield _Wish(level=ThinkingLevel.DEEP, source=ThinkingSource.SETTINGS)
    if support.default in set(ThinkingLevel):
        yield _Wish(level=ThinkingLevel(support.default), source=ThinkingSource.MODEL)
    yield _Wish(level=ThinkingLevel.NONE, source=ThinkingSource.FALLBACK)


def _from_variables(settings: ThinkingSettings) -> _Wish:
    """A level, a budget, or both; a budget alone says the level too."""
    level, tokens = settings.level, settings.max_tokens
    if tokens == 0:
        level = ThinkingLevel.NONE
    elif level is None:
        is_ultra = tokens is not None and tokens >= settings.ultra_budget
        level = ThinkingLevel.ULTRA if is_ultra else ThinkingLevel.DEEP
    return _Wish(level=level, source=ThinkingSource.VARIABLES, budget_tokens=tokens or None)


def _supported(level: ThinkingLevel, support: ThinkingSupport) -> ThinkingLevel:
    """The level, or the highest one below it that the model has."""
    while level is not ThinkingLevel.NONE and level.value not in support.levels:
        level = level.previous
    return level


def _budget(
    level: ThinkingLevel,
    wanted: int | None,
    settings: ThinkingSettings,
    support: ThinkingSupport,
) -> int | None:
    if level is ThinkingLevel.NONE:
        return None
    if wanted is None:
        is_deep = level is ThinkingLevel.DEEP
        own = support.deep_budget if is_deep else support.ultra_budget
        wanted = own or (settings.deep_budget if is_deep else settings.ultra_budget)
    return wanted if support.max_budget is None else min(wanted, support.max_budget)
