"""From trails to procedures, verdicts and documents, by rule; and what holds for any session."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.samples import START
from wellkept.core.records import replace
from wellkept.core.session.steps import MAX_STEPS, SessionStep, StepPurpose, with_step
from wellkept.core.skills import SkillRun, skill_stats
from wellkept.skills.documents.fields import is_specified_name
from wellkept.skills.generation.document import code, free_name, name_for, prose
from wellkept.skills.generation.generate import (
    draft_skill,
    merge_procedures,
    refine_skill,
    render_document,
    require_valid,
    skip_reason,
)
from wellkept.skills.generation.outcome import SessionVerdict, judge_session
from wellkept.skills.generation.procedure import (
    Procedure,
    ProcedureStep,
    SessionHistory,
    effective_steps,
    extract_procedure,
    file_patterns,
    portable,
)

pytestmark = pytest.mark.feature("F9")


def edit(what: str, mark: str = "", *, prompt: int = 1) -> SessionStep:
    return SessionStep("edit", what, mark=mark, prompt=prompt)


def run(
    what: str,
    purpose: StepPurpose = "other",
    *,
    ok: bool = True,
    error: str | None = None,
    prompt: int = 1,
) -> SessionStep:
    return SessionStep("run", what, ok, purpose, error, prompt=prompt)


TEST = run("pytest -q", "test")
BROKEN = run("pytest -q", "test", ok=False, error="AssertionError")
COMMIT = run("git commit -m x", "commit")


def told(
    *trail: SessionStep, prompts: tuple[str, ...] = ("Do it",), **known: object
) -> SessionHistory:
    story: dict[str, object] = {"session_id": "s", "tool_count": 9, "prompts": prompts, **known}
    return SessionHistory(steps=trail, **story)  # pyright: ignore[reportArgumentType]


# -- Whether it went well -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("story", "verdict", "reason"),
    [
        (told(edit("a"), TEST), "success", "tests passed after the last edit"),
        (told(edit("a"), run("ruff check", "check")), "success", "checks passed after the last"),
        (told(TEST, edit("a"), COMMIT), "success", "a commit was made and kept"),
        (told(TEST, edit("a")), "unproven", "no sign whether it worked"),
        (told(edit("a"), run("./deploy")), "success", "its last command worked"),
        (told(edit("a"), run("./deploy", ok=False)), "failure", "its last command failed"),
        (told(edit("a"), BROKEN), "failure", "its last tests or checks fail"),
        (told(edit("a"), BROKEN, edit("a"), TEST), "success", "tests passed"),
        (told(edit("a"), BROKEN, run("./deploy")), "failure", "its last tests or checks fail"),
        (told(edit("a"), COMMIT, run("git revert HEAD")), "failure", "its edits were reverted"),
        (told(edit("a"), COMMIT, run("git reset --hard HEAD~1")), "failure", "reverted"),
        (told(edit("a"), run("git stash", "look")), "failure", "its edits were reverted"),
        (
            told(edit("a"), run("git stash", "look"), run("git stash pop", "look"), TEST),
            "success",
            "tests passed",
        ),
        (told(edit("a"), COMMIT, is_commit_lost=True), "failure", "no longer on a branch"),
        (
            told(edit("a"), prompts=("Add it", "Thanks, that works")),
            "success",
            "said that it works",
        ),
        (told(edit("a"), prompts=("追加して", "ありがとう")), "success", "said that it works"),
        (
            told(edit("a"), run("./x"), prompts=("Add it", "It still fails")),
            "failure",
            "said that it does not work",
        ),
        (
            told(
                edit("a"),
                edit("a", prompt=2),
                run("pytest", "test", prompt=2),
                prompts=("Add it", "That is wrong"),
            ),
            "success",
            "tests passed",
        ),
        (
            told(edit("a"), run("./x"), prompts=("Login does not work, mend it",)),
            "success",
            "its last command worked",
        ),
        (
            told(edit("a"), prompts=("Do", "不行", "现在可以了，谢谢")),
            "success",
            "the user said that it works",
        ),
        (told(), "unproven", "no sign whether it worked"),
    ],
)
def test_the_first_rule_that_holds_decides(
    story: SessionHistory, verdict: str, reason: str
) -> None:
    outcome = judge_session(story)
    assert outcome.verdict is SessionVerdict(verdict)
    assert reason in outcome.reason


def test_a_session_that_goes_on_or_did_one_thing_is_passed_over() -> None:
    assert skip_reason(told(edit("a"), TEST, is_open=True)) == "it is still open"
    assert skip_reason(told(edit("a"), TEST, tool_count=2)) is not None
    assert skip_reason(told(TEST)) == "it has no procedure of several steps"
    assert skip_reason(told(edit("a"), TEST)) is None


@pytest.mark.parametrize(
    ("request_text", "is_told"),
    [
        ("14", False),
        ("commit", False),
        ("yes", False),
        ("Add a route for invoices", True),
        ("修复登录错误", True),
        ("", True),
    ],
)
def test_a_request_that_names_no_task_makes_no_skill(request_text: str, *, is_told: bool) -> None:
    history = replace(told(edit("a"), TEST), title=None, prompts=(request_text,))
    assert (skip_reason(history) is None) is is_told


@pytest.mark.parametrize(
    ("worked", "failed", "is_proof"),
    [
        ("pytest -q", "pytest -q tests/test_a.py", True),
        ("pytest tests", "pytest tests/test_a.py::test_x", True),
        ("pytest tests/test_a.py", "pytest tests/test_a.py", True),
        ("pytest tests/test_b.py", "pytest tests/test_a.py", False),
        ("pytest tests/test_a.py", "pytest", False),
        ("npm test", "pytest", False),
        ("uv run pytest tests", "python -m pytest tests/test_a.py", True),
        ("CI=1 npm test", "npm test -- src/a.test.ts", True),
    ],
)
def test_only_a_run_that_is_as_wide_proves_that_tests_pass(
    worked: str, failed: str, is_proof: bool
) -> None:
    story = told(edit("a"), run(failed, "test", ok=False), edit("a"), run(worked, "test"))
    assert judge_session(story).is_success is is_proof


def test_the_tests_of_two_programs_are_two_steps() -> None:
    steps = extract_procedure(told(edit("a"), TEST, run("npm test", "test"), TEST)).steps
    assert [step.command for step in steps] == [None, "npm test", "pytest -q"]


# -- What stands ----------------------------------------------------------------------------------


def _files(*trail: SessionStep) -> list[str]:
    return [step.what for step in effective_steps(trail) if step.is_edit]


def test_edits_that_lead_back_to_where_they_began_are_gone() -> None:
    assert _files(edit("a", "1>2"), edit("b", "1>2"), edit("a", "2>1")) == ["b"]
    assert _files(edit("a", "1>2"), TEST, edit("a", "2>3"), TEST, edit("a", "3>1")) == []
    assert _files(edit("a", "1>2"), TEST, edit("a", "5>1")) == ["a", "a"]
    assert _files(edit("a", "1>1")) == []


def test_git_takes_back_what_it_names_since_the_last_commit() -> None:
    kept = (edit("src/a.py"), COMMIT)
    new = (edit("src/a.py"), edit("src/b.py"))
    assert _files(*kept, *new, run("git checkout -- src/b.py")) == ["src/a.py", "src/a.py"]
    assert _files(*kept, *new, run("git restore src/")) == ["src/a.py"]
    assert _files(*kept, *new, run("git checkout .")) == ["src/a.py"]
    assert _files(*kept, *new, run("git reset --hard")) == ["src/a.py"]
    assert len(_files(*kept, *new, run("git checkout -b feature/src"))) == 3
    assert len(_files(*kept, *new, run("git restore --staged src/a.py"))) == 3
    assert len(_files(*kept, *new, run("git checkout .", ok=False))) == 3


def test_a_command_counts_where_it_came_last_and_failures_are_no_steps() -> None:
    steps = extract_procedure(
        told(edit("src/a.py"), TEST, edit("src/b.py"), BROKEN, edit("src/c.py"), TEST, COMMIT)
    )
    assert [(step.action, step.purpose) for step in steps.steps] == [
        ("edit", "other"),
        ("run", "test"),
        ("run", "commit"),
    ]
    assert steps.steps[0].files == ("src/a.py", "src/b.py", "src/c.py")
    assert steps.patterns == ("src/*.py",)


def test_a_pitfall_names_the_error_and_what_helped() -> None:
    failed = run("npm run build", "check", ok=False, error="Cannot find module 'x'")
    steps = extract_procedure(
        told(failed, run("npm install x", "install"), run("npm run build", "check"))
    )
    (pitfall,) = steps.pitfalls
    assert (pitfall.error, pitfall.fix) == ("Cannot find module 'x'", "ran npm install x")
    other = extract_procedure(
        told(run("python x.py", ok=False), run("python x.py --force"), edit("a"))
    )
    assert other.pitfalls[0].fix == "ran python x.py --force instead"
    assert extract_procedure(told(failed, edit("a"))).pitfalls == ()


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("src/shop/cart.py", "src/shop/*.py"),
        ("tests/test_cart.py", "tests/test_*.py"),
        ("web/Cart.test.tsx", "web/*.test.tsx"),
        ("pkg/cart_test.go", "pkg/*_test.go"),
        ("pyproject.toml", "pyproject.toml"),
        ("docker/Dockerfile", "docker/Dockerfile"),
        ("app/[id]/page.tsx", "app/[id]/page.tsx"),
        (".github/workflows/ci.yml", ".github/workflows/*.yml"),
        ("conf/.env", "conf/.env"),
    ],
)
def test_files_become_patterns(file: str, pattern: str) -> None:
    assert file_patterns([file, file]) == (pattern,)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("cat /srv/shop/src/a.py", "cat src/a.py"),
        ("cd /srv/shop && ls", "cd . && ls"),
        ("cd /srv/shopping", "cd /srv/shopping"),
        ("cp x /home/ann/y '/Users/Bob Smith/z'", "cp x ~/y '~ Smith/z'"),
        (r"type C:\Users\ann\x.txt", r"type ~\x.txt"),
        ("ls /mnt/c/Users/ann/x /root/y /rooted", "ls ~/x ~/y /rooted"),
    ],
)
def test_what_holds_on_one_machine_only_is_taken_out(text: str, plain: str) -> None:
    assert portable(text, roots=("/srv/shop", "/")) == plain


# -- Trails ---------------------------------------------------------------------------------------


def test_a_trail_is_short_and_joins_edits_of_one_file_that_follow_each_other() -> None:
    trail: tuple[SessionStep, ...] = ()
    for number in range(MAX_STEPS + 20):
        trail = with_step(trail, run(f"make {number}"))
    assert len(trail) == MAX_STEPS
    assert trail[-1].what == f"make {MAX_STEPS + 19}"
    joined = with_step(with_step((), edit("a", "1>2")), edit("a", "2>3"))
    assert [step.mark for step in joined] == ["1>3"]
    apart = with_step(with_step((), edit("a", "1>2")), edit("a", "7>8"))
    assert [step.mark for step in apart] == [""]


# -- Words ----------------------------------------------------------------------------------------


def test_names_are_of_the_request_or_of_the_work_and_free() -> None:
    steps = Procedure(
        steps=(
            ProcedureStep(action="edit", patterns=("src/money/*.py",), files=("src/money/a.py",)),
            ProcedureStep(action="run", command="pytest -q", purpose="test"),
        )
    )
    assert name_for("Füge Größen-Tabelle hinzu!", steps, taken=()) == "fuge-groen-tabelle-hinzu"
    assert name_for("请添加折扣码", steps, taken=()) == "work-money-pytest"
    assert name_for("[redacted:aws]", Procedure(), taken=()) != ""
    long = name_for("word " * 3 + "x" * 200, steps, taken=())
    assert is_specified_name(long)
    assert free_name("a" * 64, taken={"a" * 64}) == "a" * 62 + "-2"
    assert free_name("Not A Name", taken=()) == "learned-procedure"


@given(st.text())
def test_foreign_words_stay_one_line_of_prose_and_one_code_span(text: str) -> None:
    line = prose(text, limit=80)
    assert len(line) <= 160
    assert not re.search(r"[\n\r`<>]", line)
    assert not line.startswith("#")
    span = code(text)
    boundary = re.match(r"`+", span)
    assert boundary is not None
    assert "\n" not in span
    inner = span[len(boundary[0]) : -len(boundary[0])]
    assert boundary[0] not in re.findall(r"`+", inner)


# -- Any session ----------------------------------------------------------------------------------

_TEXT = st.text(max_size=120) | st.sampled_from(
    ["---\nname: x\n---", "```", "# h", "a: b", "- x", "$ARGUMENTS", "{{", "!!python/x", "\ud800"]
)
_STEP = st.builds(
    SessionStep,
    kind=st.sampled_from(["edit", "create", "run", "tool", "skill"]),
    what=_TEXT.filter(bool),
    ok=st.booleans(),
    purpose=st.sampled_from(["test", "check", "install", "migrate", "commit", "look", "other"]),
    error=st.none() | _TEXT,
    mark=st.sampled_from(["", "1>2", "2>1", "2>3", "3>1"]),
    prompt=st.integers(0, 3),
)
_STORY = st.builds(
    SessionHistory,
    session_id=_TEXT,
    title=st.none() | _TEXT,
    prompts=st.lists(_TEXT, max_size=3).map(tuple),
    steps=st.lists(_STEP, max_size=12).map(tuple),
    files_read=st.lists(_TEXT, max_size=4).map(tuple),
    tool_count=st.integers(0, 9),
    commit_sha=st.none() | st.sampled_from(["abc1234", "1234567", "0e12345"]),
    observation_ids=st.lists(_TEXT, max_size=3).map(tuple),
    roots=st.sampled_from([(), ("/srv/shop",)]),
)


@settings(max_examples=150, deadline=None)
@given(_STORY)
def test_whatever_a_session_holds_its_document_validates(story: SessionHistory) -> None:
    draft = draft_skill(story, taken={"learned-procedure"}, redact=lambda text: text)
    skill = require_valid(render_document(draft), name=draft.name)
    assert not [found for found in skill.findings if found.is_error]
    assert is_specified_name(draft.name)
    assert judge_session(story).reason
    assert skill.hooks == ()


@settings(max_examples=60, deadline=None)
@given(st.lists(_STORY, min_size=1, max_size=4))
def test_whatever_sessions_hold_their_merged_document_validates(
    stories: list[SessionHistory],
) -> None:
    draft = refine_skill(stories, name="merged", redact=lambda text: text)
    require_valid(render_document(draft), name="merged")
    assert draft.session_ids == tuple(story.session_id for story in stories)


@given(_STORY)
def test_merging_one_procedure_changes_nothing(story: SessionHistory) -> None:
    assert merge_procedures([extract_procedure(story)]) == extract_procedure(story)


# -- Records --------------------------------------------------------------------------------------


def test_a_streak_counts_only_failures_after_the_last_look() -> None:
    from datetime import timedelta

    def ran(day: int, succeeded: bool | None) -> SkillRun:
        at = START + timedelta(days=day)
        return SkillRun(skill_id="x", session_id=str(day), used_by="me", at=at, succeeded=succeeded)

    runs = [ran(4, False), ran(1, True), ran(2, False), ran(3, None), ran(5, False)]
    whole = skill_stats(runs)
    assert (whole.uses, whole.judged, whole.succeeded, whole.failed_in_a_row) == (5, 4, 1, 3)
    assert skill_stats(runs, since=START + timedelta(days=4)).failed_in_a_row == 1
    assert skill_stats([]).success_rate == 1.0
    assert skill_stats([*runs, ran(6, True)]).failed_in_a_row == 0
