"""Near-duplicates become one memory and nothing that was said is lost."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.workshop import PROJECT, START, Workshop, open_workshop
from wellkept.core.changes import Close, Delete, Mark, Replace
from wellkept.core.memory import Memory, Relation, WorkUnitRef
from wellkept.core.payloads import Decision
from wellkept.core.query import Filter
from wellkept.core.types import EvidenceKind, MemoryType, RelationType, Scope
from wellkept.memory.engine import Thresholds
from wellkept.memory.lifecycle.compaction import compact
from wellkept.testing.fakes import WordEmbedder

pytestmark = pytest.mark.feature("A5")

TEXT = "Deploys go through the staging cluster first"
REORDERED = "Deploys go first through the staging cluster"
FULLER = "Deploys go through the staging cluster first, then production"
CONTRARY = "Deploys never go through the staging cluster first"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    made = open_workshop(tmp_path, embedder=WordEmbedder)
    yield made
    made.store.close()


def still_open(shop: Workshop) -> set[str]:
    return {memory.id for memory in shop.all().values() if memory.is_open}


# -- What is merged -------------------------------------------------------------------------------


def test_the_duplicate_is_closed_and_its_text_stays_with_the_survivor(shop: Workshop) -> None:
    kept = shop.keep(TEXT, confidence=0.9)
    gone = shop.keep(REORDERED, confidence=0.5)
    shop.clock.advance(days=1)
    report = compact(shop.engine, project=PROJECT)
    closed, survivor = shop.read(gone), shop.read(kept)
    assert (closed.valid_to, closed.superseded_by) == (shop.clock.now, kept.id)
    assert closed.content == REORDERED
    assert survivor.content == TEXT
    merged = [e for e in survivor.evidence if e.kind is EvidenceKind.MERGED]
    assert [(e.ref, e.note) for e in merged] == [(gone.id, REORDERED)]
    assert (report.examined, report.changed, report.counts) == (2, 1, {"merged": 1})
    assert report.rows()[0][2:4] == ("open", f"merged into {kept.short}")


def test_tags_files_sessions_relations_and_uses_are_united(shop: Workshop) -> None:
    friend = shop.keep("The cluster is small")
    kept = shop.keep(
        TEXT, confidence=0.9, tags=("deploy",), files=("a.py",), provenance_sessions=("s1",)
    )
    gone = shop.keep(
        TEXT,
        confidence=0.5,
        importance=0.9,
        tags=("staging", "deploy"),
        files=("b.py",),
        provenance_sessions=("s2",),
        key="deploys",
        relations=(
            Relation(RelationType.VALIDATES, target_id=friend.id),
            Relation(RelationType.DERIVED_FROM, target_id=kept.id),
        ),
    )
    shop.store.record_access([kept.id, gone.id], at=START)
    shop.store.flush()
    compact(shop.engine, project=PROJECT)
    survivor = shop.read(kept)
    assert survivor.tags == ("deploy", "staging")
    assert survivor.files == ("a.py", "b.py")
    assert survivor.provenance_sessions == ("s1", "s2")
    assert survivor.relations == (Relation(RelationType.VALIDATES, target_id=friend.id),)
    assert survivor.access_count == 2
    assert survivor.importance == 0.9
    found = shop.store.find_key("deploys", project=PROJECT, user_scope=False)
    assert found == survivor


def test_relations_of_others_point_to_the_survivor(shop: Workshop) -> None:
    kept = shop.keep(TEXT, confidence=0.9)
    gone = shop.keep(TEXT, confidence=0.5)
    relations = (
        Relation(RelationType.REQUIRED_WITH, target_id=gone.id),
        Relation(RelationType.REQUIRED_WITH, target_id=kept.id),
        Relation(RelationType.REQUIRED_WITH, target_file="a.py"),
    )
    other = shop.keep("The cluster is small", relations=relations)
    compact(shop.engine, project=PROJECT)
    assert shop.read(other).relations == relations[1:]


def test_the_survivor_is_found_by_what_it_took_over(shop: Workshop) -> None:
    kept = shop.keep(TEXT, confidence=0.9)
    shop.keep(TEXT, confidence=0.5, tags=("kubernetes",))
    compact(shop.engine, project=PROJECT)
    where = Filter(project=PROJECT)
    assert [h.id for h in shop.store.search_fulltext(["kubernetes"], where, limit=5)] == [kept.id]
    vector = WordEmbedder().embed_query(TEXT)
    hits = shop.store.search_vectors(vector, model_id="words-256", where=where, limit=5)
    assert [hit.id for hit in hits] == [kept.id]


@pytest.mark.parametrize(
    "better",
    [
        {"user_verified": True, "confidence": 0.1},
        {"pinned": True, "confidence": 0.1},
        {"confidence": 0.9},
        {"importance": 0.9},
        {},
    ],
    ids=["verified", "pinned", "surer", "more important", "older"],
)
def test_the_better_one_survives(shop: Workshop, better: dict[str, object]) -> None:
    fields = {"confidence": 0.5, "importance": 0.5, **better}
    if better:
        worse = shop.keep(TEXT, confidence=0.5, importance=0.5)
        best = shop.keep(TEXT, **fields)
    else:
        best = shop.keep(TEXT, **fields)
        worse = shop.keep(TEXT, **fields)
    compact(shop.engine, project=PROJECT)
    assert shop.read(worse).superseded_by == best.id


def test_a_fuller_statement_is_not_swallowed_by_a_surer_one(shop: Workshop) -> None:
    short = shop.keep(TEXT, confidence=0.9)
    full = shop.keep(FULLER, confidence=0.5)
    engine = replace(shop.engine, thresholds=lambda: Thresholds(same=0.85))
    compact(engine, project=PROJECT)
    assert shop.read(short).superseded_by == full.id
    assert shop.read(full).confidence == 0.9


def test_a_fuller_statement_stands_beside_one_that_a_person_vouches_for(shop: Workshop) -> None:
    shop.keep(TEXT, user_verified=True)
    full = shop.keep(FULLER)
    engine = replace(shop.engine, thresholds=lambda: Thresholds(same=0.85))
    report = compact(engine, project=PROJECT)
    assert [(i.id, i.rule, i.changes) for i in report.items] == [(full.id, "kept apart", False)]
    assert len(still_open(shop)) == 2


def test_a_chain_of_ever_fuller_statements_ends_in_the_fullest(shop: Workshop) -> None:
    texts = [TEXT, FULLER, f"{FULLER} by hand"]
    made = [shop.keep(text, confidence=0.9 - n / 10) for n, text in enumerate(texts)]
    engine = replace(shop.engine, thresholds=lambda: Thresholds(same=0.8))
    compact(engine, project=PROJECT)
    assert still_open(shop) == {made[2].id}
    assert [shop.read(m).superseded_by for m in made[:2]] == [made[2].id] * 2
    notes = {e.note for e in shop.read(made[2]).evidence}
    assert notes == set(texts[:2])


# -- What is not ----------------------------------------------------------------------------------


def test_contradictions_are_reported_and_both_stand(shop: Workshop) -> None:
    shop.keep(TEXT, confidence=0.9)
    contrary = shop.keep(CONTRARY, confidence=0.5)
    report = compact(shop.engine, project=PROJECT)
    assert [(i.id, i.rule, i.changes) for i in report.items] == [
        (contrary.id, "contradiction", False)
    ]
    assert report.changed == 0
    assert len(still_open(shop)) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use pnpm, not npm, to install packages", "Use npm, not pnpm, to install packages"),
        (
            "CSS modules are preferred; add no new styled components",
            "Styled components are preferred; add no new CSS modules",
        ),
        ("统一使用 pnpm 安装依赖，不要使用 npm。", "统一使用 npm 安装依赖，不要使用 pnpm。"),
    ],
)
def test_statements_whose_terms_changed_places_are_not_merged(
    shop: Workshop, one: str, other: str
) -> None:
    shop.keep(one)
    shop.keep(other)
    assert compact(shop.engine, project=PROJECT).counts == {"contradiction": 1}


def test_memories_marked_as_conflicting_are_left_to_a_person(shop: Workshop) -> None:
    one = shop.keep(TEXT)
    shop.keep(TEXT, relations=(Relation(RelationType.CONFLICTS_WITH, target_id=one.id),))
    assert compact(shop.engine, project=PROJECT).counts == {"contradiction": 1}


@pytest.mark.parametrize(
    "apart",
    [
        {"type": MemoryType.GOTCHA},
        {"scope": Scope.MODULE},
        {"project": "git:example.org/other"},
        {"seq": 3, "session_id": "s1"},
        {"type": MemoryType.DECISION, "payload": Decision("cheaper")},
    ],
    ids=["another type", "another scope", "another project", "a turn", "a payload"],
)
def test_what_is_not_of_one_kind_stays_apart(shop: Workshop, apart: dict[str, object]) -> None:
    shop.keep(TEXT)
    shop.keep(TEXT, **apart)
    assert compact(shop.engine, project=PROJECT).items == ()


def test_turns_of_a_conversation_are_never_merged(shop: Workshop) -> None:
    for seq in range(3):
        shop.keep("ok", type=MemoryType.EPISODE, session_id="s1", seq=seq)
    report = compact(shop.engine, project=PROJECT)
    assert (report.examined, report.items) == (0, ())


def test_notes_of_different_sessions_and_work_units_stay_apart(shop: Workshop) -> None:
    for name in ("one", "two"):
        unit = WorkUnitRef("native", (name,), name)
        shop.keep(TEXT, scope=Scope.WORK_UNIT, work_unit=unit)
        shop.keep(TEXT, scope=Scope.SESSION, session_id=name)
    assert compact(shop.engine, project=PROJECT).items == ()


def test_two_keys_keep_two_memories(shop: Workshop) -> None:
    shop.keep(TEXT, key="deploys")
    shop.keep(TEXT, key="staging")
    assert compact(shop.engine, project=PROJECT).counts == {"kept apart": 1}


def test_closed_stale_and_archived_memories_are_left_alone(shop: Workshop) -> None:
    shop.keep(TEXT)
    closed, stale, archived = (shop.keep(TEXT) for _ in range(3))
    shop.store.apply(
        [
            Close(closed.id, START),
            Mark(stale.id, "stale", START),
            Mark(archived.id, "archived", START),
        ]
    )
    assert compact(shop.engine, project=PROJECT).items == ()


def test_texts_that_only_sound_alike_stay_apart(shop: Workshop) -> None:
    shop.keep("The api server listens on port 8080")
    shop.keep("The api server listens on port 9090")
    report = compact(replace(shop.engine, thresholds=lambda: Thresholds(same=0.5)), project=PROJECT)
    assert report.changed == 0


# -- How it is done -------------------------------------------------------------------------------


def test_without_an_embedder_equal_texts_are_still_merged_and_the_report_says_so(
    tmp_path: Path,
) -> None:
    shop = open_workshop(tmp_path)
    kept = shop.keep(TEXT, confidence=0.9)
    gone = shop.keep(f"  {TEXT.upper()} ")
    shop.keep(REORDERED)
    report = compact(shop.engine, project=PROJECT)
    assert [item.id for item in report.items] == [gone.id]
    assert report.notes == ("No embedding model: only equal texts were compared.",)
    assert shop.read(gone).superseded_by == kept.id
    shop.store.close()


def test_without_an_embedder_no_stored_vector_is_lost(shop: Workshop) -> None:
    shop.keep(TEXT)
    shop.keep(TEXT)
    compact(replace(shop.engine, embedder=lambda: None), project=PROJECT)
    assert [(share.model_id, share.count) for share in shop.store.vector_models()] == [
        ("words-256", 2)
    ]


def test_a_group_that_changed_meanwhile_is_passed_over_and_told(shop: Workshop) -> None:
    kept = shop.keep(TEXT, confidence=0.9)
    shop.keep(TEXT, confidence=0.5)
    lone = [shop.keep("The cluster is small", confidence=n / 10) for n in (9, 5)]
    shop.clock.advance(days=1)
    edited = replace(kept, tags=("edited",), updated_at=shop.clock.now)

    def meddle() -> None:
        shop.store.apply([Replace(edited)])

    # The meddling happens between planning and writing: at the embedder's second call.
    calls: list[None] = []

    def embedder() -> WordEmbedder:
        calls.append(None)
        if len(calls) == 2:
            meddle()
        return WordEmbedder()

    report = compact(replace(shop.engine, embedder=embedder), project=PROJECT)
    assert [item.id for item in report.items] == [lone[1].id]
    assert report.notes == ("Groups that changed meanwhile: 1. Run this again.",)
    assert shop.read(kept) == edited
    assert compact(shop.engine, project=PROJECT).changed == 1


def test_a_duplicate_deleted_meanwhile_is_no_error(shop: Workshop) -> None:
    kept = shop.keep(TEXT, confidence=0.9)
    gone = shop.keep(TEXT, confidence=0.5)
    engine = shop.meddled(lambda: shop.store.apply([Delete(gone.id)]))
    assert compact(engine, project=PROJECT).items == ()
    assert shop.read(kept) == kept


def test_compacting_again_changes_nothing(shop: Workshop) -> None:
    for _ in range(5):
        shop.keep(TEXT)
    assert compact(shop.engine, project=PROJECT).changed == 4
    once = shop.all()
    assert compact(shop.engine, project=PROJECT).changed == 0
    assert shop.all() == once


def test_progress_ends_at_the_total(shop: Workshop) -> None:
    for text in (TEXT, FULLER, "The cluster is small"):
        shop.keep(text)
    seen: list[tuple[int, int]] = []
    compact(shop.engine, project=PROJECT, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 3)


statements = st.lists(
    st.tuples(
        st.lists(st.sampled_from("tests never run on the main server first".split()), min_size=1),
        st.sampled_from([MemoryType.FACT, MemoryType.GOTCHA]),
        st.floats(min_value=0, max_value=1),
        st.booleans(),
        st.sampled_from([None, None, "alpha", "beta"]),
    ),
    max_size=10,
)


def keep_drawn(
    shop: Workshop, drawn: list[tuple[list[str], MemoryType, float, bool, str | None]]
) -> list[Memory]:
    taken: set[str] = set()
    kept: list[Memory] = []
    for words, kind, confidence, verified, key in drawn:
        free = key if key not in taken else None
        taken |= {free} if free else set()
        text = " ".join(words)
        kept.append(
            shop.keep(text, type=kind, confidence=confidence, user_verified=verified, key=free)
        )
    return kept


@settings(max_examples=25)
@given(statements)
def test_every_text_stays_somewhere_and_a_dry_run_foretells_it_all(
    drawn: list[tuple[list[str], MemoryType, float, bool, str | None]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shop = open_workshop(Path(folder), embedder=WordEmbedder)
        kept = keep_drawn(shop, drawn)
        before = shop.all()
        foretold = compact(shop.engine, project=PROJECT, dry_run=True)
        assert shop.all() == before
        done = compact(shop.engine, project=PROJECT)
        assert replace(done, dry_run=True) == foretold
        after = [memory for memory in shop.all().values() if memory.is_open]
        said = {(m.type, m.content) for m in after}
        said |= {(m.type, e.note) for m in after for e in m.evidence if e.note}
        assert {(m.type, m.content) for m in kept} == said
        assert {m.key for m in kept} - {None} == {m.key for m in after} - {None}
        for memory in shop.all().values():
            if not memory.is_open:
                assert memory.superseded_by in {m.id for m in after}
        shop.store.close()
