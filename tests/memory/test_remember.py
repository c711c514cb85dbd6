from __future__ import annotations

from dataclasses import replace

import pytest

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.memory import MemoryDraft, MemoryPatch
from wellkept.core.query import Filter, Validity
from wellkept.core.types import EvidenceKind, MemoryType, RelationType, Scope, Source
from wellkept.memory.edit import find_memory, forget, get_memory, revise
from wellkept.memory.engine import Engine
from wellkept.memory.remember import RememberOutcome, remember, remember_many
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("A4")
HERE = "name:here"
OPEN = Filter(project=HERE)


def taught(content: str, **more: object) -> MemoryDraft:
    return replace(MemoryDraft(content=content, source=Source.USER_TAUGHT), **more)  # type: ignore[arg-type]


def test_a_new_statement_is_inserted(engine: Engine) -> None:
    kept = remember(engine, taught("The build takes four minutes"), project=HERE)
    assert kept.outcome is RememberOutcome.INSERTED
    assert get_memory(engine, kept.memory.id) == kept.memory


def test_the_same_statement_twice_is_kept_once_and_trusted_more(engine: Engine) -> None:
    first = remember(
        engine, MemoryDraft(content="Tests live in tests/unit", session_id="s1"), project=HERE
    )
    again = remember(
        engine, MemoryDraft(content="tests live in tests/unit.", session_id="s2"), project=HERE
    )
    assert again.outcome is RememberOutcome.UNCHANGED
    assert again.memory.id == first.memory.id
    assert again.memory.confidence > first.memory.confidence
    assert again.memory.provenance_sessions == ("s1", "s2")
    assert engine.store.stats(OPEN).total == 1


def test_a_near_duplicate_merges_and_its_words_are_kept_as_evidence(engine: Engine) -> None:
    first = remember(
        engine, taught("Install packages with pnpm in the web folder always"), project=HERE
    )
    second = remember(
        engine, taught("In the web folder, packages: always install with pnpm"), project=HERE
    )
    assert second.outcome is RememberOutcome.MERGED
    assert second.memory.id == first.memory.id
    notes = [e.note for e in second.memory.evidence if e.kind is EvidenceKind.MERGED]
    assert notes == ["In the web folder, packages: always install with pnpm"]


def test_a_fuller_statement_takes_over_and_keeps_the_shorter_one_as_evidence(
    engine: Engine,
) -> None:
    first = remember(engine, taught("Always run the unit tests before every push"), project=HERE)
    fuller = remember(
        engine, taught("Always run the unit tests before every push upstream"), project=HERE
    )
    assert fuller.outcome is RememberOutcome.MERGED
    assert fuller.memory.content.endswith("upstream")
    closed = get_memory(engine, first.memory.id)
    assert closed.superseded_by == fuller.memory.id
    assert any(e.note == first.memory.content for e in fuller.memory.evidence)


def test_a_contradiction_closes_the_old_belief_and_opens_the_new_one(
    engine: Engine, clock: ManualClock
) -> None:
    old = remember(engine, taught("The API server listens on port 8080"), project=HERE).memory
    clock.advance(days=30)
    new = remember(engine, taught("The API server listens on port 9090"), project=HERE)
    assert new.outcome is RememberOutcome.SUPERSEDED
    closed = get_memory(engine, old.id)
    assert (closed.valid_to, closed.superseded_by) == (clock.now, new.memory.id)
    assert any(
        r.type is RelationType.SUPERSEDES and r.target_id == old.id for r in new.memory.relations
    )
    then = engine.store.list(replace(OPEN, as_of=old.valid_from)).items
    assert [m.content for m in then] == ["The API server listens on port 8080"]
    assert [m.id for m in engine.store.list(OPEN).items] == [new.memory.id]


def test_a_guess_does_not_overrule_a_person_but_is_flagged(engine: Engine) -> None:
    remember(engine, taught("The API server listens on port 8080"), project=HERE)
    guess = MemoryDraft(
        content="The API server listens on port 9090", source=Source.OBSERVER_INFERRED
    )
    kept = remember(engine, guess, project=HERE)
    assert kept.outcome is RememberOutcome.INSERTED
    assert kept.memory.needs_review
    assert kept.memory.relations[0].type is RelationType.CONFLICTS_WITH
    assert engine.store.stats(OPEN).total == 2


def test_parallel_facts_stay_apart(engine: Engine) -> None:
    for area in ("frontend", "backend"):
        remember(engine, taught(f"The {area} tests run in the {area} pipeline"), project=HERE)
    assert engine.store.stats(OPEN).total == 2


def test_an_exact_key_takes_a_new_value_and_the_old_one_stays_in_history(engine: Engine) -> None:
    remember(engine, taught("pnpm", key="package_manager"), project=HERE)
    kept = remember(engine, taught("bun", key="package_manager"), project=HERE)
    assert kept.outcome is RememberOutcome.SUPERSEDED
    assert find_memory(engine, "package_manager", project=HERE).content == "bun"
    history = engine.store.list(replace(OPEN, validity=Validity.ANY)).items
    assert {m.content for m in history} == {"pnpm", "bun"}


def test_the_same_key_and_value_changes_nothing(engine: Engine) -> None:
    first = remember(engine, taught("pnpm", key="package_manager"), project=HERE)
    again = remember(engine, taught("pnpm", key="package_manager"), project=HERE)
    assert (again.outcome, again.memory.id) == (RememberOutcome.UNCHANGED, first.memory.id)


def test_keys_of_two_projects_do_not_meet(engine: Engine) -> None:
    remember(engine, taught("pnpm", key="tool"), project=HERE)
    kept = remember(engine, taught("cargo", key="tool"), project="name:there")
    assert kept.outcome is RememberOutcome.INSERTED


def test_turns_of_a_session_are_never_merged(engine: Engine) -> None:
    turns = [
        MemoryDraft(content="Sounds good to me", type=MemoryType.EPISODE, session_id="s", seq=i)
        for i in range(3)
    ]
    assert [k.outcome for k in remember_many(engine, turns, project=HERE)] == [
        RememberOutcome.INSERTED
    ] * 3


def test_without_vectors_a_repetition_is_merged_and_a_contradiction_closed(
    wordless: Engine,
) -> None:
    remember(wordless, taught("The API server listens on port 8080"), project=HERE)
    again = remember(wordless, taught("the API server listens on port 8080!"), project=HERE)
    other = remember(wordless, taught("The API server listens on port 9090"), project=HERE)
    assert again.outcome is RememberOutcome.UNCHANGED
    assert other.outcome is RememberOutcome.SUPERSEDED


@pytest.mark.feature("A3")
def test_a_batch_is_checked_whole_before_anything_is_written(engine: Engine) -> None:
    drafts = [taught("fine"), taught("   ")]
    with pytest.raises(UsageError, match="empty"):
        remember_many(engine, drafts, project=HERE)
    assert engine.store.stats(OPEN).total == 0


@pytest.mark.feature("A3")
def test_statements_of_one_batch_see_each_other(engine: Engine) -> None:
    seen: list[tuple[int, int]] = []
    kept = remember_many(
        engine,
        [taught("Use tabs in Makefiles"), taught("use tabs in makefiles"), taught("CI is on main")],
        project=HERE,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert [k.outcome.value for k in kept] == ["inserted", "unchanged", "inserted"]
    assert seen[-1] == (3, 3)


@pytest.mark.feature("A3")
def test_a_correction_of_the_text_opens_a_successor(engine: Engine, clock: ManualClock) -> None:
    old = remember(
        engine, taught("Releases are cut on Mondays", key="release"), project=HERE
    ).memory
    clock.advance(days=1)
    new = revise(engine, old.id, MemoryPatch(content="Releases are cut on Fridays"))
    assert new.id != old.id
    assert new.key == "release"
    assert get_memory(engine, old.id).superseded_by == new.id
    assert find_memory(engine, "release", project=HERE).id == new.id


@pytest.mark.feature("A3")
def test_a_change_of_labels_stays_in_place(engine: Engine, clock: ManualClock) -> None:
    old = remember(engine, taught("Releases are cut on Mondays"), project=HERE).memory
    clock.advance(hours=1)
    new = revise(engine, old.id, MemoryPatch(tags=("release",), pinned=True, importance=0.4))
    assert (new.id, new.tags, new.pinned, new.importance) == (old.id, ("release",), True, 0.4)
    assert get_memory(engine, old.id) == new


@pytest.mark.feature("A3")
def test_forgetting_deletes_and_a_dry_run_does_not(engine: Engine) -> None:
    memory = remember(engine, taught("The staging password rotates monthly"), project=HERE).memory
    assert [m.id for m in forget(engine, [memory.id], dry_run=True)] == [memory.id]
    assert get_memory(engine, memory.id) == memory
    forget(engine, [memory.id])
    with pytest.raises(NotFoundError):
        get_memory(engine, memory.id)


@pytest.mark.feature("A3")
def test_forgetting_with_history_only_closes(engine: Engine, clock: ManualClock) -> None:
    memory = remember(engine, taught("We use Jenkins"), project=HERE).memory
    clock.advance(days=1)
    forget(engine, [memory.id], keep_history=True)
    assert get_memory(engine, memory.id).valid_to == clock.now
    assert engine.store.list(OPEN).items == ()


@pytest.mark.feature("A1")
def test_a_memory_is_picked_by_full_id_short_id_or_prefix(engine: Engine) -> None:
    memory = remember(engine, taught("Only one here"), project=HERE).memory
    for name in (memory.id, memory.short, memory.short[:5], f"m:{memory.short}".upper()):
        assert find_memory(engine, name, project=HERE).id == memory.id
    with pytest.raises(NotFoundError, match="wellkept list"):
        find_memory(engine, "zzzzzzzz", project=HERE)


@pytest.mark.feature("A1")
def test_a_memory_about_the_person_is_shared_and_updated_across_projects(engine: Engine) -> None:
    draft = taught("Prefers short answers", scope=Scope.USER, key="style")
    remember(engine, draft, project=HERE)
    kept = remember(engine, replace(draft, content="Prefers long answers"), project="name:there")
    assert kept.outcome is RememberOutcome.SUPERSEDED
    assert [m.content for m in engine.store.list(OPEN).items] == ["Prefers long answers"]
