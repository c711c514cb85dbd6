"""Token budgets and the trimming order (G10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.chat.messages import ModelInfo
from wellkept.core.records import replace
from wellkept.core.text import estimate_tokens
from wellkept_agent.budgets import CUT, PromptBudgets, PromptParts, SkillText, cut, trimmed

pytestmark = pytest.mark.feature("G10")

BUDGETS = PromptBudgets()


def skill(name: str, tokens: int, score: float = 0.9) -> SkillText:
    return SkillText(
        name=name, heading=f"### {name}", body="word " * (tokens * 4 // 5), score=score
    )


def memories(count: int, chars: int) -> tuple[str, ...]:
    return tuple(f"- [FACT] {i} ".ljust(chars, "x") for i in range(count))


def test_what_fits_is_left_as_it_is() -> None:
    parts = PromptParts(
        base="b", index="i", memories=memories(8, 100), skills=(skill("a", 400), skill("b", 400))
    )
    assert trimmed(parts, BUDGETS) == parts


def test_skills_give_way_first() -> None:
    parts = PromptParts(memories=memories(8, 200), skills=(skill("a", 900), skill("b", 900)))
    result = trimmed(parts, BUDGETS)
    assert [one.name for one in result.skills] == ["a"]
    assert len(result.memories) == 8
    assert result.trimmed == ("skills: 2 -> 1",)


def test_then_memories_then_the_body_of_the_skill() -> None:
    one = skill("a", 1_150)
    fewer_memories = trimmed(PromptParts(memories=memories(8, 240), skills=(one,)), BUDGETS)
    assert fewer_memories.trimmed == ("memories: 8 -> 5",)
    assert fewer_memories.skills == (one,)
    cut_body = trimmed(PromptParts(memories=memories(8, 240), skills=(skill("a", 5_000),)), BUDGETS)
    assert len(cut_body.memories) == 5
    assert cut_body.skills[0].body.endswith(CUT)
    assert cut_body.trimmed[0] == "memories: 8 -> 5"


def test_a_last_skill_of_low_relevance_is_skipped() -> None:
    parts = PromptParts(skills=(skill("a", 3_000, score=0.1),))
    assert trimmed(parts, BUDGETS).skills == ()


def test_large_tools_take_nothing_from_memories() -> None:
    parts = PromptParts(tools_tokens=9_000, base="b" * 8_000, memories=memories(8, 200))
    assert trimmed(parts, BUDGETS) == parts


def test_a_small_model_is_told_less() -> None:
    small = BUDGETS.for_model(
        ModelInfo(name="m", provider="ollama", context_tokens=8_192, small=True)
    )
    assert small.memories_tokens < BUDGETS.memories_tokens // 2
    assert small.memories_chars < BUDGETS.memories_chars // 2
    assert BUDGETS.for_model(ModelInfo(name="m", provider="x", context_tokens=200_000)) is BUDGETS


@given(
    memories=st.lists(st.text(max_size=400), max_size=20),
    skills=st.lists(
        st.builds(
            SkillText,
            name=st.just("s"),
            heading=st.text(max_size=40),
            body=st.text(max_size=3_000),
            score=st.floats(0, 1),
        ),
        max_size=4,
    ),
    index=st.text(max_size=9_000),
    chars=st.none() | st.integers(0, 4_000),
    budgets=st.builds(
        PromptBudgets,
        memories_tokens=st.integers(0, 500),
        skills_tokens=st.integers(0, 1_000),
        index_tokens=st.integers(0, 1_000),
    ),
)
def test_everything_fits_and_trimming_twice_changes_nothing(
    memories: list[str],
    skills: list[SkillText],
    index: str,
    chars: int | None,
    budgets: PromptBudgets,
) -> None:
    parts = PromptParts(index=index, memories=tuple(memories), skills=tuple(skills))
    result = trimmed(parts, budgets, skills_chars=chars)
    assert result.memories_tokens <= budgets.memories_tokens
    assert len("\n".join(result.memories)) <= budgets.memories_chars
    assert (
        result.memories_tokens + result.skills_tokens
        <= budgets.memories_tokens + budgets.skills_tokens
    )
    assert chars is None or sum(len(one.text) for one in result.skills) <= chars
    assert estimate_tokens(result.index) <= budgets.index_tokens
    again = trimmed(replace(result, trimmed=()), budgets, skills_chars=chars)
    assert again == replace(result, trimmed=())


def test_a_cut_falls_at_the_end_of_a_line() -> None:
    text = "\n".join(f"line {i} with some words" for i in range(100))
    short = cut(text, tokens=100)
    assert short.endswith(CUT)
    assert short.removesuffix(CUT).splitlines() == text.splitlines()[: short.count("\n")]
