"""A session start in sections: order, budget, limits, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from tests.app.test_way_outs import shipping, take
from tests.observe.learning_steps import Work
from wellkept.context.packing import render_context
from wellkept.context.sections import SECTIONS, TITLES, Section
from wellkept.core.records import replace
from wellkept.core.session.events import Event
from wellkept.core.settings.model import Settings
from wellkept.core.types import MemoryType
from wellkept.observe.failures.trap_signs import TrapSign
from wellkept.observe.failures.traps import count_signs
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
    output = f"[main 0c0ffee{number}a] Round refunds {number}\n 1 file changed"
    return [
        w.prompt(f"Fix the rounding of refunds in the ledger, part {number}"),
        w.change(path),
        w.run(f"git commit -am 'Round refunds {number}'", output=output),
        w.end(),
    ]


def test_after_a_fix_and_what_people_taught_the_start_has_all_of_it(
    wk: wellkept.Wellkept,
) -> None:
    take(wk, fix(3))
    wk.remember("The billing host is billing.internal:8443", type="fact", source="user_taught")
    wk.remember("Invoices are numbered per year", type="fact", source="user_taught")
    wk.remember("Exports must stay below 10 MB", type="requirement")
    pack = wk.context(moment="session")
    text = render_context(pack)
    assert "0c0ffee3a “Round refunds 3”" in text
    for words in ("billing.internal:8443", "numbered per year", "below 10 MB"):
        assert text.count(words) == 1
    assert [one.name for one in pack.sections] == [Section.LEFT_OFF, Section.RULES]


def test_sections_come_in_order_and_only_with_content(wk: wellkept.Wellkept) -> None:
    take(wk, fix(3))
    take(wk, shipping(1))
    take(wk, shipping(2))
    wk.remember("Never edit generated files", type="convention")
    wk.remember("The gateway times out after three retries", type="gotcha", importance=0.9)
    wk.remember("We keep amounts in cents", type="decision")
    pack = wk.context(moment="session")
    names = [one.name for one in pack.sections]
    assert names == [one for one in SECTIONS if one in names]
    assert set(names) >= {Section.LEFT_OFF, Section.RULES, Section.TRAPS, Section.DECISIONS}
    assert Section.MODULES not in names
    text = render_context(pack)
    heads = [text.index(TITLES[one]) for one in names]
    assert heads == sorted(heads)
    assert pack.used_tokens <= pack.budget_tokens == 800
    assert set(pack.ids) == {one for section in pack.sections for one in section.ids}


def test_what_was_shown_is_not_told_again(wk: wellkept.Wellkept) -> None:
    take(wk, fix(3))
    wk.remember("Never edit generated files", type="convention")
    first = wk.context(moment="session")
    assert wk.context(moment="session", shown=first.ids).used_tokens == 0


def test_of_two_rules_that_say_the_same_the_newest_is_told(wk: wellkept.Wellkept) -> None:
    clock = wk.engine.clock
    assert isinstance(clock, ManualClock)
    wk.remember("Use port 3000 for the local preview server", type="convention", importance=0.9)
    clock.advance(days=1)
    wk.remember("Use port 3001 for the local preview server", type="convention", importance=0.3)
    text = render_context(wk.context(moment="session"))
    assert "3001" in text
    assert "3000" not in text


def test_limits_per_request(wk: wellkept.Wellkept) -> None:
    for number in (1, 2, 3):
        take(wk, fix(number))
    everything = render_context(wk.context(moment="session"))
    assert "Round refunds 3" in everything
    assert "Round refunds 2" in everything
    one = render_context(wk.context(moment="session", session_limit=1))
    assert "Round refunds 3" in one
    assert "Round refunds 2" not in one
    assert wk.context(moment="session", session_limit=0).used_tokens == 0
    assert wk.context(moment="session", days=1).used_tokens > 0
    clock = wk.engine.clock
    assert isinstance(clock, ManualClock)
    clock.advance(days=5)
    assert wk.context(moment="session", days=1).used_tokens == 0


def test_a_project_can_set_the_limits(repo: GitRepository) -> None:
    clock = ManualClock(Work(4).prompt("x").origin.at)
    settings = Settings(embedding_provider="none", context_sessions=0)
    with wellkept.open(cwd=repo.root, settings=settings, clock=clock) as wk:
        take(wk, fix(3))
        assert wk.context(moment="session").used_tokens == 0
        assert wk.context(moment="session", session_limit=2).used_tokens > 0


def test_a_small_budget_keeps_the_open_ends(wk: wellkept.Wellkept) -> None:
    take(wk, fix(3))
    for number in range(30):
        wk.remember(f"Rule number {number}: " + f"word{number} " * 30, type="convention")
    for budget in (60, 150, 400, 800):
        pack = wk.context(moment="session", budget_tokens=budget, max_chars=2_000)
        assert pack.used_tokens <= budget
        assert len(render_context(pack)) <= 2_000
    assert "0c0ffee3a" in render_context(wk.context(moment="session", budget_tokens=150))


def test_a_decision_of_other_work_is_not_told(wk: wellkept.Wellkept) -> None:
    take(wk, fix(3))
    wk.remember("We page the archive by month", type="decision", session="another-session")
    wk.remember("We round half up everywhere", type="decision", session="session-003")
    wk.remember("We keep amounts in cents", type="decision")
    text = render_context(wk.context(moment="session"))
    assert "half up" in text
    assert "in cents" in text
    assert "archive" not in text


@pytest.mark.feature("E4")
def test_the_module_map_is_told_while_little_else_is_known(
    wk: wellkept.Wellkept, repo: GitRepository
) -> None:
    repo.write("src/pay/a.py", "x = 1\n")
    for name in ("pay", "shop"):
        wk.remember(f"src/{name} - does the {name} part", type="module_insight")
    assert [one.name for one in wk.context(moment="session").sections] == [Section.MODULES]
    for number in range(3):
        wk.remember(f"Rule {number}: {'abc'[number] * 9} goes first", type="convention")
    names = [one.name for one in wk.context(moment="session").sections]
    assert names == [Section.RULES]


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


def test_traps_that_sessions_met_are_told_at_the_start_and_before_a_write(
    wk: wellkept.Wellkept, repo: GitRepository
) -> None:
    repo.write("docs/plan.md", "# Plan\n")
    take(wk, fix(3))
    at = wk.engine.clock()
    sign = TrapSign(kind="rule", subject="*.md", detail="MD040 fenced-code-language", at=at)
    for session in ("a", "b"):
        count_signs(wk.engine.store, [sign], (), project=wk.project, session_id=session)
    assert "*.md` files are linted at commit: MD040" in render_context(wk.context(moment="session"))
    assert "MD040" in render_context(wk.context(files=["docs/plan.md"]))
    assert wk.context(files=["docs/plan.md"], reading=True).used_tokens == 0
    first = wk.context(files=["docs/plan.md"])
    assert wk.context(files=["docs/plan.md"], shown=first.ids).used_tokens == 0


def test_a_way_out_of_two_sessions_is_told_once_at_a_start(wk: wellkept.Wellkept) -> None:
    for number in (1, 2, 3):
        take(wk, shipping(number))
    text = render_context(wk.context(moment="session"))
    assert text.count("SHIP_REGION=eu-west make ship") == 1


def test_live_state_of_the_tree_is_told(wk: wellkept.Wellkept, repo: GitRepository) -> None:
    repo.write("src/ledger.py", "1\n")
    repo.commit("first")
    root = str(wk.root)
    world = Environment(locate=lambda cwd: ProjectLocation(wk.project, (root,)))
    w = Work(3)
    events = [w.prompt("Fix the rounding of refunds in the ledger"), w.change("src/ledger.py")]
    here = [replace(one, origin=replace(one.origin, cwd=root)) for one in events]
    EventIngester(wk.engine, world).commit(here, [])

    def told(**options: str) -> str:
        return render_context(wk.context(moment="session", **options))  # type: ignore[arg-type]

    assert "src/ledger.py" not in told()
    repo.write("src/ledger.py", "2\n")
    repo.write("notes.txt", "1\n")
    assert "- Not committed: src/ledger.py\n" in told()
    repo.git("add", "-A")
    text = told()
    assert "- STAGED, not committed: src/ledger.py\n" in text
    assert "- Changed outside these sessions: notes.txt\n" in text
    assert "Edited, no commit seen: src/ledger.py" in told(branch="main")
