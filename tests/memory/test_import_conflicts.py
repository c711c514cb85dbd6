"""A record from elsewhere meets what is known: nothing is overwritten, nothing is taken twice."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.exchange_steps import HEADER, counts, exported, line, one, put, take
from tests.support.model_store.store import ModelStore
from tests.support.samples import Samples
from wellkept.core.memory import Memory
from wellkept.core.types import EvidenceKind, MemoryType, Scope
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.jsonl import full_export, import_jsonl

pytestmark = pytest.mark.feature("A11")

LATER = timedelta(hours=5)


def test_a_later_version_wins_and_keeps_the_earlier_words(engine: Engine, samples: Samples):
    old = samples.memory("Tests run with make test.", access_count=9)
    put(engine, old)
    new = replace(old, content="Tests run with make check.", updated_at=old.updated_at + LATER)
    assert counts(take(engine, line(new))) == (0, 1, 0, 0)
    kept = one(engine, old)
    assert (kept.content, kept.access_count) == ("Tests run with make check.", 9)
    assert [(e.kind, e.note) for e in kept.evidence] == [
        (EvidenceKind.MERGED, "Tests run with make test.")
    ]
    assert counts(take(engine, line(new))) == (0, 0, 1, 0)
    assert one(engine, old) == kept


def test_an_earlier_version_leaves_its_words_as_evidence_only(engine: Engine, samples: Samples):
    now = samples.memory("Port 8080.")
    put(engine, now)
    past = replace(now, content="Port 80.", updated_at=now.updated_at - LATER)
    assert counts(take(engine, line(past))) == (0, 1, 0, 0)
    kept = one(engine, now)
    assert (kept.content, kept.updated_at) == ("Port 8080.", now.updated_at)
    assert [e.note for e in kept.evidence] == ["Port 80."]
    assert counts(take(engine, line(past))) == (0, 0, 1, 0)


def test_counters_alone_are_no_news(engine: Engine, samples: Samples):
    memory = samples.memory("Known.", access_count=3)
    put(engine, memory)
    report = take(engine, line(replace(memory, access_count=40, importance=0.1)))
    assert counts(report) == (0, 0, 1, 0)
    assert one(engine, memory) == memory


def test_other_words_with_the_same_time_become_evidence(engine: Engine, samples: Samples):
    memory = samples.memory("Known.")
    put(engine, memory)
    report = take(engine, line(replace(memory, content="Edited by hand.")))
    assert counts(report) == (0, 1, 0, 0)
    assert "kept as evidence" in report.merges[0].reason
    kept = one(engine, memory)
    assert (kept.content, kept.evidence[0].note) == ("Known.", "Edited by hand.")


def test_another_type_with_the_same_time_is_refused(engine: Engine, samples: Samples):
    memory = samples.memory("Known.")
    put(engine, memory)
    report = take(engine, line(replace(memory, type=MemoryType.GOTCHA)))
    assert counts(report) == (0, 0, 0, 1)
    assert "same updated_at" in report.refused[0].reason


def test_a_closing_elsewhere_arrives_with_its_successor(
    engine: Engine, other: Engine, samples: Samples
):
    old = samples.memory("We deploy by hand.", key="deploy")
    put(engine, old)
    new = samples.memory("We deploy by pipeline.", key="deploy")
    closed = replace(
        old, valid_to=new.valid_from, superseded_by=new.id, updated_at=old.updated_at + LATER
    )
    put(other, closed, new)
    assert counts(import_jsonl(engine, io.StringIO(exported(other)))) == (1, 1, 0, 0)
    assert exported(engine) == exported(other)


@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.USER])
def test_of_two_open_memories_with_one_key_the_later_stays_open(
    engine: Engine, samples: Samples, scope: Scope
):
    here = samples.memory("Indent with tabs.", key="indent", scope=scope)
    there = samples.memory("Indent with spaces.", key="indent", scope=scope)
    put(engine, here)
    report = take(engine, line(there))
    assert counts(report) == (0, 1, 0, 0)
    assert "supersedes" in report.merges[0].reason
    assert one(engine, here).superseded_by == there.id
    assert not one(engine, here).is_open
    held = engine.store.find_key("indent", project="example", user_scope=scope is Scope.USER)
    assert held == there
    before = exported(engine)
    assert counts(take(engine, line(there))) == (0, 0, 1, 0)
    assert exported(engine) == before


def test_an_earlier_claim_to_a_key_is_kept_closed(engine: Engine, samples: Samples):
    there = samples.memory("Indent with spaces.", key="indent")
    here = samples.memory("Indent with tabs.", key="indent")
    put(engine, here)
    assert counts(take(engine, line(there))) == (0, 1, 0, 0)
    kept = one(engine, there)
    assert (kept.superseded_by, kept.is_open) == (here.id, False)
    assert kept.valid_to == here.valid_from
    before = exported(engine)
    assert counts(take(engine, line(there))) == (0, 0, 1, 0)
    assert exported(engine) == before


def test_one_file_may_hold_the_same_record_and_key_twice(engine: Engine, samples: Samples):
    first = samples.memory("One.", key="k")
    second = samples.memory("Two.", key="k")
    report = take(engine, line(first), HEADER, line(first), line(second))
    assert counts(report) == (1, 1, 1, 0)
    assert one(engine, first).superseded_by == second.id


_FEW_IDS = [f"00000000-0000-7000-8000-00000000000{n}" for n in range(4)]


@st.composite
def _crowded(draw: st.DrawFn) -> Memory:
    """A record that gets in the way of others: few ids, few keys, few moments, few words."""
    start = Samples().memory()
    at = start.updated_at + timedelta(hours=draw(st.integers(0, 3)))
    return replace(
        start,
        id=draw(st.sampled_from(_FEW_IDS)),
        key=draw(st.sampled_from([None, "a", "b"])),
        content=draw(st.sampled_from(["One.", "Two."])),
        scope=draw(st.sampled_from([Scope.GLOBAL, Scope.USER])),
        updated_at=at,
        valid_from=at,
    )


_crowds = st.lists(_crowded(), max_size=6)


@given(_crowds, _crowds)
@settings(max_examples=150)
def test_files_that_disagree_settle_at_once_and_lose_no_words(
    left: list[Memory], right: list[Memory]
):
    engine = Engine(store=ModelStore())
    for library in (left, right):
        take(engine, *map(line, library))
        settled = exported(engine)
        again = take(engine, *map(line, library))
        assert counts(again) == (0, 0, len(library), 0)
        assert exported(engine) == settled
    words = {(m.id, m.content) for m in (*left, *right)}
    kept = {
        (m.id, text)
        for m in engine.store.iterate(full_export(None))
        for text in (m.content, *(e.note for e in m.evidence))
    }
    assert words <= kept


def test_keys_that_changed_places_are_refused_by_line_not_by_file(engine: Engine, samples: Samples):
    left, right = samples.memory("Left.", key="a"), samples.memory("Right.", key="b")
    put(engine, left, right)
    swapped = [
        replace(left, key="b", updated_at=left.updated_at + LATER),
        replace(right, key="a", updated_at=right.updated_at + LATER),
    ]
    report = take(engine, *map(line, swapped), line(samples.memory("Fine.")))
    assert report.new == 1
    assert {m.content for m in engine.store.iterate(full_export(None))} == {
        "Left.",
        "Right.",
        "Fine.",
    }


def test_a_record_cannot_move_to_another_project(engine: Engine, samples: Samples):
    memory = samples.memory("Ours.")
    put(engine, memory)
    text = exported(engine)
    report = import_jsonl(engine, io.StringIO(text), project="name:other")
    assert counts(report) == (0, 0, 0, 1)
    assert "already belongs" in report.refused[0].reason


def test_an_import_can_be_put_under_one_project_and_follows_aliases(
    engine: Engine, other: Engine, samples: Samples
):
    put(engine, samples.memory("Ours."))
    other.store.merge_projects("name:old", into="name:new")
    import_jsonl(other, io.StringIO(exported(engine)), project="name:old")
    assert [m.project for m in other.store.iterate(full_export(None))] == ["name:new"]
