"""Choosing the few skills that help with a prompt."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.skills.choosing import skill
from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.records import replace
from wellkept.core.skills import (
    InjectionPhase,
    Severity,
    Skill,
    SkillFinding,
    SkillFormat,
    SkillInvocation,
)
from wellkept.skills.selection.detection import ProjectFiles, detect_skills
from wellkept.skills.selection.lexical import document_scores, query_words
from wellkept.skills.selection.scoring import SkillSearch
from wellkept.skills.selection.select import SelectionPolicy, SkillSelection, select_skills
from wellkept.testing.fakes import WordEmbedder

pytestmark = pytest.mark.feature("F4")

DOCKER = skill("docker-slim", "Make container images smaller.", tags=("docker", "build"))
SQL = skill(
    "sql-tuning", "Speed up slow database queries with indexes.", tags=("sql",), globs=("**/*.sql",)
)
REACT = skill(
    "react",
    "Build React components.",
    files=("package.json",),
    patterns=('"react"',),
    tags=("web",),
)
DJANGO = skill(
    "django", "Build Django views and components.", files=("manage.py",), tags=("web", "python")
)
ALL = (DOCKER, SQL, REACT, DJANGO)
ANY = SelectionPolicy(min_score=0.0)


def chosen(found: SkillSelection) -> list[str]:
    return [choice.skill.name for choice in found.choices]


def pick(prompt: str, *skills: Skill, policy: SelectionPolicy = ANY) -> list[str]:
    return chosen(select_skills(SkillSearch(skills or ALL), prompt, policy=policy))


# -- What speaks for a skill ----------------------------------------------------------------------


def test_shared_words_choose_and_are_named_as_the_reason() -> None:
    found = select_skills(SkillSearch(ALL), "our images are too large, make them smaller")
    assert chosen(found) == ["docker-slim"]
    assert found.choices[0].reasons[0].startswith("shares the words ")
    assert "images" in found.choices[0].reasons[0]


def test_a_skill_is_found_by_its_other_names() -> None:
    plain = skill("deploy", "Brings the app to the servers.")
    named = replace(plain, name="deliver", invocation=SkillInvocation(aliases=("ship", "roll-out")))
    search = SkillSearch((plain, named, *ALL))
    for asked in ("ship", "roll out"):
        chosen = select_skills(search, asked, policy=ANY).choices
        assert [one.skill.name for one in chosen] == ["deliver"]


def test_a_score_is_the_sum_of_its_parts() -> None:
    search = SkillSearch(ALL, embedder=WordEmbedder())
    detected = detect_skills(ALL, ProjectFiles.of({"manage.py": ""}))
    found = select_skills(
        search, "slow components, see a.sql", policy=ANY, files=("b.sql",), detected=detected
    )
    assert found.choices
    for choice in found.choices:
        assert math.isclose(choice.score, sum(p.effect for p in choice.parts), abs_tol=1e-5)


def test_a_file_at_hand_speaks_for_the_skill_about_such_files() -> None:
    assert pick("look at reports/daily.sql please")[0] == "sql-tuning"
    by_hand = select_skills(SkillSearch(ALL), "look at this", policy=ANY, files=("q.sql",))
    assert by_hand.choices[0].reasons == ("q.sql fits **/*.sql",)


def test_the_project_decides_between_equals() -> None:
    detected = detect_skills(ALL, ProjectFiles.of({"manage.py": ""}))
    found = select_skills(SkillSearch(ALL), "build components", policy=ANY, detected=detected)
    assert chosen(found)[0] == "django"
    assert "the project has manage.py" in found.choices[0].reasons


def test_other_words_for_the_same_thing_are_understood() -> None:
    assert "kubernet" in query_words("k8s pod restarts")
    assert "datab" in query_words("数据库很慢") or "databas" in query_words("数据库很慢")
    assert pick("数据库查询很慢")[0] == "sql-tuning"


def test_meaning_finds_what_words_of_the_index_do_not_weigh() -> None:
    search = SkillSearch(ALL, embedder=WordEmbedder())
    found = select_skills(search, "queries", policy=ANY)
    assert "meaning" in {part.name for part in found.choices[0].parts}


def test_an_embedder_that_fails_leaves_the_words_and_a_remark() -> None:
    class Broken(WordEmbedder):
        def embed_query(self, text: str) -> bytes:
            raise ProviderError("The model is gone.")

    found = select_skills(SkillSearch(ALL, embedder=Broken()), "smaller container images")
    assert chosen(found) == ["docker-slim"]
    assert found.notes == ("Chosen by words alone: The model is gone.",)


# -- What a policy lets in ------------------------------------------------------------------------


def test_at_most_three_are_chosen_unless_the_policy_says_otherwise() -> None:
    many = [skill(f"docker-{n}", "Make images smaller.") for n in range(9)]
    assert len(pick("smaller docker images", *many)) == 3
    policy = SelectionPolicy(limit=5, min_score=0.0)
    assert len(pick("smaller docker images", *many, policy=policy)) == 5


def test_tags_in_and_out_are_honoured_without_regard_to_case() -> None:
    wanted = SelectionPolicy(include_tags=("Web",), min_score=0.0)
    assert set(pick("build components", policy=wanted)) == {"react", "django"}
    unwanted = SelectionPolicy(include_tags=("web",), exclude_tags=("PYTHON",), min_score=0.0)
    assert pick("build components", policy=unwanted) == ["react"]


def test_a_tag_cannot_be_wanted_and_unwanted() -> None:
    with pytest.raises(UsageError, match="both included and excluded"):
        pick("x", policy=SelectionPolicy(include_tags=("a",), exclude_tags=("A",)))


def test_small_talk_gets_no_skill() -> None:
    for prompt in ("thanks", "yes go ahead", "ok", "continue", "hello", "好的"):
        assert chosen(select_skills(SkillSearch(ALL), prompt)) == []


def test_empty_switched_off_and_private_skills_are_never_chosen() -> None:
    skills = [
        skill("docker-a", "Make images smaller.", enabled=False),
        skill("docker-b", "Make images smaller.", for_people_only=True),
        skill("docker-c", "Make images smaller.", body=""),
        skill("CLAUDE", "Make images smaller.", format=SkillFormat.CONVENTION),
    ]
    assert pick("smaller docker images", *skills) == []
    for_people = SelectionPolicy(min_score=0.0, for_people=True, limit=9)
    assert len(pick("smaller docker images", *skills, policy=for_people)) == 3


def test_a_phase_lets_only_its_skills_in() -> None:
    retry = skill("docker-retry", "Make images smaller.", phases=(InjectionPhase.RETRY,))
    planning = SelectionPolicy(phase=InjectionPhase.PLANNING, min_score=0.0)
    assert pick("smaller images", retry, DOCKER, policy=planning) == ["docker-slim"]


def test_without_a_prompt_the_project_alone_decides() -> None:
    detected = detect_skills(ALL, ProjectFiles.of({"manage.py": ""}))
    assert chosen(select_skills(SkillSearch(ALL), "", detected=detected)) == ["django"]
    assert chosen(select_skills(SkillSearch(ALL), "  ")) == []


def test_no_skills_give_no_choice() -> None:
    assert select_skills(SkillSearch(()), "anything").choices == ()


def test_an_unknown_profile_and_a_negative_limit_are_refused() -> None:
    with pytest.raises(UsageError, match="default, document"):
        pick("x", policy=SelectionPolicy(profile="nope"))
    with pytest.raises(UsageError, match="limit -1"):
        pick("x", policy=SelectionPolicy(limit=-1))


# -- The formula of the documents -----------------------------------------------------------------


def test_the_documents_weights_are_over_the_root_of_the_body_length() -> None:
    one = skill("pdf", "read a pdf", "pdf pdf text now", tags=("pdf",))
    (score,) = document_scores([one], "pdf")
    assert math.isclose(score, (4.0 + 2.5 + 2.0 + 1.0) / math.sqrt(4))


def test_the_document_profile_puts_detected_skills_first_by_priority() -> None:
    skills = (
        skill("pdf", "read a pdf", "pdf"),
        skill("low", files=("x",), priority=210),
        skill("high", files=("x",), priority=250),
    )
    detected = detect_skills(skills, ProjectFiles.of({"x": ""}))
    policy = SelectionPolicy(profile="document")
    found = select_skills(SkillSearch(skills), "pdf", policy=policy, detected=detected)
    assert chosen(found) == ["high", "low", "pdf"]


# -- Properties -----------------------------------------------------------------------------------

_words = st.sampled_from("docker image sql slow react build 数据库 test.sql the a.py x".split())
_prompts = st.lists(_words, max_size=8).map(" ".join)
_tags = st.lists(
    st.sampled_from(["docker", "sql", "web", "python", "none"]), max_size=2, unique=True
)


@given(prompt=_prompts, tags=_tags, limit=st.integers(0, 5), order=st.permutations(ALL))
def test_choosing_is_deterministic_and_keeps_to_its_policy(
    prompt: str, tags: list[str], limit: int, order: list[Skill]
) -> None:
    wanted, unwanted = tuple(tags[:1]), tuple(tags[1:])
    policy = SelectionPolicy(limit=limit, include_tags=wanted, exclude_tags=unwanted, min_score=0.0)
    found = select_skills(SkillSearch(ALL), prompt, policy=policy)
    again = select_skills(SkillSearch(order), prompt, policy=policy)
    assert chosen(found) == chosen(again)
    assert len(found.choices) <= limit
    scores = [choice.score for choice in found.choices]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    for choice in found.choices:
        assert not wanted or set(wanted) & set(choice.skill.tags)
        assert not set(unwanted) & set(choice.skill.tags)


@pytest.mark.parametrize("blob", ["a" * 300_000, "a/" * 200_000, "a." * 200_000, "[" * 300_000])
def test_a_huge_prompt_is_read_from_its_beginning(blob: str) -> None:
    found = select_skills(SkillSearch(ALL), f"smaller container images {blob}", policy=ANY)
    assert chosen(found)[0] == "docker-slim"


def test_files_at_hand_may_come_with_windows_separators() -> None:
    found = select_skills(SkillSearch(ALL), "look", policy=ANY, files=("db\\q.sql",))
    assert chosen(found) == ["sql-tuning"]


@given(prompt=st.text(max_size=300))
def test_any_text_can_be_asked(prompt: str) -> None:
    select_skills(SkillSearch(ALL, embedder=WordEmbedder()), prompt)


def test_a_skill_that_breaks_a_rule_of_its_format_is_chosen_all_the_same() -> None:
    wrong = SkillFinding(Severity.ERROR, "name-folder", "The name is not that of its folder.")
    found = pick(
        "smaller docker images", skill("docker", "Make images smaller.", findings=(wrong,))
    )
    assert found == ["docker"]
