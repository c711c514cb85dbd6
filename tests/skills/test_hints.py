"""Naming a skill unasked: only where it clearly fits."""

from __future__ import annotations

import pytest

from bench.skill_hints import MIN_PRECISION, PROMPTS, hinted, read
from bench.skills_data import SHIPPED, load
from tests.skills.choosing import skill
from wellkept.core.records import replace
from wellkept.core.skills import Skill, SkillKind
from wellkept.skills.selection.scoring import SkillSearch
from wellkept.skills.selection.select import MAX_WORDS, hint_for

pytestmark = [pytest.mark.feature("B9"), pytest.mark.feature("F4")]

SLIM = skill("docker-slim", "Make docker container images smaller.", tags=("docker", "image"))
TUNING = skill("sql-tuning", "Speed up slow database queries with indexes.", tags=("sql",))
NOTES = skill("release-notes", "Write the release notes and the changelog of a version.")


def _hint(prompt: str, *skills: Skill) -> str | None:
    found = hint_for(SkillSearch(skills or (SLIM, TUNING, NOTES)), prompt)
    return None if found is None else found.skill.name


def test_a_request_in_the_words_of_a_skill_names_it() -> None:
    assert _hint("make the docker container image smaller") == "docker-slim"
    assert _hint("write release notes and the changelog for this version") == "release-notes"


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "   ",
        "6",
        "commit",
        "docker image",
        "yes, do that",
        "the slow one is the second, look at it again",
        "rename the index column in the report",
    ],
)
def test_short_answers_and_passing_words_name_none(prompt: str) -> None:
    assert _hint(prompt) is None


def test_a_long_brief_names_none_whatever_its_words() -> None:
    plan = "make the docker container image smaller " * 20
    assert len(plan.split()) > MAX_WORDS
    assert _hint(plan) is None
    assert _hint(f"{plan} with docker-slim") is None


def test_two_skills_that_fit_alike_name_neither() -> None:
    twin = skill("docker-small", "Make docker container images smaller.", tags=("docker", "image"))
    assert _hint("make the docker container image smaller", SLIM, twin) is None


def test_a_skill_that_comes_with_wellkept_is_named_only_by_its_name() -> None:
    own = replace(SLIM, source=replace(SLIM.source, kind=SkillKind.BUILTIN))
    assert _hint("make the docker container image smaller", own) is None
    assert _hint("use docker-slim on this", own) == "docker-slim"


def test_hints_on_everyday_prompts_are_right_nine_times_of_ten() -> None:
    search = SkillSearch(load(SHIPPED).skills)
    found = hinted(search, read(PROMPTS))
    assert found.prompts == 80
    assert found.named >= 8
    assert found.precision is not None
    assert found.precision >= MIN_PRECISION
