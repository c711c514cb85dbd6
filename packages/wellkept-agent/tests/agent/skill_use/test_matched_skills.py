"""Skills that fit a prompt are told with it, within their budget (F5, G10, G11)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from tests.agent.conftest import MakeSession
from wellkept.core.chat.messages import MessageKind, assistant_message, user_message
from wellkept.testing.scripted_model import ScriptedModel
from wellkept_agent import AgentSession
from wellkept_agent import skill_use as module
from wellkept_agent.budgets import CUT, SkillText
from wellkept_agent.compaction.capability import Compaction
from wellkept_agent.counters import Counters, CountUsage
from wellkept_agent.events import ProblemReported
from wellkept_agent.recall import SHOWN
from wellkept_agent.settings import FeatureFlags
from wellkept_agent.skill_use import MatchedSkill, MatchSkills

pytestmark = pytest.mark.feature("F5", "G10", "G11")


def skill(name: str, body: str = "Tag first, then push.", score: float = 0.8) -> MatchedSkill:
    return MatchedSkill(
        SkillText(name=name, heading=f"## {name}", body=body, score=score), f"s:{name}"
    )


class Match:
    """Finds the skills whose name is in the prompt."""

    def __init__(self, *skills: MatchedSkill) -> None:
        self._skills = skills

    def __call__(self, prompt: str, /) -> Sequence[MatchedSkill]:
        return [one for one in self._skills if one.skill.name in prompt]


def told(session: AgentSession) -> list[str]:
    return [m.text for m in session.conversation.turns if m.kind is MessageKind.REMINDER]


def test_a_skill_that_fits_is_told_before_the_prompt_and_once(make_session: MakeSession) -> None:
    session = make_session(["a", "b"], capabilities=[MatchSkills(Match(skill("release")))])
    asyncio.run(session.run("prepare the release"))
    asyncio.run(session.run("another release"))
    first, prompt, *_ = session.conversation.turns
    assert "## release\nTag first, then push." in first.text
    assert prompt.text == "prepare the release"
    assert len(told(session)) == 1
    assert session.state.get(SHOWN) == ["s:release"]


@pytest.mark.parametrize("prompt", ["fix the bug", "/release now", "  "])
def test_most_prompts_get_nothing(make_session: MakeSession, prompt: str) -> None:
    session = make_session(["a"], capabilities=[MatchSkills(Match(skill("release")))])
    asyncio.run(session.run(prompt))
    assert told(session) == []


def test_of_two_large_skills_one_is_told_and_cut(make_session: MakeSession) -> None:
    large = "a line of a long skill\n" * 400
    match = Match(skill("release", large), skill("tag", large))
    session = make_session(["a"], capabilities=[MatchSkills(match)])
    asyncio.run(session.run("release and tag"))
    (text,) = told(session)
    assert "## release" in text
    assert "## tag" not in text
    assert CUT in text
    assert len(text) < 4_200
    few = make_session(
        ["a"],
        capabilities=[MatchSkills(match, flags=FeatureFlags(skills_max_injected_chars=200))],
    )
    asyncio.run(few.run("release and tag"))
    assert len(told(few)[0]) < 360


def test_after_compaction_it_is_told_again(make_session: MakeSession) -> None:
    compaction = Compaction()
    session = make_session(
        ["the answer"] * 5,
        capabilities=[compaction, MatchSkills(Match(skill("release")))],
        messages=[user_message("x " * 9_000), assistant_message("y " * 9_000)],
    )
    asyncio.run(session.run("release it"))
    asyncio.run(compaction.compact("short"))
    asyncio.run(session.run("release again"))
    turns = session.conversation.turns
    assert turns[-3].kind is MessageKind.REMINDER
    assert "Tag first" in turns[-3].text


def test_matches_are_counted(make_session: MakeSession) -> None:
    usage = CountUsage(Counters())
    session = make_session(["a", "b"], capabilities=[MatchSkills(Match(skill("release"))), usage])
    asyncio.run(session.run("release"))
    asyncio.run(session.run("release"))
    seen = usage.counters.report()
    assert seen.skill_matched == 2
    assert seen.skills["release"].mean_score == 0.8


def test_a_search_that_fails_or_is_late_tells_nothing(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MATCH_LIMIT_S", 0.01)
    released = threading.Event()

    def late(_prompt: str, /) -> Sequence[MatchedSkill]:
        released.wait(5)
        return [skill("release")]

    def broken(_prompt: str, /) -> Sequence[MatchedSkill]:
        raise RuntimeError("no index")

    for match, problems in ((late, 0), (broken, 1)):
        model = ScriptedModel(["a"])
        session = make_session([], model=model, capabilities=[MatchSkills(match)])
        seen: list[ProblemReported] = []
        session.listen(
            lambda e, seen=seen: seen.append(e) if isinstance(e, ProblemReported) else None
        )

        async def run(session: AgentSession = session) -> None:
            assert (await session.run("release")).ok
            released.set()

        asyncio.run(run())
        assert told(session) == []
        assert len(seen) == problems
