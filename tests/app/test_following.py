"""From the events of whole sessions, through the observer, to what the next session is told."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from tests.app.opening import open_in
from tests.app.working import Desk
from tests.observe.telling import START, Teller
from wellkept.core.memory import WorkUnitRef
from wellkept.core.payloads import WorkState
from wellkept.core.records import replace
from wellkept.core.session.events import Event, ToolCalled, ToolKind
from wellkept.core.settings.model import Settings
from wellkept.core.types import Phase
from wellkept.observe.ingest.ingest import EventIngester
from wellkept.observe.observer.drain import machine_environment
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("D5", "D8", "D10", "B8")


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    made = GitRepository.create(tmp_path / "shop")
    for name in ("src/pay/charge.py", "src/pay/refund.py", "src/pay/rates.py"):
        made.write(name, "def f():\n    return 1\n")
    made.commit("Start")
    return made


def take(wk: wellkept.Wellkept, events: list[Event]) -> None:
    """Take events in and do what follows a drain."""
    taker = EventIngester(wk.engine, machine_environment(wk.engine.store, {}))
    for event in events:
        taker.commit([event], [])
    wk.observer.learn(list(taker.due))


def work(root: Path, number: int, *, both: bool = False) -> list[Event]:
    """A session that changes charge.py after reading rates.py, or both, and whose tests pass."""
    say = Teller(f"session-{number}", cwd=str(root))
    charge, rates = f"{root}/src/pay/charge.py", f"{root}/src/pay/rates.py"
    return [
        say.start(),
        say.prompt(f"Change how charges are rounded, take {number}"),
        say.read(rates),
        *([say.edit(rates, "{}", f"{{{number}: 1}}")] if both else []),
        say.read(charge),
        say.edit(charge, "return 1", f"return {number}"),
        say.run("pytest -q", "3 passed in 0.1s"),
        say.turn_end("Done."),
        say.end(),
    ]


def learned(wk: wellkept.Wellkept) -> dict[str, str]:
    """What was concluded about files."""
    types = ("causal_dependency", "gotcha", "module_insight")
    return {m.id: m.content for m in wk.list(types=types, limit=50).items}


def replace_paths(event: Event, names: dict[str, str]) -> Event:
    """An event that speaks of files under other names."""
    if not isinstance(event, ToolCalled):
        return event

    def named(path: str) -> str:
        folder, _, name = path.rpartition("/")
        return f"{folder}/{names.get(name, name)}"

    edits = tuple(replace(edit, path=named(edit.path)) for edit in event.edits)
    return replace(event, files=tuple(map(named, event.files)), edits=edits)


def test_files_that_sessions_read_together_are_linked_and_listed(
    repository: GitRepository,
) -> None:
    root = repository.root
    with open_in(root, project=None, clock=ManualClock(START)) as wk:
        for number in range(4):
            take(wk, work(root, number))
        links = wk.engine.store.linked_files(
            wk.project, ["src/pay/charge.py"], min_weight=0.6, limit=5
        )
        assert [link.file_b for link in links] == ["src/pay/rates.py"]
        (pattern,) = wk.observer.statistics().prefetch
        assert pattern.module_trigger == "src/pay"
        wk.remember("Rates are per mille", type="gotcha", files="src/pay/rates.py")
        reasons = [item.reason for item in wk.context(files=["src/pay/charge.py"]).items]
        assert "src/pay/rates.py changes together with src/pay/charge.py" in reasons


def test_what_the_application_showed_twice_is_told_when_qa_starts(
    repository: GitRepository,
) -> None:
    root = repository.root

    def qa(number: int) -> list[Event]:
        say = Teller(f"qa-{number}", cwd=str(root))
        click = say.call(
            "mcp__playwright__browser_click",
            ToolKind.MCP,
            input=json.dumps({"element": "Refund"}),
            output="Error: element is disabled",
        )
        return [
            say.start(),
            say.prompt("QA the refund page"),
            click,
            say.turn_end("Ok."),
            say.end(),
        ]

    with open_in(root, project=None, clock=ManualClock(START)) as wk:
        take(wk, qa(1))
        assert wk.context("QA the refund page").items == ()
        take(wk, qa(2))
        told = [i.text for i in wk.context("QA the refund page").items]
        assert any("Click `Refund`: the element is disabled" in text for text in told)
        assert wk.context(phase="qa_review").items


def test_memories_follow_what_a_session_committed(repository: GitRepository) -> None:
    root = repository.root
    with open_in(root, project=None, clock=ManualClock(START)) as wk:
        moved = wk.remember("Charges round down", files="src/pay/charge.py").memory
        gone = wk.remember("Refunds are slow", files="src/pay/refund.py").memory
        take(wk, work(root, 1))
        repository.git("mv", "src/pay/charge.py", "src/pay/charging.py")
        repository.git("rm", "-q", "src/pay/refund.py")
        repository.commit("Move and delete")
        say = Teller("session-2", cwd=str(root))
        take(wk, [say.start(), say.prompt("Go on"), say.turn_end("Well."), say.end()])
        assert wk.get(moved.id).files == ("src/pay/charging.py",)
        assert wk.get(gone.id).stale_at is not None


def test_commits_of_others_are_followed_with_the_first_events_of_a_session(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    repository = GitRepository.create(desk.work)
    repository.write("pay.py", "def f():\n    return 1\n")
    repository.commit("Start")
    with desk.open() as wk:
        kept = wk.remember("Charges round down", type="gotcha", files="pay.py").memory
        desk.session("first").prompt("Look around")
        desk.drain(wk)
        repository.git("mv", "pay.py", "charge.py")
        repository.commit("Move it")
        desk.now_ms = time.time_ns() // 1_000_000  # it goes on, so that nothing is summed up yet
        desk.session("second").prompt("Go on")
        assert not desk.drain(wk).due
        assert wk.get(kept.id).files == ("charge.py",)


def test_what_was_learned_follows_a_rename_and_is_not_learned_twice(
    repository: GitRepository,
) -> None:
    root = repository.root
    with open_in(root, project=None, clock=ManualClock(START)) as wk:
        for number in range(4):
            take(wk, work(root, number, both=True))
        before = learned(wk)
        assert any("`src/pay/charge.py`" in content for content in before.values())
        repository.git("mv", "src/pay/charge.py", "src/pay/a_charge.py")
        repository.git("mv", "src/pay/rates.py", "src/pay/tables.py")
        repository.commit("Move both")
        say = Teller("mover", cwd=str(root))
        take(wk, [say.start(), say.prompt("Go on"), say.turn_end("Well."), say.end()])
        (fellow,) = wk.observer.related("src/pay/a_charge.py")
        assert (fellow.path, fellow.sessions) == ("src/pay/tables.py", 4)
        assert fellow.opened_first == "src/pay/tables.py"
        assert wk.observer.related("src/pay/charge.py") == []
        after = learned(wk)
        assert set(after) == set(before)
        assert "src/pay/charge.py" not in str(after)
        for number in range(5, 8):
            moved = [
                replace_paths(event, {"charge.py": "a_charge.py", "rates.py": "tables.py"})
                for event in work(root, number, both=True)
            ]
            take(wk, moved)
        assert len(learned(wk)) == len(before)


def test_a_deleted_file_leaves_the_prefetch_pattern(repository: GitRepository) -> None:
    root = repository.root
    with open_in(root, project=None, clock=ManualClock(START)) as wk:
        for number in range(4):
            events = work(root, number)
            say = Teller(f"session-{number}", cwd=str(root))
            for _ in events:
                say.origin()
            take(wk, [*events[:2], say.read(f"{root}/src/pay/refund.py"), *events[2:]])
        repository.git("rm", "-q", "src/pay/rates.py")
        repository.commit("Drop the rates")
        for name in ("remover", "later"):
            say = Teller(name, cwd=str(root))
            take(wk, [say.start(), say.prompt("Go on"), say.turn_end("Well."), say.end()])
        (pattern,) = wk.observer.statistics().prefetch
        assert set(pattern.always_read_files) == {"src/pay/charge.py", "src/pay/refund.py"}
        assert "src/pay/rates.py" not in {
            one.path for one in wk.observer.related("src/pay/charge.py")
        }


def test_a_renamed_module_has_one_prefetch_pattern_under_its_new_name(
    repository: GitRepository,
) -> None:
    root = repository.root
    with open_in(root, project=None, clock=ManualClock(START)) as wk:
        for number in range(4):
            take(wk, work(root, number))
        repository.git("mv", "src/pay", "src/billing")
        repository.commit("Rename the module")
        for name in ("mover", "later"):
            say = Teller(name, cwd=str(root))
            take(wk, [say.start(), say.prompt("Go on"), say.turn_end("Well."), say.end()])
        (pattern,) = wk.observer.statistics().prefetch
        assert pattern.module_trigger == "src/billing"
        assert all(path.startswith("src/billing/") for path in pattern.always_read_files)


def test_a_folder_that_is_gone_stops_nothing(repository: GitRepository) -> None:
    with open_in(repository.root, project=None, clock=ManualClock(START)) as wk:
        say = Teller("lost", cwd=str(repository.root / "nowhere"))
        take(wk, [say.start(), say.prompt("Hello there"), say.turn_end("Hi."), say.end()])
        learned = wk.observer.learn(["lost"])
        assert learned.problems == ()


@pytest.mark.feature("D7", "D9")
def test_the_way_of_working_names_the_unit_of_an_outcome_and_reads_the_state_of_the_work(
    repository: GitRepository,
) -> None:
    root = repository.root
    repository.git("checkout", "-q", "-b", "epic-3/story-3.2")
    with open_in(
        root, project=None, clock=ManualClock(START), settings=Settings(methodology="bmad")
    ) as wk:
        take(wk, work(root, 1))
        (outcome,) = wk.list(types="work_unit_outcome").items
        assert outcome.work_unit == WorkUnitRef(
            "bmad", ("epic_3", "story_3.2"), "Epic 3 / Story 3.2"
        )
        say = Teller("half-done", cwd=str(root))
        charge = f"{root}/src/pay/charge.py"
        message = "Current story: 3.2 Rounding\n- [x] Rounds down\n- [ ] Rounds refunds"
        take(
            wk,
            [
                say.start(),
                say.prompt("Go on with the rounding"),
                say.edit(charge, "return 1", "return 7"),
                say.turn_end(message),
                say.end(),
            ],
        )
        (state,) = wk.list(types="work_state").items
        assert isinstance(state.payload, WorkState)
        assert state.payload.methodology_state["methodology"] == "bmad"


@pytest.mark.feature("D5")
def test_the_files_that_work_nearly_always_reads_can_be_had_at_once(
    repository: GitRepository,
) -> None:
    root = repository.root
    repository.write("src/pay/rates.py", "RATES = {}\n" * 400)
    with open_in(root, project=None, clock=ManualClock(START)) as wk:
        assert wk.observer.prefetch() == []
        for number in range(4):
            take(wk, work(root, number))
        (rates,) = wk.observer.prefetch("src/pay/charge.py")
        assert (rates.path, rates.is_cut, len(rates.text)) == ("src/pay/rates.py", True, 3_000)
        assert {one.path for one in wk.observer.prefetch()} == {
            "src/pay/charge.py",
            "src/pay/rates.py",
        }
        assert wk.observer.prefetch(phase=Phase.REFLECT) == []
        (root / "src/pay/rates.py").unlink()
        assert wk.observer.prefetch("src/pay/charge.py") == []


@pytest.mark.feature("D5")
def test_files_that_go_together_are_listed_with_what_says_so(repository: GitRepository) -> None:
    root = repository.root
    for number in range(3):
        repository.write("src/pay/charge.py", f"charge = {number}\n")
        repository.write("src/pay/rates.py", f"rates = {number}\n")
        repository.commit(f"Round {number}")
    with open_in(root, project=None, clock=ManualClock(START)) as wk:
        wk.import_repository()
        for number in range(3):
            take(wk, work(root, number))
        best = wk.observer.related("src/pay/charge.py")[0]
        assert best.path == "src/pay/rates.py"
        assert (best.commits, best.sessions) == (4, 3)
        assert best.opened_first == "src/pay/rates.py"
        assert best.last_seen is not None


@pytest.mark.feature("A6", "D7")
def test_what_belongs_to_a_merged_branch_is_archived_and_pruned_by_a_person_after_90_days(
    repository: GitRepository,
) -> None:
    root, clock = repository.root, ManualClock(START)
    repository.git("checkout", "-q", "-b", "spec-42")
    repository.write("src/pay/charge.py", "def f():\n    return 2\n")
    sha = repository.commit("Charge twice")
    with open_in(root, project=None, clock=clock) as wk:
        events = work(root, 1)
        say = Teller("session-1", cwd=str(root))
        for _ in events:
            say.origin()
        commit = say.run("git commit -am 'Charge twice'", f"[spec-42 {sha[:7]}] Charge twice")
        take(wk, [*events[:-2], commit, *events[-2:]])
        (outcome,) = wk.list(types="work_unit_outcome").items
        assert outcome.commit_sha is not None
        assert [i.rule for i in wk.maintain().items if i.after == "archived"] == []
        repository.git("checkout", "-q", "main")
        repository.git("merge", "-q", "--no-ff", "-m", "Merge", "spec-42")
        assert [i.id for i in wk.maintain(dry_run=True).items if i.after == "archived"] == [
            outcome.id
        ]
        wk.maintain()
        assert wk.get(outcome.id).archived_at is not None
        clock.advance(days=91)
        wk.maintain()
        assert wk.get(outcome.id) is not None
        assert outcome.id in {memory.id for memory in wk.prune().removed}
