"""From scratchpad to memory: validation (D3), rules (D2), filters and scores (D4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import permutations
from typing import cast

import pytest

from tests.observe.learning_steps import PROJECT, START, Work, learn, note, pad_of, take
from tests.support.model_store.store import ModelStore
from wellkept.core.codec import Json
from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.payloads import CausalDependency, DeadEnd, WorkUnitOutcome
from wellkept.core.query import Filter, Validity
from wellkept.core.session.events import Event
from wellkept.core.session.scratchpad import AgentNote, ScratchpadStatus, SessionSignal, SignalKind
from wellkept.core.types import EvidenceKind, MemoryType, RelationType, Source
from wellkept.memory.commands import Speaker, apply_commands
from wellkept.memory.engine import Engine
from wellkept.observe import thresholds
from wellkept.observe.learning.promote import PromotionRules, promote
from wellkept.observe.learning.reviews import record_verdict
from wellkept.observe.learning.statistics import Repetition, project_statistics
from wellkept.observe.methodology.builtin import NATIVE
from wellkept.observe.methodology.protocol import Methodology
from wellkept.observe.methodology.table import TableMethodology
from wellkept.observe.signals.work import work_of
from wellkept.observe.thresholds import CAPS, RULES, Complexity
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("D2", "D3", "D4")


def learned(engine: Engine, *types: MemoryType) -> list[Memory]:
    """What the observer concluded, by what it says."""
    where = Filter(project=PROJECT, include_user=False, types=types)
    return sorted(engine.store.list(where, limit=500).items, key=lambda m: m.content)


def pair_session(number: int, *, ending: Sequence[str] = ("pass", "end")) -> list[Event]:
    """Work on two files that belong together."""
    w = Work(number)
    events = [w.start(), w.prompt("Add a rate"), w.change("src/cart.py"), w.change("src/tax.py")]
    ways = {
        "pass": w.tests_pass,
        "fail": w.tests_fail,
        "commit": lambda: w.run('git commit -m "Add"', f"[main abc12{number:02}] Add"),
        "revert": lambda: w.run("git reset --hard HEAD~1"),
        "check": lambda: w.run("ruff check", "All checks passed!"),
        "edit": lambda: w.change("src/late.py"),
        "end": w.end,
    }
    return [*events, *(ways[way]() for way in ending)]


def test_two_files_in_three_validated_sessions_depend_on_each_other(engine: Engine) -> None:
    for number in (1, 2):
        report = learn(engine, pair_session(number))
        assert report is not None
        assert report.promoted == ()
    report = learn(engine, pair_session(3))
    assert report is not None
    (memory,) = learned(engine, MemoryType.CAUSAL_DEPENDENCY)
    assert report.promoted == (memory.id,)
    assert memory.payload == CausalDependency("src/cart.py", ("src/tax.py",))
    assert memory.source is Source.OBSERVER_INFERRED
    assert memory.needs_review
    assert set(memory.provenance_sessions) == {"session-001", "session-002", "session-003"}
    why = engine.store.explanations([memory.id])[memory.id]
    assert (why.rule, why.validated_by) == ("co_dependence", "test: pytest -q")
    parts = 0.4 * why.frequency + 0.3 * why.recency + 0.3 * why.novelty
    assert why.score == pytest.approx(parts, abs=0.002)
    assert why.score > why.threshold == 0.6
    assert len(why.signals) == 3


@pytest.mark.feature("A7")
def test_a_dependency_is_related_to_the_file_it_requires(engine: Engine) -> None:
    for number in (1, 2, 3):
        learn(engine, pair_session(number))
    (memory,) = learned(engine, MemoryType.CAUSAL_DEPENDENCY)
    (relation,) = memory.relations
    assert (relation.type, relation.target_file) == (RelationType.REQUIRED_WITH, "src/tax.py")


@pytest.mark.parametrize(
    ("ending", "counts"),
    [
        (("pass", "end"), True),
        (("commit", "end"), True),
        (("check", "end"), True),
        (("fail", "end"), False),
        (("pass", "edit", "end"), False),
        (("fail", "commit", "end"), False),
        (("commit", "revert", "end"), False),
        (("end",), False),
    ],
)
def test_only_work_that_held_up_counts(
    engine: Engine, ending: tuple[str, ...], counts: bool
) -> None:
    for number in (1, 2, 3):
        learn(engine, pair_session(number, ending=ending))
    assert bool(learned(engine, MemoryType.CAUSAL_DEPENDENCY)) is counts


def test_a_commit_that_is_gone_proves_nothing(engine: Engine) -> None:
    take(engine, pair_session(1, ending=("commit", "end")))
    rules = PromotionRules(commit_exists=lambda _: False)
    assert promote(engine, "session-001", rules=rules) is None
    assert pad_of(engine, "session-001").state is ScratchpadStatus.WAITING


def test_promoting_twice_and_in_any_order_of_sessions_is_the_same(clock: ManualClock) -> None:
    results: set[tuple[str, ...]] = set()
    kept: set[tuple[SessionSignal, ...]] = set()
    for order in permutations((1, 2, 3)):
        engine = Engine(store=ModelStore(), clock=clock)
        for number in order:
            learn(engine, pair_session(number))
        again = [promote(engine, f"session-{number:03}") for number in order]
        assert again == [None, None, None]
        results.add(tuple(m.content for m in learned(engine)))
        found = engine.store.signals(project=PROJECT, kinds=(), limit=1_000)
        kept.add(tuple(str(s) for s in found))  # type: ignore[arg-type]
    assert (len(results), len(kept)) == (1, 1)


def test_a_further_session_strengthens_and_does_not_repeat(engine: Engine) -> None:
    for number in (1, 2, 3):
        learn(engine, pair_session(number))
    (before,) = learned(engine, MemoryType.CAUSAL_DEPENDENCY)
    report = learn(engine, pair_session(4))
    assert report is not None
    assert (report.promoted, report.confirmed) == ((), (before.id,))
    (after,) = learned(engine, MemoryType.CAUSAL_DEPENDENCY)
    assert after.confidence > before.confidence
    assert "session-004" in after.provenance_sessions


def test_what_somebody_removed_does_not_come_back_by_itself(engine: Engine) -> None:
    from wellkept.core.changes import Delete

    for number in (1, 2, 3):
        learn(engine, pair_session(number))
    (memory,) = learned(engine, MemoryType.CAUSAL_DEPENDENCY)
    engine.store.apply([Delete(memory.id)])
    report = learn(engine, pair_session(4))
    assert report is not None
    assert [s.reason for s in report.skipped] == ["it was removed before"]
    for number in (5, 6):
        learn(engine, pair_session(number))
    assert learned(engine, MemoryType.CAUSAL_DEPENDENCY)


def test_what_was_removed_needs_twice_the_sessions_it_had_then(engine: Engine) -> None:
    from wellkept.core.changes import Delete

    for number in range(1, 6):
        learn(engine, pair_session(number))
    (memory,) = learned(engine, MemoryType.CAUSAL_DEPENDENCY)
    engine.store.apply([Delete(memory.id)])
    for number in range(6, 10):
        learn(engine, pair_session(number))
        assert learned(engine, MemoryType.CAUSAL_DEPENDENCY) == []
    learn(engine, pair_session(10))
    assert learned(engine, MemoryType.CAUSAL_DEPENDENCY)


def test_what_backs_a_memory_is_bounded_and_the_latest_stays(engine: Engine) -> None:
    for number in range(1, 41):
        learn(engine, pair_session(number, ending=("commit", "pass", "end")))
    (memory,) = learned(engine, MemoryType.CAUSAL_DEPENDENCY)
    sessions = [e.ref for e in memory.evidence if e.kind is EvidenceKind.SESSION]
    commits = [e.ref for e in memory.evidence if e.kind is EvidenceKind.COMMIT]
    assert len(memory.provenance_sessions) == len(sessions) == len(commits) == 30
    assert memory.provenance_sessions[-1] == sessions[-1] == "session-040"


def test_files_that_are_used_with_everything_depend_on_nothing(engine: Engine) -> None:
    for number in range(1, 9):
        w = Work(number)
        other = f"src/part{min(number, 6)}.py"
        learn(engine, [w.read("src/hub.py"), w.change(other), w.tests_pass(), w.end()])
    assert learned(engine, MemoryType.CAUSAL_DEPENDENCY) == []


def test_a_file_read_four_times_in_three_sessions_is_hard_to_follow(engine: Engine) -> None:
    for number in (1, 2, 3):
        w = Work(number)
        reads = [w.read("src/maze.py") for _ in range(thresholds.CONFUSING_READS)]
        quiet = [w.run("ls") for _ in range(4)]
        learn(engine, [*reads, *quiet, w.change("a.py"), w.tests_pass(), w.end()])
    known = project_statistics(engine.store, PROJECT, methodology="native")
    (found,) = known.confusing
    assert found == Repetition("src/maze.py", 3, 12, spent_ms=found.spent_ms)
    assert found.spent_ms > 0
    assert learned(engine, MemoryType.MODULE_INSIGHT) == []


def dead_end_events(w: Work) -> list[Event]:
    tried = [w.change("src/pool.py"), *(w.tests_fail() for _ in range(thresholds.DEAD_END_STEPS))]
    return [w.prompt("Speed up the upload"), *tried, w.run("git checkout -- src/pool.py")]


def test_a_dead_end_is_kept_after_one_session_as_records(engine: Engine) -> None:
    w = Work()
    report = learn(engine, [*dead_end_events(w), w.change("src/batch.py"), w.tests_pass(), w.end()])
    assert report is not None
    (memory,) = learned(engine, MemoryType.DEAD_END)
    assert isinstance(memory.payload, DeadEnd)
    assert memory.content.startswith("“Speed up the upload”\nUndone: `src/")
    assert "Before it: FAILED tests/test_cart.py" in memory.content
    assert memory.payload.task_context == "Speed up the upload"
    why = engine.store.explanations([memory.id])[memory.id]
    assert why.threshold == 0.3


def test_of_a_failed_run_only_the_dead_end_stays(engine: Engine) -> None:
    w = Work()
    pair = [w.change("src/cart.py"), w.change("src/tax.py"), w.tests_fail(), w.end()]
    report = learn(engine, [*dead_end_events(w), *pair])
    assert report is not None
    assert (report.validation.status, report.discarded) == ("failed", 1)
    assert len(learned(engine, MemoryType.DEAD_END)) == 1
    pad = pad_of(engine, w.session_id)
    session = engine.store.get_session(w.session_id)
    assert session is not None
    assert (pad.state, pad.failed_runs) == (ScratchpadStatus.FAILED, 1)
    assert work_of(session, pad).tasks[0].steps == ()
    kinds = {s.kind.value for s in engine.store.signals(project=PROJECT, kinds=())}
    assert kinds == {"dead_end"}


def test_a_fix_cycle_after_a_failure_has_a_scratchpad_of_its_own(engine: Engine) -> None:
    w = Work()
    learn(engine, [w.change("src/wrong.py"), w.tests_fail(), w.end()])
    report = learn(engine, [w.change("src/right.py"), w.tests_pass(), w.end()])
    assert report is not None
    assert report.validation.status == "passed"
    seen = engine.store.signals(project=PROJECT, kinds=())
    assert not [s for s in seen if s.subject == "src/wrong.py"]
    (outcome,) = learned(engine, MemoryType.WORK_UNIT_OUTCOME)
    assert outcome.files == ("src/right.py",)
    assert getattr(outcome.payload, "retry_count") == 1  # noqa: B009


def test_a_dead_end_of_a_failed_run_is_still_counted_once_the_work_holds(engine: Engine) -> None:
    w = Work()
    learn(engine, [*dead_end_events(w), w.change("src/cart.py"), w.tests_fail(), w.end()])
    report = learn(engine, [w.change("src/batch.py"), w.tests_pass(), w.end()])
    assert report is not None
    assert report.validation.status == "passed"
    (memory,) = learned(engine, MemoryType.DEAD_END)
    (seen,) = engine.store.signals(project=PROJECT, kinds=(SignalKind.DEAD_END,))
    assert engine.store.explanations([memory.id])[memory.id].sessions == (seen.session_id,)


class _Meanwhile:
    """The native way of working, during whose first look at a session something else happens."""

    def __init__(self, happens: Callable[[], object]) -> None:
        self._happens: Callable[[], object] | None = happens

    def __getattr__(self, name: str) -> object:
        if name == "work_unit" and self._happens is not None:
            happens, self._happens = self._happens, None
            happens()
        return getattr(NATIVE, name)


@pytest.mark.parametrize("tests", [None, "fail"])
def test_what_comes_in_while_a_session_is_judged_is_judged_next_time(
    engine: Engine, tests: str | None
) -> None:
    w = Work()
    ending = [w.tests_fail()] if tests else []
    take(engine, [w.prompt("Add a rate"), w.change("src/cart.py"), *ending, w.end()])
    more = [w.change("src/tax.py"), w.end()]
    way = cast("Methodology", _Meanwhile(lambda: take(engine, more)))
    report = promote(engine, w.session_id, rules=PromotionRules(methodology=way))
    assert report is None or report.discarded == 0
    pad = pad_of(engine, w.session_id)
    assert pad.state is ScratchpadStatus.OPEN
    session = engine.store.get_session(w.session_id)
    assert session is not None
    edits = work_of(session, pad).tasks[0].edits
    assert [one.what for one in edits] == ["src/cart.py", "src/tax.py"]
    promote(engine, w.session_id)
    assert pad_of(engine, w.session_id).state is ScratchpadStatus.WAITING


def test_a_note_waits_for_validation_and_is_then_a_memory(engine: Engine) -> None:
    w = Work()
    take(engine, [w.change("src/a.py")])
    told = AgentNote("n1", "The cache is keyed by tenant id", "gotcha", 0, 0, ("src/a.py",))
    note(engine, w.session_id, told)
    assert learned(engine, MemoryType.GOTCHA) == []
    learn(engine, [w.tests_pass(), w.end()])
    (memory,) = learned(engine, MemoryType.GOTCHA)
    assert (memory.content, memory.source) == (told.content, Source.AGENT_EXPLICIT)


def test_an_instruction_that_a_person_repeats_is_a_convention(engine: Engine) -> None:
    said = ("We never import from the legacy package.", "we never import from the legacy package!")
    for number, sentence in enumerate(said, start=1):
        w = Work(number)
        learn(engine, [w.prompt(f"Add it. {sentence}"), w.change("a.py"), w.tests_pass(), w.end()])
    found = [
        m for m in learned(engine) if "legacy" in m.content and m.type is not MemoryType.PROMPT
    ]
    assert len([m for m in found if m.type is MemoryType.CONVENTION]) == 1


def test_what_is_known_already_is_strengthened_and_not_said_again(engine: Engine) -> None:
    apply_commands(
        engine,
        "Remember: we never import from the legacy package.",
        project=PROJECT,
        speaker=Speaker(author="user"),
    )
    known = learned(engine)
    for number in (1, 2):
        w = Work(number)
        asked = w.prompt("Add it. We never import from the legacy package.")
        learn(engine, [asked, w.change("a.py"), w.tests_pass(), w.end()])
    mine = [m for m in learned(engine) if m.key and m.key.startswith("observer:repeated")]
    assert mine == []
    assert len(known) == 1


@pytest.mark.parametrize(("size", "cap"), [("trivial", 2), ("standard", 10), ("complex", 25)])
def test_the_size_of_the_work_caps_what_is_promoted(engine: Engine, size: str, cap: int) -> None:
    assert CAPS[Complexity(size)] == cap
    w = Work()
    take(engine, [w.change("src/a.py")])
    for number in range(30):
        text = f"Fact number {number} is about the {chr(97 + number % 26)}{number} subsystem"
        note(engine, w.session_id, AgentNote(f"n{number}", text, "fact", 0, 0))
    take(engine, [w.tests_pass(), w.end()])
    report = promote(engine, w.session_id, rules=PromotionRules(complexity=Complexity(size)))
    assert report is not None
    assert len(report.promoted) == cap
    assert {s.reason for s in report.skipped} == {"the cap for work of this size is reached"}


def test_large_work_is_promoted_task_by_task_and_small_work_as_a_whole(engine: Engine) -> None:
    for tasks, expected in ((6, {"Task 0 needs the w0 flag"}), (5, set[str]())):
        w = Work(tasks)
        take(engine, [w.change("src/a.py")])
        for number in range(tasks):
            told = AgentNote(f"n{number}", f"Task {number} needs the w{number} flag", "fact", 0, 0)
            note(engine, w.session_id, told, task=f"t{number}")
        record_verdict(engine, w.session_id, "passed", task="t0")
        report = promote(engine, w.session_id)
        promoted = engine.store.get(report.promoted) if report else []
        assert {memory.content for memory in promoted} == expected
        assert (report is not None) is bool(expected)


def test_a_qa_verdict_outranks_tests_until_something_is_edited(engine: Engine) -> None:
    take(engine, pair_session(1, ending=("pass",)))
    record_verdict(engine, "session-001", "failed", detail="wrong rounding")
    report = promote(engine, "session-001")
    assert report is not None
    assert (report.validation.status, report.validation.by) == ("failed", "qa: wrong rounding")


def test_a_session_that_only_read_promotes_nothing_and_counts_as_reading(engine: Engine) -> None:
    for number in (1, 2, 3):
        w = Work(number)
        report = learn(engine, [w.read("a.py"), w.read("b.py"), w.end()])
        assert report is not None
        assert (report.validation.status, report.promoted) == ("nothing", ())
    seen = engine.store.signals(project=PROJECT, kinds=())
    assert {s.kind.value for s in seen} == {"file_access", "context_cost"}


def test_what_was_seen_long_ago_scores_less(engine: Engine, clock: ManualClock) -> None:
    clock.now = START + timedelta(days=400)
    for number in (1, 2):
        learn(engine, pair_session(number))
    w = Work(300)
    learn(engine, [w.change("src/other.py"), w.tests_pass(), w.end()])
    learn(engine, pair_session(3))
    (memory,) = learned(engine, MemoryType.CAUSAL_DEPENDENCY)
    why = engine.store.explanations([memory.id])[memory.id]
    assert why.recency < 0.01
    assert why.score < 0.61


def test_a_commit_of_the_same_files_is_attached(engine: Engine) -> None:
    for number in (1, 2, 3):
        learn(engine, pair_session(number, ending=("pass", "commit", "end")))
    (memory,) = learned(engine, MemoryType.CAUSAL_DEPENDENCY)
    assert memory.commit_sha == "abc1203"


def test_the_thresholds_are_those_of_the_tables() -> None:
    assert (
        thresholds.CO_ACCESS_STEPS,
        thresholds.RE_EDIT_STEPS,
        thresholds.CONFUSING_READS,
        thresholds.DEAD_END_STEPS,
    ) == (
        3,
        5,
        4,
        20,
    )
    assert (thresholds.FREQUENCY_WEIGHT, thresholds.RECENCY_WEIGHT, thresholds.NOVELTY_WEIGHT) == (
        0.4,
        0.3,
        0.3,
    )
    assert {rule.min_score for rule in RULES.values()} == {0.6, 0.3}
    assert RULES["co_dependence"].min_sessions == 3
    assert (
        thresholds.RECIPE_STEPS,
        thresholds.RECIPE_WINDOW_DAYS,
        RULES["recipe"].min_sessions,
    ) == (4, 30, 3)


def test_closed_memories_stay_closed(engine: Engine) -> None:
    for number in (1, 2, 3):
        learn(engine, pair_session(number))
    where = Filter(project=PROJECT, validity=Validity.CLOSED)
    assert engine.store.list(where, limit=50).items == ()


class _Counting(TableMethodology):
    """A methodology that adds to the outcome of a work unit."""

    def on_work_unit_complete(
        self, unit: WorkUnitRef | None, outcome: WorkUnitOutcome
    ) -> dict[str, Json]:
        return {"unit": unit.label if unit else None, "files": len(outcome.files_modified)}


@pytest.mark.feature("D12")
def test_a_methodology_adds_fields_to_the_outcome_of_a_work_unit(engine: Engine) -> None:
    way = _Counting(id="counting", title="Counting", phases={}, levels=())
    w = Work()
    take(engine, [w.change("src/right.py"), w.tests_pass(), w.end()])
    promote(engine, w.session_id, rules=PromotionRules(methodology=way))
    (memory,) = learned(engine, MemoryType.WORK_UNIT_OUTCOME)
    assert isinstance(memory.payload, WorkUnitOutcome)
    assert memory.payload.methodology_fields["files"] == 1
    assert memory.payload.methodology_fields["unit"]
