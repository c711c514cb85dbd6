"""Extended thinking: how much a model thinks in a turn, and who decided it.

Open `effective` first: the chain of seven sources. `keywords` finds "ultrathink" and the like in a
prompt, `state` is what a hotkey cycles, `capability` applies the result to each turn. How a
provider is told is the provider's affair (`core.chat.messages.ThinkingRequest`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from wellkept.core.chat.messages import ThinkingRequest, ThinkingSupport
from wellkept.core.records import record
from wellkept.core.settings.model import setting
from wellkept_agent.hooks import Capability

if TYPE_CHECKING:
    from wellkept_agent.hooks import HookContext
    from wellkept_agent.session import AgentSession


# -- The levels of thinking -----------------------------------------------------------------------


class ThinkingLevel(StrEnum):
    """How much a model thinks before it answers."""

    NONE = "none"
    DEEP = "deep_think"
    ULTRA = "ultra_think"

    @property
    def effort(self) -> Literal["high", "xhigh"] | None:
        """The level for providers that take an effort."""
        return _EFFORTS.get(self)

    @property
    def next(self) -> ThinkingLevel:
        """None, deep, ultra, and none again."""
        return _CYCLE[(_CYCLE.index(self) + 1) % len(_CYCLE)]

    @property
    def previous(self) -> ThinkingLevel:
        """The other way round."""
        return _CYCLE[_CYCLE.index(self) - 1]


_CYCLE = list(ThinkingLevel)
_EFFORTS: dict[ThinkingLevel, Literal["high", "xhigh"]] = {
    ThinkingLevel.DEEP: "high",
    ThinkingLevel.ULTRA: "xhigh",
}


# -- Settings of thinking. `level` and `max_tokens` win over everything else, as variables should -


@record(kw_only=True)
class ThinkingSettings:
    """How much models think."""

    VARIABLES: ClassVar = "THINKING_"
    level: ThinkingLevel | None = setting(
        None,
        "Level that wins over keywords and everything else: none, deep_think, ultra_think",
        "",
        "COCODE_THINKING_LEVEL",
        why="one session that must think",
    )
    max_tokens: int | None = setting(
        None,
        "Tokens for thinking that win over every level's own; 0 turns thinking off",
        "0..",
        "COCODE_MAX_THINKING_TOKENS",
        variable="MAX_THINKING_TOKENS",
        why="a bill, or a harder task",
    )
    interleaved: bool = setting(
        False,
        "Think between tool calls too, where that is an option (Anthropic)",
        "",
        "COCODE_INTERLEAVED_THINKING",
        variable="INTERLEAVED_THINKING",
        why="long chains of tools",
    )
    default_level: ThinkingLevel = setting(
        ThinkingLevel.NONE, "Level where nothing else says one", why="every session should think"
    )
    auto_enable: bool = False  # think deeply with every model that can
    deep_budget: int = 16_000  # tokens of deep_think
    ultra_budget: int = 32_000  # tokens of ultra_think
    # Words in a prompt that ask for deep_think
    deep_keywords: tuple[str, ...] = ("deepthink", "think deeper")
    # Words in a prompt that ask for ultra_think
    ultra_keywords: tuple[str, ...] = ("ultrathink", "maximum thinking")


# -- The level that a person chose for a session, e.g. with a hotkey ------------------------------


class ThinkingState:
    """Unset until a person chooses; `NONE` is a choice too, and turns thinking off."""

    def __init__(self, level: ThinkingLevel | None = None) -> None:
        self.level = level

    def toggle_next(self) -> ThinkingLevel:
        """None, deep, ultra, and none again; returns the new level."""
        self.level = (self.level or ThinkingLevel.NONE).next
        return self.level

    def toggle_previous(self) -> ThinkingLevel:
        """The other way round."""
        self.level = (self.level or ThinkingLevel.NONE).previous
        return self.level

    def set_level(self, level: ThinkingLevel | None) -> None:
        """Choose a level; None lets the other sources decide again."""
        self.level = level


# -- Words in a prompt that ask for thinking, with their places for highlighting ------------------


class KeywordSpan(NamedTuple):
    """Where a keyword stands: `text[start:end]`."""

    start: int
    end: int
    level: ThinkingLevel


def detect_keyword(text: str, settings: ThinkingSettings) -> tuple[ThinkingLevel, str] | None:
    """The level that a text asks for and the word that does; the highest level wins."""
    spans = keyword_spans(text, settings)
    for level in (ThinkingLevel.ULTRA, ThinkingLevel.DEEP):
        found = next((span for span in spans if span.level is level), None)
        if found is not None:
            return level, text[found.start : found.end]
    return None


def keyword_spans(text: str, settings: ThinkingSettings) -> list[KeywordSpan]:
    """All keywords of a text, in order; none overlaps another."""
    found = [
        *_found(text, settings.ultra_keywords, ThinkingLevel.ULTRA),
        *_found(text, settings.deep_keywords, ThinkingLevel.DEEP),
    ]
    spans: list[KeywordSpan] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if not spans or span.start >= spans[-1].end:
            spans.append(span)
    return spans


def _found(text: str, words: tuple[str, ...], level: ThinkingLevel) -> Iterable[KeywordSpan]:
    pattern = _pattern(words)
    if pattern is None:
        return
    for match in pattern.finditer(text):
        yield KeywordSpan(match.start(), match.end(), level)


@lru_cache(maxsize=32)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """One pattern for all words, longest first."""
    plain = [r"\s+".join(map(re.escape, word.split())) for word in words if word.strip()]
    if not plain:
        return None
    choices = "|".join(sorted(plain, key=len, reverse=True))
    return re.compile(rf"(?<![\w/\\.-])(?:{choices})(?![\w/\\-]|\.\w)", re.IGNORECASE)


# -- How much a model thinks in a turn: the first of seven sources that says something ------------


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


# -- Thinking as a capability of the loop: decides at each prompt how much the model thinks -------


class Thinking(Capability):
    """Sets the session's thinking for each turn.

    `state` is for a person's hotkey, `for_next_turn` for a caller; `result` says what was decided
    last, for a user interface.
    """

    name: ClassVar[str] = "thinking"
    in_subagents: ClassVar[bool] = True

    def __init__(self, settings: ThinkingSettings | None = None) -> None:
        self.settings = settings or ThinkingSettings()
        self.state = ThinkingState()
        self.result: ThinkingResult | None = None
        self._next: ThinkingConfig | None = None

    def attach(self, session: AgentSession) -> None:
        """Remember the session."""
        self._session = session

    def for_subagent(self) -> Thinking:
        """A sub-agent thinks as the settings say; the person's hotkey is not meant for it."""
        return Thinking(self.settings)

    def for_next_turn(self, config: ThinkingConfig | None) -> None:
        """Say how much to think in the next turn only."""
        self._next = config

    def preview(self, prompt: str) -> ThinkingResult:
        """What would be decided for a prompt; changes nothing."""
        return effective_thinking(
            prompt,
            settings=self.settings,
            support=self._session.model.info.thinking,
            state=self.state,
            per_turn=self._next,
        )

    async def on_user_message(self, context: HookContext, text: str) -> None:
        """Decide for this turn."""
        self.result = self.preview(text)
        self._next = None
        self._session.thinking = self.result.request()
