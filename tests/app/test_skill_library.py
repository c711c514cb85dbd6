"""Kept skills over time: refined, reviewed, used, judged and switched off."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from tests.app.working import (
    FAILED,
    PASSED,
    QUIET,
    ROUTE_SKILL,
    Desk,
    Worker,
    add_route,
    route_skill,
)
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.skills import SkillOrigin, SkillReview
from wellkept.skills.generation.generate import require_valid
from wellkept.skills.generation.procedure import SessionHistory
from wellkept.skills.library.learn import skills_called

pytestmark = pytest.mark.feature("F9")

NAME = ROUTE_SKILL
SECRET = "sk-ant-api03-" + "Zk3Jq9" * 15 + "AA"  # made up


# -- Refinement -----------------------------------------------------------------------------------


def test_sessions_that_did_the_same_are_merged_counted_and_the_old_text_is_kept(
    desk: Desk, wk: wellkept.Wellkept
) -> None:
    first = route_skill(desk, wk)
    wk.skills.review(NAME, "accept")
    for number, noun in ((2, "coupon"), (3, "voucher")):
        worker = add_route(desk.session(f"session-{number}"), noun, ends=False)
        worker.run("ruff check src", "All checks passed").end()
    desk.drain(wk)
    dry = wk.skills.refine(NAME, dry_run=True)
    assert wk.skills.library.get(NAME).text == first.text
    done = wk.skills.refine(NAME)
    assert done.skill.text == dry.skill.text
    assert done.sessions == ("session-1", "session-2", "session-3")
    assert (
        "Run the tests: `python -m pytest -q tests`. They must pass. (3 of 3 s" in done.skill.text
    )
    assert "Check the result: `ruff check src`. (2 of 3 sessions)" in done.skill.text
    assert done.skill.origin is SkillOrigin.REFINED
    assert (done.skill.enabled, done.skill.review) == (False, SkillReview.PENDING)
    assert [edition.text for edition in wk.skills.library.view(NAME).editions] == [first.text]
    assert require_valid(done.skill.text, name=NAME).findings == ()


def test_one_session_is_too_little_to_refine(desk: Desk, wk: wellkept.Wellkept) -> None:
    route_skill(desk, wk)
    with pytest.raises(UsageError, match="there are 1"):
        wk.skills.refine(NAME)
    with pytest.raises(NotFoundError):
        wk.skills.refine("nothing")


def test_what_a_person_wrote_is_replaced_only_on_request(desk: Desk, wk: wellkept.Wellkept) -> None:
    add_route(desk.session("session-1"))
    add_route(desk.session("session-2"), "coupon")
    desk.drain(wk)
    text = wk.skills.generate().made[0].text
    edited = text.replace("## Steps", "## Steps\n\n0. Think first.")
    wk.skills.review(NAME, "edit", text=edited)
    assert wk.skills.library.get(NAME).made_by == "person"
    with pytest.raises(ConflictError):
        wk.skills.refine(NAME)
    assert wk.skills.generator.refine(NAME, replace_edits=True).before == edited


# -- Review ---------------------------------------------------------------------------------------


def test_an_edit_must_validate_and_hold_no_secret(desk: Desk, wk: wellkept.Wellkept) -> None:
    text = route_skill(desk, wk).text
    for bad in ("no front matter", text.replace(f"name: {NAME}", "name: other"), ""):
        with pytest.raises(UsageError):
            wk.skills.review(NAME, "edit", text=bad)
    with pytest.raises(UsageError, match="secret"):
        wk.skills.review(NAME, "edit", text=f"{text}\nkey={SECRET}\n")
    with pytest.raises(UsageError):
        wk.skills.review(NAME, "edit")
    assert wk.skills.library.get(NAME).text == text
    assert wk.skills.library.get(NAME).review is SkillReview.PENDING


def test_fields_are_edited_and_the_skill_is_exported_and_removed_like_any_other(
    desk: Desk, wk: wellkept.Wellkept, tmp_path: Path
) -> None:
    route_skill(desk, wk)
    assert wk.skills.edit(NAME, {"version": "1.2.0"}).version == "1.2.0"
    target = wk.skills.export(NAME, tmp_path / "out")
    exported = (target / "SKILL.md").read_text(encoding="utf-8")
    assert exported == wk.skills.library.get(NAME).text
    assert "sessions: session-1" in exported
    wk.skills.delete(NAME)
    assert wk.skills.library.all() == []
    with pytest.raises(NotFoundError):
        wk.skills.review(NAME, "accept")


# -- Use ------------------------------------------------------------------------------------------


def _use(desk: Desk, name: str, *, works: bool) -> Worker:
    worker = desk.session(name).prompt("Add the next route like before").skill(NAME)
    worker.edit("src/shop/routes.py", f"a{name}", f"b{name}")
    worker.run("python -m pytest -q tests", PASSED if works else FAILED, fails=not works)
    worker.end()
    return worker


def test_the_success_rate_follows_the_sessions_that_used_it(
    desk: Desk, wk: wellkept.Wellkept
) -> None:
    route_skill(desk, wk)
    wk.skills.enable(NAME)
    _use(desk, "use-1", works=True)
    _use(desk, "use-2", works=False)
    desk.session("use-3").prompt(f"/{NAME} for vouchers").turn().end()
    desk.drain(wk)
    track = wk.skills.library.view(NAME).record
    assert (track.uses, track.judged, track.succeeded) == (3, 2, 1)
    assert track.success_rate == 0.5
    whole = wk.skills.library.overview()
    assert (whole.total, whole.accepted, whole.enabled) == (1, 1, 1)
    assert whole.record.success_rate == 0.5
    assert wk.skills.get(NAME).enabled


def test_a_skill_that_fails_twice_in_a_row_is_switched_off_with_a_note(
    desk: Desk, wk: wellkept.Wellkept
) -> None:
    route_skill(desk, wk)
    wk.skills.review(NAME, "accept")
    desk.now_ms = _ms(wk.skills.library.get(NAME).updated_at.timestamp())
    for name in ("use-1", "use-2"):
        assert wk.skills.get(NAME).enabled
        _use(desk, name, works=False)
        desk.drain(wk)
    off = wk.skills.get(NAME)
    assert not off.enabled
    assert "the last 2 sessions that used it failed" in (off.note or "")
    wk.skills.enable(NAME)
    assert wk.skills.get(NAME).enabled
    assert wk.skills.get(NAME).note is None
    assert wk.skills.library.view(NAME).record.failed_in_a_row == 0


def _ms(seconds: float) -> int:
    return int(seconds * 1000) + 60_000


def test_names_are_called_by_the_tool_or_after_a_slash() -> None:
    story = SessionHistory(session_id="s", prompts=("/one now", "/ nothing", "and /two", "/one"))
    assert skills_called(story) == ("one", "nothing")


# -- Leaving and coming back ----------------------------------------------------------------------


def test_an_export_carries_skills_and_they_wait_for_review_where_they_come_in(
    desk: Desk, wk: wellkept.Wellkept, tmp_path: Path
) -> None:
    route_skill(desk, wk)
    wk.skills.review(NAME, "accept")
    known = wk.skills.library.get(NAME)
    file = tmp_path / "export.jsonl"
    wk.export(file)
    assert wk.import_jsonl(file).new == 0
    with Desk(tmp_path / "other").open() as other:
        assert other.import_jsonl(file, here=True, dry_run=True).new > 0
        assert other.skills.library.all() == []
        other.import_jsonl(file, here=True)
        (came,) = other.skills.library.all()
        assert (came.text, came.session_ids) == (known.text, ("session-1",))
        assert (came.enabled, came.review) == (False, SkillReview.PENDING)
        assert "import" in (other.skills.get(NAME).note or "")
        assert other.import_jsonl(file, here=True).refused == ()
        assert len(other.skills.library.all()) == 1


def test_a_skill_line_that_is_none_or_holds_a_secret_is_refused_by_number(
    desk: Desk, wk: wellkept.Wellkept, tmp_path: Path
) -> None:
    route_skill(desk, wk)
    file = tmp_path / "export.jsonl"
    wk.export(file)
    head, *_, line = file.read_text(encoding="utf-8").splitlines()
    bad = [
        '{"skill": 3}',
        line.replace("## Steps", f"key={SECRET}"),
        line.replace('"name": "', '"nam": "'),
        line.replace('"id": "', '"id": "x'),
        line.replace('"created_at": "', '"created_at": "soon'),
    ]
    file.write_text("\n".join([head, *bad]) + "\n", encoding="utf-8")
    with Desk(tmp_path / "other").open() as other:
        report = other.import_jsonl(file, here=True)
        assert [note.line for note in report.refused] == [2, 3, 4, 5, 6]
        assert other.skills.library.all() == []


def test_a_partial_export_leaves_skills_behind(
    desk: Desk, wk: wellkept.Wellkept, tmp_path: Path
) -> None:
    route_skill(desk, wk)
    wk.export(tmp_path / "some.jsonl", types=["prompt"])
    assert '"skill"' not in (tmp_path / "some.jsonl").read_text(encoding="utf-8")


def test_clearing_a_project_takes_its_sessions_and_the_skills_made_of_them_along(
    desk: Desk, wk: wellkept.Wellkept
) -> None:
    route_skill(desk, wk)
    assert wk.forget(everything=True, dry_run=True).sessions == 1
    assert len(wk.skills.library.all()) == len(wk.engine.store.sessions(project=wk.project)) == 1
    wk.forget(everything=True)
    assert wk.skills.library.all() == wk.engine.store.sessions(project=wk.project) == []


def test_two_who_look_at_a_session_at_once_make_one_skill(desk: Desk) -> None:
    add_route(desk.session("session-1"))
    with desk.open(settings=QUIET) as one, desk.open(settings=QUIET) as other:
        desk.drain(one)
        drafts = [wk.skills.generate(dry_run=True).made[0] for wk in (one, other)]
        assert drafts[0].id == drafts[1].id
        assert one.skills.generate().made
        with pytest.raises(ConflictError):
            other.engine.store.put_generated_skill(drafts[1])
        assert other.skills.generate().made == ()
        assert len(other.skills.library.all()) == 1


def test_a_run_of_the_command_counts_as_a_use_in_its_session(
    desk: Desk, wk: wellkept.Wellkept
) -> None:
    route_skill(desk, wk)
    wk.skills.review(NAME, "accept")
    wk.skills.commands.run(f"/{NAME}", session="session-9")
    (run,) = wk.engine.store.skill_runs()
    assert (run.session_id, run.used_by, run.succeeded) == ("session-9", "person", None)
