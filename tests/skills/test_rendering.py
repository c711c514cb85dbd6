"""A skill as the text that a model is given."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.skills.choosing import skill
from tests.skills.reading import document, skill_of
from wellkept.core.errors import UsageError
from wellkept.core.records import replace
from wellkept.core.skills import SkillContext, SkillFormat, SkillInvocation
from wellkept.skills.commands.rendering import Arguments, PromptBudget, render_prompt

pytestmark = pytest.mark.feature("F5")


def test_arguments_go_to_their_place_or_to_the_end() -> None:
    placed = skill("a", body="Fix $ARGUMENTS now.")
    assert render_prompt(placed, Arguments.of("the bug")).text == "Fix the bug now."
    plain = skill("a", body="Fix it.")
    assert render_prompt(plain, Arguments.of("the bug")).text == "Fix it.\n\nARGUMENTS: the bug"
    assert render_prompt(plain).text == "Fix it."


def test_the_folder_of_its_files_is_named_first(tmp_path: Path) -> None:
    made = skill_of(document(body="Run ${base_dir}/go.sh"), base_dir=tmp_path)
    assert render_prompt(made).text == (
        f"Base directory for this skill: {tmp_path}\n\nRun {tmp_path}/go.sh"
    )


@pytest.mark.parametrize("outside", ["../..", "/etc", "~/x", "a/../../b"])
def test_a_base_folder_that_leads_out_is_not_used(tmp_path: Path, outside: str) -> None:
    made = skill_of(document(more=f"base-dir: {outside}\n"), base_dir=tmp_path)
    assert render_prompt(made).text.startswith(f"Base directory for this skill: {tmp_path}\n")


def test_a_base_folder_that_became_a_link_out_is_not_used(tmp_path: Path) -> None:
    own, outside = tmp_path / "own", tmp_path / "outside"
    own.mkdir()
    outside.mkdir()
    made = skill_of(document(more="base-dir: part\n"), base_dir=own)
    (own / "part").symlink_to(outside)
    later = replace(made, path=own / "SKILL.md", base_dir=own / "part")
    assert str(outside) not in render_prompt(later).text
    assert f"skill: {own}\n" in render_prompt(later).text


def test_how_it_wants_to_be_run_is_told() -> None:
    how = SkillInvocation(
        allowed_tools=("Read", "Bash(git *)"),
        model="opus",
        context=SkillContext.FORK,
        agent="reviewer",
    )
    done = render_prompt(replace(skill("a"), invocation=how))
    assert (done.allowed_tools, done.model) == (("Read", "Bash(git *)"), "opus")
    assert (done.context, done.agent) == (SkillContext.FORK, "reviewer")
    inherits = replace(skill("a"), invocation=replace(how, model="inherit"))
    assert render_prompt(inherits).model is None


def test_what_is_left_out_is_told_with_true_numbers() -> None:
    body = "\n".join(f"line {number}" for number in range(1000))
    done = render_prompt(skill("a", body=body), budget=PromptBudget(max_chars=2_000))
    shown = [line for line in done.text.splitlines() if line.startswith("line ")]
    assert done.is_cut
    assert len(done.text) <= 2_000
    assert done.lines_left_out == 1000 - len(shown)
    assert f"[{done.lines_left_out:,} of 1,000 lines left out" in done.text
    whole = render_prompt(skill("a", body=body))
    assert not whole.is_cut
    assert whole.text == body


def test_the_arguments_are_not_what_is_cut() -> None:
    long = skill("a", body="word\n" * 5_000)
    done = render_prompt(long, Arguments.of("the bug"), budget=PromptBudget(max_chars=1_000))
    assert done.text.endswith("ARGUMENTS: the bug")


def test_one_endless_line_is_cut_by_characters() -> None:
    done = render_prompt(skill("a", body="x" * 50_000))
    assert done.is_cut
    assert len(done.text) <= 15_000
    left_out = 50_000 - done.text.count("x")
    assert f"[{left_out:,} of 50,000 characters left out" in done.text


@given(
    body=st.text(max_size=400),
    text=st.text(max_size=200),
    room=st.integers(min_value=150, max_value=600),
)
def test_a_prompt_always_fits_its_budget(body: str, text: str, room: int) -> None:
    budget = PromptBudget(max_chars=room, max_tokens=room // 3)
    done = render_prompt(skill("a", body=body), Arguments.of(text), budget=budget)
    assert budget.allows(done.text)


def test_no_room_at_all_is_an_error_and_not_an_empty_prompt() -> None:
    with pytest.raises(UsageError):
        render_prompt(skill("a", body="x" * 99), budget=PromptBudget(max_chars=5))


def test_the_prompt_of_another_server_is_asked_for_there() -> None:
    prompt = replace(skill("server:prompt"), format=SkillFormat.PROMPT)
    with pytest.raises(UsageError, match="is on the server"):
        render_prompt(prompt)
