"""Extended thinking (G9): levels, keywords, the chain of seven sources, the loop."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.conftest import MakeSession
from wellkept.core.chat.messages import (
    Message,
    ModelInfo,
    Role,
    TextPart,
    ThinkingPart,
    ThinkingRequest,
    ThinkingSupport,
)
from wellkept.core.errors import UsageError
from wellkept.core.records import fields, replace
from wellkept.testing.scripted_model import ScriptedModel
from wellkept_agent.events import ThinkingComplete, ThinkingDelta
from wellkept_agent.settings import load
from wellkept_agent.thinking import (
    KeywordSpan,
    Thinking,
    ThinkingConfig,
    ThinkingLevel,
    ThinkingResult,
    ThinkingSettings,
    ThinkingSource,
    ThinkingState,
    detect_keyword,
    effective_thinking,
    keyword_spans,
)

pytestmark = pytest.mark.feature("G9")

NONE, DEEP, ULTRA = ThinkingLevel.NONE, ThinkingLevel.DEEP, ThinkingLevel.ULTRA
BOTH = ThinkingSupport(levels=("deep_think", "ultra_think"))
USUAL = ThinkingSettings()


def test_the_defaults_are_those_of_the_documents() -> None:
    defaults = {one.name: one.default for one in fields(ThinkingSettings)}
    assert defaults == {
        "level": None,
        "max_tokens": None,
        "interleaved": False,
        "default_level": "none",
        "auto_enable": False,
        "deep_budget": 16_000,
        "ultra_budget": 32_000,
        "deep_keywords": ("deepthink", "think deeper"),
        "ultra_keywords": ("ultrathink", "maximum thinking"),
    }
    assert (DEEP.effort, ULTRA.effort, NONE.effort) == ("high", "xhigh", None)


@pytest.mark.parametrize("prefix", ["COCODE_", "WELLKEPT_AGENT_"])
def test_variables_are_read_under_both_names(prefix: str) -> None:
    found = load(
        ThinkingSettings,
        environment={
            f"{prefix}THINKING_LEVEL": "ultra_think",
            f"{prefix}MAX_THINKING_TOKENS": "24000",
            f"{prefix}INTERLEAVED_THINKING": "true",
        },
    )
    assert (found.level, found.max_tokens, found.interleaved) == (ULTRA, 24_000, True)


@pytest.mark.parametrize(
    ("name", "value"),
    [("COCODE_THINKING_LEVEL", "hard"), ("COCODE_MAX_THINKING_TOKENS", "-1")],
)
def test_a_wrong_variable_is_named(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=name):
        load(ThinkingSettings, environment={name: value})


# -- Keywords --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Please ultrathink about it", (ULTRA, "ultrathink")),
        ("DeepThink!", (DEEP, "DeepThink")),
        ("think\n  deeper, please", (DEEP, "think\n  deeper")),
        ("deepthink first, then maximum thinking", (ULTRA, "maximum thinking")),
        ("größer (ultrathink) größer", (ULTRA, "ultrathink")),
        ("I keep thinking deeper", None),
        ("ultrathinking", None),
        ("see src/ultrathink.py", None),
        ("the flag --ultrathink", None),
        ("import ultrathink.core", None),
        ("", None),
    ],
)
def test_keywords_are_whole_words_and_ultra_wins(
    text: str, expected: tuple[ThinkingLevel, str] | None
) -> None:
    assert detect_keyword(text, USUAL) == expected


def test_places_of_keywords_are_those_of_the_text() -> None:
    text = "ULTRATHINK, or think deeper. Ends with deepthink"
    assert keyword_spans(text, USUAL) == [
        KeywordSpan(0, 10, ULTRA),
        KeywordSpan(15, 27, DEEP),
        KeywordSpan(39, 48, DEEP),
    ]
    assert [text[s.start : s.end] for s in keyword_spans(text, USUAL)] == [
        "ULTRATHINK",
        "think deeper",
        "deepthink",
    ]


def test_own_keywords_replace_the_usual_ones_and_the_longer_one_counts() -> None:
    own = ThinkingSettings(deep_keywords=("hard", "  "), ultra_keywords=("hard (very)",))
    assert keyword_spans("hard (very), hard", own) == [
        KeywordSpan(0, 11, ULTRA),
        KeywordSpan(13, 17, DEEP),
    ]
    assert detect_keyword("ultrathink", own) is None
    assert keyword_spans("anything", ThinkingSettings(deep_keywords=(), ultra_keywords=())) == []


@given(st.text(alphabet="ultradeephinkmxg .,/\n", max_size=80))
def test_spans_never_overlap_and_stay_inside(text: str) -> None:
    spans = keyword_spans(text, USUAL)
    assert all(0 <= s.start < s.end <= len(text) for s in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    found = detect_keyword(text, USUAL)
    assert (found is None) == (not spans)
    if found is not None:
        assert found[0] is max((s.level for s in spans), key=list(ThinkingLevel).index)


# -- The chain -------------------------------------------------------------------------------------


def _effective(text: str = "Hello", **options: object) -> ThinkingResult:
    options.setdefault("settings", USUAL)
    options.setdefault("support", BOTH)
    return effective_thinking(text, **options)  # pyright: ignore[reportArgumentType]


def test_each_source_decides_until_one_above_it_does() -> None:
    """All seven at once, then one after another is taken away."""
    support = replace(BOTH, default="ultra_think")
    settings = ThinkingSettings(level=DEEP, default_level=ULTRA)
    options: dict[str, object] = {
        "text": "ultrathink",
        "settings": settings,
        "support": support,
        "state": ThinkingState(DEEP),
        "per_turn": ThinkingConfig(level=ULTRA),
    }
    changes: list[dict[str, object]] = [
        {},
        {"settings": replace(settings, level=None)},
        {"text": "Hello"},
        {"state": ThinkingState()},
        {"per_turn": None},
        {"settings": USUAL},
        {"support": BOTH},
    ]
    seen: list[tuple[str, str]] = []
    for change in changes:
        options |= change
        found = _effective(**options)  # pyright: ignore[reportArgumentType]
        seen.append((found.source.value, found.level.value))
    assert seen == [
        ("env_override", "deep_think"),
        ("keyword", "ultra_think"),
        ("session_toggle", "deep_think"),
        ("per_turn_override", "ultra_think"),
        ("global_config", "ultra_think"),
        ("model_default", "ultra_think"),
        ("fallback", "none"),
    ]


def test_a_result_says_all_five_things() -> None:
    assert _effective("please ultrathink") == ThinkingResult(
        level=ULTRA,
        budget_tokens=32_000,
        keyword="ultrathink",
        source=ThinkingSource.KEYWORD,
        explicit=True,
    )
    assert _effective() == ThinkingResult(
        level=NONE,
        budget_tokens=None,
        keyword=None,
        source=ThinkingSource.FALLBACK,
        explicit=False,
    )


@pytest.mark.parametrize(
    ("settings", "level", "budget"),
    [
        (ThinkingSettings(max_tokens=0), NONE, None),
        (ThinkingSettings(max_tokens=0, level=ULTRA), NONE, None),
        (ThinkingSettings(max_tokens=9_000), DEEP, 9_000),
        (ThinkingSettings(max_tokens=40_000), ULTRA, 40_000),
        (ThinkingSettings(max_tokens=9_000, level=ULTRA), ULTRA, 9_000),
        (ThinkingSettings(level=DEEP), DEEP, 16_000),
        (ThinkingSettings(level=NONE), NONE, None),
    ],
)
def test_variables_may_name_a_level_tokens_or_both(
    settings: ThinkingSettings, level: ThinkingLevel, budget: int | None
) -> None:
    found = _effective("ultrathink", settings=settings)
    assert (found.level, found.budget_tokens) == (level, budget)
    assert (found.source, found.explicit) == (ThinkingSource.VARIABLES, True)


def test_off_by_choice_is_told_to_the_provider_and_off_by_itself_is_not() -> None:
    chosen = _effective(state=ThinkingState(NONE))
    assert chosen.request() == ThinkingRequest(budget_tokens=0)
    assert _effective().request() is None
    assert _effective("ultrathink").request() == ThinkingRequest(
        budget_tokens=32_000, effort="xhigh"
    )


def test_models_have_their_own_levels_defaults_and_budgets() -> None:
    own = ThinkingSupport(
        levels=("deep_think", "ultra_think"),
        default="deep_think",
        max_budget=64_000,
        deep_budget=20_000,
        ultra_budget=99_000,
    )
    assert _effective(support=own).budget_tokens == 20_000
    assert _effective("ultrathink", support=own).budget_tokens == 64_000
    wanted = ThinkingConfig(level=DEEP, budget_tokens=80_000)
    assert _effective(support=own, per_turn=wanted).budget_tokens == 64_000
    only_deep = ThinkingSupport(levels=("deep_think",))
    lowered = _effective("ultrathink", support=only_deep)
    assert (lowered.level, lowered.budget_tokens, lowered.explicit) == (DEEP, 16_000, True)
    unable = _effective("ultrathink", support=ThinkingSupport())
    assert (unable.level, unable.explicit, unable.request()) == (NONE, False, None)


def test_auto_enable_is_for_models_that_can() -> None:
    auto = ThinkingSettings(auto_enable=True)
    found = _effective(settings=auto)
    assert (found.level, found.source) == (DEEP, ThinkingSource.SETTINGS)
    assert _effective(settings=auto, support=ThinkingSupport()).source is ThinkingSource.FALLBACK
    higher = replace(auto, default_level=ULTRA)
    assert _effective(settings=higher).level is ULTRA


def test_the_toggle_goes_round_both_ways() -> None:
    state = ThinkingState()
    assert [state.toggle_next() for _ in range(4)] == [DEEP, ULTRA, NONE, DEEP]
    state = ThinkingState()
    assert [state.toggle_previous() for _ in range(4)] == [ULTRA, DEEP, NONE, ULTRA]
    state.set_level(None)
    assert state.level is None


# -- In the loop -----------------------------------------------------------------------------------


def _thinker() -> ScriptedModel:
    answer = Message(role=Role.ASSISTANT, parts=(ThinkingPart("Hm, well."), TextPart("Yes.")))
    info = ModelInfo(name="m", provider="p", thinking=BOTH)
    return ScriptedModel(lambda _: answer, info=info)


def test_each_turn_is_thought_about_as_its_prompt_asks(make_session: MakeSession) -> None:
    model, thinking = _thinker(), Thinking(ThinkingSettings(interleaved=True))
    session = make_session((), model=model, capabilities=[thinking])

    async def turns() -> None:
        await session.run("ultrathink: why?")
        await session.run("And now?")
        thinking.for_next_turn(ThinkingConfig(level=DEEP, budget_tokens=5_000, interleaved=False))
        await session.run("Once more")
        await session.run("Once more")
        thinking.state.toggle_next()
        await session.run("Toggled")

    asyncio.run(turns())
    assert [request.thinking for request in model.requests] == [
        ThinkingRequest(budget_tokens=32_000, effort="xhigh", interleaved=True),
        None,
        ThinkingRequest(budget_tokens=5_000, effort="high"),
        None,
        ThinkingRequest(budget_tokens=16_000, effort="high", interleaved=True),
    ]
    assert thinking.result is not None
    assert thinking.result.source is ThinkingSource.SESSION_TOGGLE


def test_what_the_model_thinks_is_told_as_events(make_session: MakeSession) -> None:
    session = make_session((), model=_thinker(), capabilities=[Thinking()])

    async def events() -> list[object]:
        return [event async for event in session.stream("ultrathink")]

    seen = asyncio.run(events())
    deltas = [event for event in seen if isinstance(event, ThinkingDelta)]
    [complete] = [event for event in seen if isinstance(event, ThinkingComplete)]
    assert "".join(event.delta for event in deltas) == "Hm, well."
    assert complete.total_tokens > 0
    assert complete.turn_id == deltas[0].turn_id


def test_a_subagent_thinks_as_the_settings_say(make_session: MakeSession) -> None:
    model, thinking = _thinker(), Thinking(ThinkingSettings(default_level=DEEP))
    session = make_session((), model=model, capabilities=[thinking])
    thinking.state.set_level(ULTRA)
    asyncio.run(session.delegate("Look.", agent_type="explore"))
    [request] = model.requests
    assert request.thinking == ThinkingRequest(budget_tokens=16_000, effort="high")
