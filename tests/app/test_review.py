"""Review: groups, corrections, many memories at once, undo, history, conflicts."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import wellkept
from tests.app.opening import open_in
from tests.app.test_injected import given
from tests.server.http_serving import served_in
from tests.support.samples import START, Samples
from wellkept.context.review import auto_confirmed
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.ports.injections import LineOutcome
from wellkept.core.ports.store import KEPT_DAYS
from wellkept.core.records import replace
from wellkept.core.types import Source
from wellkept.memory.history import MemoryHistory
from wellkept.testing.fakes import ManualClock, WordEmbedder


def history(wk: wellkept.Wellkept, name: str) -> MemoryHistory:
    found = wk.show(name, history=True).items[0].history
    assert found is not None
    return found


TEXTS = (
    "Deploys go through staging first",
    "The export job needs the old locale",
    "Invoices round half up",
)


@pytest.mark.feature("H2")
@pytest.mark.parametrize("action", ["confirm", "reject", "archive", "delete", "flag", "tag"])
def test_every_action_is_undone_exactly(tmp_path: Path, action: str) -> None:
    with open_in(tmp_path, embedder=WordEmbedder()) as wk:
        ids = [wk.remember(text, tags=["old"], needs_review=True).memory.id for text in TEXTS]
        given(wk, wk.get(ids[0]), 1, outcome=LineOutcome.USED)
        before = [wk.get(one) for one in ids]
        log = wk.injected.list().items
        done = wk.edit(ids, action=action, reason="said so", tags=["new"])
        assert done.count == 3
        assert done.undo_id is not None
        assert wk.engine.store.get(ids) != before
        (step,) = wk.undo(done.undo_id)
        assert step.action == action
        assert wk.engine.store.get(ids) == before
        assert wk.injected.list().items == log
        assert wk.injected.silent() == []
        assert wk.recall("staging deploys", count_access=False)[0].memory.id == ids[0]
        with pytest.raises(ConflictError, match="already"):
            wk.undo(done.undo_id)


@pytest.mark.feature("H2")
def test_all_that_match_are_changed_and_a_preview_changes_nothing(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        for text in TEXTS:
            wk.remember(text, tags=["x"])
        other = wk.remember("Something else about queues").memory
        preview = wk.edit(action="importance", where={"tags": ["x"]}, importance=0.9, dry_run=True)
        assert (preview.count, preview.undo_id) == (3, None)
        assert {m.importance for m in wk.list(tags=["x"])} != {0.9}
        wk.edit(action="importance", where={"tags": ["x"]}, importance=0.9)
        assert {m.importance for m in wk.list(tags=["x"])} == {0.9}
        assert wk.get(other.id) == other
        for wrong in ({"action": "importance"}, {"action": "tag"}, {"action": "burn"}):
            with pytest.raises(UsageError):
                wk.edit([other.id], **wrong)  # type: ignore[arg-type]


@pytest.mark.feature("H2")
def test_a_step_is_kept_for_a_bounded_time(tmp_path: Path) -> None:
    clock = ManualClock()
    with open_in(tmp_path, clock=clock) as wk:
        first, second = (wk.remember(text).memory for text in TEXTS[:2])
        step = wk.edit(first.id, action="delete").undo_id
        assert step is not None
        clock.advance(days=KEPT_DAYS + 1)
        assert wk.undo().items == ()
        wk.edit(second.id, action="confirm")
        with pytest.raises(NotFoundError):
            wk.undo(step)
        clock.advance(days=KEPT_DAYS + 1)
        wk.maintain()
        assert wk.engine.store.undo_steps(project=wk.project, limit=9) == []


@pytest.mark.feature("H3")
def test_the_rule_that_confirms_by_itself() -> None:
    memory = Samples().memory()
    assert auto_confirmed(memory) is None
    assert auto_confirmed(replace(memory, user_verified=True)) == "verified"
    assert auto_confirmed(replace(memory, source=Source.COMMIT_AUTO)) == "commit"
    sure = replace(memory, confidence=0.91, access_count=3)
    assert auto_confirmed(sure) == "sure and used often"
    assert auto_confirmed(replace(sure, access_count=2)) is None
    assert auto_confirmed(replace(sure, confidence=0.9)) is None


@pytest.mark.feature("H3")
def test_a_session_is_reviewed_in_three_groups(tmp_path: Path) -> None:
    clock = ManualClock(START + timedelta(days=5))
    with open_in(tmp_path, clock=clock) as wk:
        old = wk.remember(TEXTS[0], type="convention").memory
        given(wk, old, 3, outcome=LineOutcome.USED)
        new = wk.remember(TEXTS[1], session="session-3", needs_review=True).memory
        sure = wk.remember(TEXTS[2], session="session-3", source="commit_auto").memory
        wk.remember("Elsewhere something waits", needs_review=True)
        found = wk.review(session="session-3")
        everything = wk.review()
    assert [one.memory.id for one in found.applied] == [old.id]
    assert [one.memory.id for one in found.new] == [new.id]
    assert found.new[0].line == f"- [FACT] agent noted: {TEXTS[1]} [m:{new.short}]"
    assert [(one.memory.id, one.why) for one in found.auto_confirmed] == [(sure.id, "commit")]
    assert (found.waiting, everything.waiting) == (1, 2)


@pytest.mark.feature("H2")
@pytest.mark.parametrize("reason", ["inaccurate", "outdated", "too_specific", "duplicate"])
def test_a_memory_is_corrected_for_four_reasons_and_the_correction_undone(
    tmp_path: Path, reason: str
) -> None:
    with open_in(tmp_path) as wk:
        first, second = (wk.remember(text).memory for text in TEXTS[:2])
        done = wk.edit(
            second.id, because=reason, content="The export needs C.UTF-8", original=first.id
        )
        old = wk.get(second.id)
        assert not old.is_open
        if reason in ("inaccurate", "too_specific"):
            assert done.memory.content == "The export needs C.UTF-8"
            assert done.memory.user_verified
            assert [one.kind.value for one in history(wk, done.memory.id).entries][:2] == [
                "learned",
                "replaced",
            ]
        if reason == "duplicate":
            assert old.superseded_by == first.id
            assert done.memory.evidence[-1].note == TEXTS[1]
        if reason == "outdated":
            assert old.evidence[-1].note == "outdated"
        wk.undo(done.undo_id or "")
        assert wk.engine.store.get([first.id, second.id]) == [first, second]
        assert wk.stats().total == 2


@pytest.mark.feature("H2")
def test_a_correction_that_lacks_something_changes_nothing(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        memory = wk.remember(TEXTS[0]).memory
        for reason, original in (("inaccurate", ""), ("duplicate", ""), ("duplicate", memory.id)):
            with pytest.raises(UsageError):
                wk.edit(memory.id, because=reason, original=original)
        assert wk.get(memory.id) == memory
        assert wk.undo().items == ()


@pytest.mark.feature("H2")
def test_history_tells_what_replaced_what(tmp_path: Path) -> None:
    clock = ManualClock()
    with open_in(tmp_path, clock=clock) as wk:
        first = wk.remember("The port is 80").memory
        clock.advance(days=1)
        second = wk.edit(first.id, content="The port is 8080").memory
        given(wk, second, 9)
        for name in (first.id, second.id):
            found = history(wk, name)
            assert [one.id for one in found.versions] == [first.id, second.id]
            assert found.current == second.id
            assert {"learned", "replaced", "given"} <= {one.kind.value for one in found.entries}


@pytest.mark.feature("H2")
def test_two_people_at_one_memory_are_shown_both_versions(tmp_path: Path) -> None:
    with served_in(tmp_path) as web:
        short = web.remember(TEXTS[0])
        seen = "2020-01-01T00:00:00Z"
        web.client.post("/api/edit", json={"ids": short, "tags": ["theirs"]})
        late = {"ids": short, "tags": ["mine"], "if_updated_at": seen}
        answer = web.client.post("/api/edit", json=late)
        assert answer.status_code == 409
        assert answer.json()["current"]["tags"] == ["theirs"]
        assert answer.json()["yours"]["tags"] == ["mine"]
        version = [{"id": short, "updated_at": seen}]
        many = {"action": "delete", "ids": [short], "seen": version}
        assert web.client.post("/api/edit", json=many).status_code == 409
        assert web.shown(short)["tags"] == ["theirs"]


@pytest.mark.feature("H2", "H3")
def test_the_page_reviews_undoes_and_clears_behind_a_typed_name(tmp_path: Path) -> None:
    with served_in(tmp_path) as web:
        for text in TEXTS:
            web.remember(text, tags=["x"])
        assert len(web.get("review")["new"]) == 0
        gone = web.post("edit", action="delete", where={"tags": ["x"]})
        assert (gone["count"], web.get("stats")["total"]) == (3, 0)
        assert web.post("undo", id=gone["undo_id"])["items"][0]["undone_at"]
        assert web.get("stats")["total"] == 3
        shown = web.post("forget", everything=True, dry_run=True)
        assert (shown["dry_run"], shown["count"]) == (True, 3)
        wrong = web.client.post("/api/forget", json={"everything": True, "project_name": "another"})
        assert wrong.status_code == 400
        assert web.get("stats")["total"] == 3
        assert not web.post("forget", everything=True, project_name=shown["project_name"])[
            "dry_run"
        ]
        assert web.get("stats")["total"] == 0
        assert web.post("undo")["items"] == []
