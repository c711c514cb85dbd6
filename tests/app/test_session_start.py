"""A session start in sections: order, budget, limits, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from tests.app.test_way_outs import shipping, take
from tests.observe.learning_steps import Work
from wellkept.context.packing import render_context
from wellkept.context.sections import TITLES, Section
from wellkept.core.records import replace
from wellkept.core.session.events import Event
from wellkept.core.settings.model import Settings
from wellkept.core.types import MemoryType
from wellkept.observe.ingest.ingest import EventIngester
from wellkept.testing.fakes import ManualClock
from wellkept.text.shell.environment import Environment, ProjectLocation

pytestmark = pytest.mark.feature("B9", "C9")


@pytest.fixture
def repo(tmp_path: Path) -> GitRepository:
    return GitRepository.create(tmp_path / "repo")


@pytest.fixture
def wk(repo: GitRepository) -> wellkept.Wellkept:
    clock = ManualClock(Work(4).prompt("x").origin.at)
    settings = Settings(embedding_provider="none")
    return wellkept.open(cwd=repo.root, settings=settings, clock=clock)


def fix(number: int, *, path: str = "src/ledger.py") -> list[Event]:
    w = Work(number)
    return [
        w.prompt(f"Fix the rounding of refunds in the ledger, part {number}"),
        w.change(path),
        w.run("pytest -q", "3 passed in 0.1s"),
        w.turn_end(f"Refunds round half up, part {number}. Nothing is committed."),
        w.end(),
    ]


def text_of(wk: wellkept.Wellkept, **options: object) -> str:
    return render_context(wk.context(moment="session", **options))  # type: ignore[arg-type]


def test_after_a_fix_and_what_people_taught_the_start_has_all_of_it(
    wk: wellkept.Wellkept,
) -> None:
    take(wk, fix(3))
    wk.remember("The billing host is billing.internal:8443", type="fact", source="user_taught")
    wk.remember("Invoices are numbered per year", type="fact", source="user_taught")
    wk.remember("Exports must stay below 10 MB", type="requirement", source="user_taught")
    pack = wk.context(moment="session")
    text = render_context(pack)
    for words in ("part 3", "billing.internal:8443", "numbered per year", "below 10 MB"):
        assert text.count(words) == 1
    assert [one.name for one in pack.sections] == [Section.LEFT_OFF, Section.RULES]


def test_sections_come_in_order_and_only_with_content(
    wk: wellkept.Wellkept, repo: GitRepository
) -> None:
    take(wk, fix(3))
    take(wk, shipping(4))
    repo.write("src/ledger.py", "1\n")
    wk.remember("Never edit generated files", type="convention", source="user_taught")
    wk.remember("The gateway times out after three retries", type="gotcha", importance=0.9)
    wk.remember("We keep amounts in cents", type="decision")
    wk.remember("The ledger is read only", type="fact", needs_review=True)
    pack = wk.context(moment="session")
    names = [one.name for one in pack.sections]
    assert names == [Section.LEFT_OFF, Section.RULES, Section.GIT, Section.KNOWN]
    text = render_context(pack)
    heads = [text.index(TITLES[one]) for one in names]
    assert heads == sorted(heads)
    assert pack.used_tokens <= pack.budget_tokens == 250
    assert set(pack.ids) == {one for section in pack.sections for one in section.ids}
    # What waits for a person is said once: the next session adds nothing to it.
    take(wk, fix(5))
    assert "To review" not in text_of(wk)


def test_a_command_that_fails_session_after_session_is_told_with_what_worked(
    wk: wellkept.Wellkept,
) -> None:
    told = "- `make ship` failed in 3 sessions; worked: `SHIP_REGION=eu-west make ship`"
    for number in (1, 2):
        take(wk, shipping(number))
    take(wk, fix(3))
    assert "make ship" not in text_of(wk)
    take(wk, shipping(4))
    assert told in text_of(wk)
    # Five sessions without it: nobody runs it any more.
    for number in range(5, 10):
        take(wk, fix(number))
    assert "make ship" not in text_of(wk)


def test_what_was_shown_is_not_told_again(wk: wellkept.Wellkept) -> None:
    take(wk, fix(3))
    wk.remember("Never edit generated files", type="convention", source="user_taught")
    first = wk.context(moment="session")
    assert wk.context(moment="session", shown=first.ids).used_tokens == 0


def test_of_two_rules_that_say_the_same_the_newest_is_told(wk: wellkept.Wellkept) -> None:
    clock = wk.engine.clock
    assert isinstance(clock, ManualClock)
    wk.remember(
        "Use port 3000 for the local preview server",
        type="convention",
        source="user_taught",
        importance=0.9,
    )
    clock.advance(days=1)
    wk.remember(
        "Use port 3001 for the local preview server",
        type="convention",
        source="user_taught",
        importance=0.3,
    )
    text = text_of(wk)
    assert "3001" in text
    assert "3000" not in text


def test_limits_per_request(wk: wellkept.Wellkept) -> None:
    for number in (1, 2, 3):
        take(wk, fix(number))
    last = text_of(wk)
    assert "part 3" in last
    assert "part 2" not in last
    more = text_of(wk, session_limit=3, budget_tokens=800)
    assert [words in more for words in ("part 1", "part 2", "part 3")] == [True] * 3
    assert "Earlier work:" in more
    assert wk.context(moment="session", session_limit=0).used_tokens == 0
    assert wk.context(moment="session", days=1).used_tokens > 0
    clock = wk.engine.clock
    assert isinstance(clock, ManualClock)
    clock.advance(days=5)
    assert wk.context(moment="session", days=1).used_tokens == 0


def test_records_of_earlier_sessions_are_named_by_day_with_id_and_cost(
    wk: wellkept.Wellkept,
) -> None:
    for number in (1, 2):
        w = Work(number)
        made = f"[main 0c0ffee{number}a] Fix refunds {number}\n 1 file changed"
        commit = w.run(f"git commit -am 'Fix refunds {number}'", output=made)
        done = w.turn_end("Refunds of an order are rounded once, at the end of the sum.")
        take(wk, [w.change("src/ledger.py"), commit, done, w.end()])
    text = text_of(wk, session_limit=2, observation_limit=5, budget_tokens=800)
    assert "2026-04-02: Fix refunds 1 [m:" in text
    assert "Fix refunds 1 [m:" not in text_of(wk, session_limit=2, observation_limit=0)


def test_a_project_can_set_the_limits(repo: GitRepository) -> None:
    clock = ManualClock(Work(4).prompt("x").origin.at)
    settings = Settings(embedding_provider="none", context_sessions=0)
    with wellkept.open(cwd=repo.root, settings=settings, clock=clock) as wk:
        take(wk, fix(3))
        assert wk.context(moment="session").used_tokens == 0
        assert wk.context(moment="session", session_limit=2).used_tokens > 0


def test_a_small_budget_keeps_the_last_work(wk: wellkept.Wellkept) -> None:
    take(wk, fix(3))
    for number in range(30):
        wk.remember(
            f"Rule number {number}: " + f"word{number} " * 30,
            type="convention",
            source="user_taught",
        )
    for budget in (60, 150, 400, 800):
        pack = wk.context(moment="session", budget_tokens=budget, max_chars=2_000)
        assert pack.used_tokens <= budget
        assert len(render_context(pack)) <= 2_000
    assert "part 3" in text_of(wk, budget_tokens=150)


@pytest.mark.feature("D10")
def test_a_trap_of_all_files_of_a_kind_is_told_before_one_is_written(
    wk: wellkept.Wellkept, repo: GitRepository
) -> None:
    repo.write("docs/plan.md", "# Plan\n")
    trap = wk.remember(
        "Markdown is linted at commit: a language on every fence", type="gotcha", files=("*.md",)
    ).memory
    assert trap.type is MemoryType.GOTCHA
    assert "a language on every fence" in render_context(wk.context(files=["docs/plan.md"]))
    assert "a language on every fence" in render_context(wk.context(files=["docs/new.md"]))
    assert wk.context(files=["docs/plan.txt"]).used_tokens == 0


def test_what_git_says_now_is_told(wk: wellkept.Wellkept, repo: GitRepository) -> None:
    repo.write("src/ledger.py", "1\n")
    repo.commit("first")
    root = str(wk.root)
    world = Environment(locate=lambda cwd: ProjectLocation(wk.project, (root,)))
    w = Work(3)
    events = [w.prompt("Fix the rounding of refunds in the ledger"), w.change("src/ledger.py")]
    here = [replace(one, origin=replace(one.origin, cwd=root)) for one in events]
    EventIngester(wk.engine, world).commit(here, [])
    assert "Not committed" not in text_of(wk)
    repo.write("src/ledger.py", "2\n")
    repo.write("notes.txt", "1\n")
    assert "- Not committed: changed: src/ledger.py; untracked: notes.txt\n" in text_of(wk)
    repo.git("add", "-A")
    assert "- Not committed: staged: src/ledger.py, notes.txt\n" in text_of(wk)
    assert "Not committed" not in text_of(wk, branch="main")


def test_ahead_and_behind_are_as_git_looks_them_up(
    wk: wellkept.Wellkept, repo: GitRepository
) -> None:
    take(wk, fix(3))
    repo.commit("first")
    assert "ahead" not in text_of(wk)
    branch = repo.git("branch", "--show-current").strip()
    repo.git("update-ref", f"refs/remotes/origin/{branch}", "HEAD")
    repo.git("config", "remote.origin.url", "https://example.org/shop.git")
    repo.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    repo.git("config", f"branch.{branch}.remote", "origin")
    repo.git("config", f"branch.{branch}.merge", f"refs/heads/{branch}")
    assert "ahead" not in text_of(wk)
    repo.commit("second")
    assert f"- 1 ahead of origin/{branch}\n" in text_of(wk)


def test_what_was_said_in_passing_is_told_for_two_days_and_a_rule_always(
    wk: wellkept.Wellkept,
) -> None:
    clock = wk.engine.clock
    assert isinstance(clock, ManualClock)
    for text, importance in (
        ("Amounts are integer cents everywhere", 0.85),
        ("Never push to main", 0.95),
    ):
        wk.remember(
            text,
            type="convention",
            source="user_taught",
            session="session-001",
            importance=importance,
        )
    assert [words in text_of(wk) for words in ("integer cents", "push to main")] == [True, True]
    clock.advance(days=3)
    assert [words in text_of(wk) for words in ("integer cents", "push to main")] == [False, True]


@pytest.mark.parametrize(
    ("said", "is_told"),
    [
        ("adjust this to return the profile if it exists", False),
        ("Don't use float for money, integer cents everywhere", True),
        ("dont just push through the migrations by executing them on the server", True),
        ("we don't want to highlight that one then", False),
        ("nah let's roll back, they don't really need to exist", False),
        ("we don't support it so we need to remove that", False),
        ('We should not display "Agents", but "Copilot instructions"', False),
    ],
)
def test_what_was_said_in_passing_is_told_at_a_start_when_it_can_be_understood(
    wk: wellkept.Wellkept, said: str, is_told: bool
) -> None:
    wk.remember(
        said, type="convention", source="user_taught", session="session-001", importance=0.85
    )
    assert (said in text_of(wk)) is is_told


@pytest.mark.parametrize(("sure", "is_told"), [(0.9, True), (0.7, False)])
def test_a_remark_that_may_be_no_rule_is_not_told_at_a_start(
    wk: wellkept.Wellkept, sure: float, is_told: bool
) -> None:
    said = "we should also make the word uppercase through the readme"
    wk.remember(
        said,
        type="convention",
        source="user_taught",
        session="session-001",
        importance=0.85,
        confidence=sure,
    )
    assert (said in text_of(wk)) is is_told


def test_a_sentence_that_says_a_command_passed_is_told_when_it_ran_like_that(
    wk: wellkept.Wellkept,
) -> None:
    w = Work(3)
    said = (
        "Mended the ledger. `pytest -q` passes. `make lint` passes."
        " `golangci-lint run` in the nested module is currently failing."
    )
    events = (
        w.prompt("Fix the rounding of refunds in the ledger"),
        w.change("src/ledger.py"),
        w.run("pytest -q", "3 passed in 0.1s"),
        w.turn_end(said),
    )
    take(wk, list(events))
    assert "Mended the ledger. `pytest -q` passes.\n" in text_of(wk)
