"""Conformance: steps that can be taken back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.conformance.fixtures import ConformanceFixture
from tests.support.conformance.injections import injection, line
from tests.support.samples import START, Samples
from wellkept.core.changes import (
    Close,
    Delete,
    Insert,
    Mark,
    PutExplanation,
    PutInjection,
    PutSilence,
    Replace,
)
from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.core.ports.injections import InjectionFilter, SilentLine
from wellkept.core.ports.store import MAINTENANCE, Store, UndoStep
from wellkept.core.query import Filter
from wellkept.core.records import replace
from wellkept.core.session.activity import ActivityKind
from wellkept.core.session.scratchpad import Explanation


def _step(name: str = "u1", **fields: object) -> UndoStep:
    plain = UndoStep(id=name, project="example", action="delete", at=START, count=1)
    return replace(plain, **fields)


class UndoConformance(ConformanceFixture):
    """Contract of the `UndoLog` port."""

    @pytest.mark.feature("H2")
    def test_a_deleted_memory_comes_back_with_everything(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        vector = samples.vector()
        new = samples.insert("kept words", model_id="m", vector=vector, tags=("t",), key="k")
        old = samples.insert("older", valid_to=START, superseded_by=new.memory.id)
        one = new.memory.id
        why = Explanation(
            memory_id=one, project="example", at=START, rule="twice", subject="s", validated_by="v"
        )
        store.apply(
            [
                new,
                old,
                PutInjection(injection(1, line(one, memory_id=one), line("l2"))),
                PutSilence("example", one, SilentLine(one, START + timedelta(days=9), "harm")),
                PutExplanation(why),
            ]
        )
        given = store.injections(InjectionFilter()).items
        store.begin_undo(_step(), [one])
        store.apply([Delete(one)])
        store.finish_undo("u1", made=[])
        assert other.get([one]) == []
        assert other.undo("u1", project="example").undone_at is not None
        assert other.get([one, old.memory.id]) == [new.memory, old.memory]
        assert other.injections(InjectionFilter()).items == given
        assert [hit.line_id for hit in other.silent_lines(project="example")] == [one]
        where = Filter(project="example", tags=("t",))
        assert [m.id for m in other.list(where)] == [one]
        assert [hit.id for hit in other.search_fulltext(["kept"], where, limit=5)] == [one]
        found = other.search_vectors(vector, model_id="m", where=where, limit=5)
        assert [hit.id for hit in found] == [one]
        assert other.explanations([one]) == {one: why}
        assert other.check(deep=True) == []

    @pytest.mark.feature("H2")
    def test_a_changed_memory_is_as_before_and_its_successor_gone(
        self, store: Store, samples: Samples
    ) -> None:
        first, second = samples.insert("first", tags=("a",)), samples.insert("second")
        store.apply([first])
        before = first.memory
        store.begin_undo(_step(action="correct"), [before.id])
        store.apply([Close(before.id, samples.now, second.memory.id), second])
        store.finish_undo("u1", made=[second.memory.id])
        store.undo("u1", project="example")
        assert store.get([before.id, second.memory.id]) == [before]
        kinds = [one.kind.value for one in store.activity(after=0, project="example", limit=99)]
        assert kinds[-2:] == ["memory_deleted", "memory_changed"]

    @pytest.mark.feature("H2")
    def test_what_changed_since_is_not_overwritten(self, store: Store, samples: Samples) -> None:
        made = samples.insert("one")
        store.apply([made])
        store.begin_undo(_step(), [made.memory.id])
        tagged = replace(made.memory, tags=("x",), updated_at=START + timedelta(days=1))
        store.apply([Replace(tagged)])
        store.finish_undo("u1", made=[])
        later = replace(tagged, tags=("y",), updated_at=START + timedelta(days=2))
        store.apply([Replace(later)])
        with pytest.raises(ConflictError):
            store.undo("u1", project="example")
        assert store.get([made.memory.id]) == [later]

    @pytest.mark.feature("H2")
    def test_a_step_is_undone_once_in_its_project_and_kept_for_a_while(
        self, store: Store, samples: Samples
    ) -> None:
        made: list[Insert] = [samples.insert("one"), samples.insert("two")]
        store.apply(made)
        for number, one in enumerate(made):
            at = START + timedelta(days=number)
            store.begin_undo(_step(f"u{number}", at=at), [one.memory.id])
            store.finish_undo(f"u{number}", made=[])
        assert [one.id for one in store.undo_steps(project="example", limit=9)] == ["u1", "u0"]
        assert store.undo_steps(project="elsewhere", limit=9) == []
        with pytest.raises(NotFoundError):
            store.undo("u0", project="elsewhere")
        with pytest.raises(NotFoundError):
            store.begin_undo(_step("u9"), ["nothing"])
        store.undo("u1", project="example")
        with pytest.raises(ConflictError):
            store.undo("u1", project="example")
        assert store.prune_undo(before=START + timedelta(hours=1)) == 1
        with pytest.raises(NotFoundError):
            store.undo("u0", project="example")

    @pytest.mark.feature("A6")
    def test_archiving_is_one_step_and_one_line_in_the_log(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        made = [samples.insert(f"memory {number}") for number in range(3)]
        pinned = samples.insert("pinned", pinned=True)
        before = samples.insert("put away before", archived_at=START)
        store.apply([*made, pinned, before])
        seen = store.activity_range().newest
        named = [one.memory.id for one in (*made, pinned, before)]
        at = START + timedelta(days=200)
        done = store.archive(_step(action=MAINTENANCE, at=at), [*named, "gone"])
        assert done == sorted(one.memory.id for one in made)
        assert [one.archived_at for one in other.get(named)] == [at, at, at, None, START]
        (told,) = other.activity(after=seen, project="example", limit=9)
        assert told.kind is ActivityKind.MEMORIES_ARCHIVED
        assert told.subject == "3 memories; undo u1 takes it back"
        assert [one.count for one in other.undo_steps(project="example", limit=9)] == [3]
        assert store.archive(_step("u2", action=MAINTENANCE, at=at), named) == []
        assert len(other.undo_steps(project="example", limit=9)) == 1
        assert other.check(deep=True) == []

    @pytest.mark.feature("A6")
    def test_what_was_archived_comes_back_but_keeps_what_happened_since(
        self, store: Store, samples: Samples
    ) -> None:
        made = [samples.insert(f"memory {number}") for number in range(4)]
        store.apply(made)
        plain, edited, again, deleted = (one.memory for one in made)
        at, later = START + timedelta(days=200), START + timedelta(days=201)
        store.archive(_step(action=MAINTENANCE, at=at), [one.memory.id for one in made])
        rewritten = replace(edited, content="new words", archived_at=at, updated_at=later)
        store.apply([Replace(rewritten), Mark(again.id, "archived", later), Delete(deleted.id)])
        assert store.undo("u1", project="example").count == 4
        assert store.get([one.memory.id for one in made]) == [
            plain,
            replace(rewritten, archived_at=None),
            replace(again, archived_at=later),
        ]
        last = store.activity(after=0, project="example", limit=99)[-1]
        assert last.subject == "4 memories back by undo u1"
        assert store.prune_undo(before=later + timedelta(days=900)) == 0
        assert store.archived_by_rule(project="example") == {one.memory.id for one in made}
        assert store.archived_by_rule(project="elsewhere") == set()
