"""Where work was left off, by the sessions' logs and by what git says now."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.observe.learning_steps import START, Work
from tests.observe.telling import ROOT, world
from wellkept.context.start.resume import (
    LeftOff,
    Limits,
    Situation,
    WorkNote,
    is_team_starting,
    left_off,
    recent_work,
)
from wellkept.context.start.unfinished_work import OpenEnds, open_ends
from wellkept.core.records import replace
from wellkept.core.session.events import Event, TurnEnded
from wellkept.core.session.sessions import SessionRecord
from wellkept.observe.session.reducer import apply_events
from wellkept.project.work_tree import WorkTree

pytestmark = pytest.mark.feature("C9", "B9")
NOW = START + timedelta(days=1, hours=12)
HERE = Situation(now=NOW, branch="work", root=ROOT)


def session(events: list[Event], *, branch: str | None = "work") -> SessionRecord:
    made = apply_events(None, events, environment=world()).session
    return replace(made, branch=branch)


def fixing(w: Work | None = None, *, name: str = "session") -> list[Event]:
    w = w or Work(1, name=name)
    return [
        w.prompt("ok can you fix the rounding of refunds in the ledger"),
        w.change("src/ledger.py"),
        w.change("src/tax.py"),
        w.run("pytest -q", "3 passed in 0.1s"),
    ]


def told(works: list[SessionRecord], at: Situation = HERE, **more: object) -> LeftOff:
    found = left_off([open_ends(one) for one in works], at=at, **more)  # type: ignore[arg-type]
    assert found is not None
    return found


def text(found: LeftOff) -> str:
    return "\n".join((found.title, *found.lines))


def test_the_title_names_time_branch_and_pull_request() -> None:
    w = Work(1)
    events = [*fixing(w), w.run("gh pr checks 183", "all passed")]
    found = told([session(events)])
    assert found.title == "Where we left off (today 09:00-09:00 UTC, this branch, PR #183)"
    elsewhere = told([session(fixing())], replace(HERE, branch="main"))
    assert "branch work, you are on main" in elsewhere.title


def test_the_request_is_told_without_its_lead_in() -> None:
    assert "Asked: “fix the rounding of refunds in the ledger”." in told([session(fixing())]).lines


def test_what_is_staged_and_what_is_not_is_told_as_git_says() -> None:
    tree = WorkTree(branch="work", staged=("src/ledger.py",), changed=("src/tax.py",))
    lines = told([session(fixing())], replace(HERE, tree=tree)).lines
    assert "STAGED, not committed: src/ledger.py" in lines
    assert "Not committed: src/tax.py" in lines


def test_a_clean_tree_leaves_nothing_uncommitted_to_tell() -> None:
    found = text(told([session(fixing())], replace(HERE, tree=WorkTree(branch="work"))))
    assert "ommitted" not in found
    assert "Edited after" not in found


def committed(events: list[Event], *more: Event) -> list[Event]:
    w = Work(1)
    output = "[work 0c0ffee1a] Round refunds half up\n 2 files changed"
    return [*events, w.run("git commit -am 'Round refunds half up'", output), *more]


NOTE = WorkNote(
    session="session-001",
    at=START,
    kind="bugfix",
    title="Round refunds half up",
    commit="0c0ffee1a",
    cite="[m:abc]",
)


def test_a_commit_is_told_with_its_state() -> None:
    record = session(committed(fixing()))
    seen = told([record], notes=[NOTE]).lines[0]
    assert "Done: 0c0ffee1a “Round refunds half up” (no push seen)." in seen
    ahead = WorkTree(branch="work", upstream="origin/work", ahead=2, behind=0)
    assert "NOT pushed, 2 ahead of origin/work" in text(
        told([record], replace(HERE, tree=ahead), notes=[NOTE])
    )
    even = replace(ahead, ahead=0)
    assert "(pushed)" in text(told([record], replace(HERE, tree=even), notes=[NOTE]))
    alone = WorkTree(branch="work")
    assert "NOT pushed, no upstream" in text(
        told([record], replace(HERE, tree=alone), notes=[NOTE])
    )


def test_git_on_another_branch_says_nothing_about_the_push() -> None:
    other = replace(HERE, branch="main", tree=WorkTree(branch="main", ahead=3, upstream="o/main"))
    assert "no push seen" in text(told([session(committed(fixing()))], other, notes=[NOTE]))


def test_a_request_that_only_repeats_the_commit_is_left_out() -> None:
    same = replace(NOTE, title="fix the rounding of refunds in the ledger")
    assert "Asked" not in text(told([session(committed(fixing()))], notes=[same]))


def test_a_request_after_which_nothing_was_done_is_an_open_end() -> None:
    w = Work(1)
    last = w.prompt("then write the release notes for the refunds")
    assert any(
        line.startswith("Asked last") and "write the release notes" in line
        for line in told([session([*fixing(), last])]).lines
    )
    question = w.prompt("what does the ledger do with refunds?")
    assert "Asked last" not in text(told([session([*fixing(), question])]))
    short = w.prompt("yeah")
    assert "Asked last" not in text(told([session([*fixing(), short])]))


def test_approvals_and_client_tags_are_no_requests() -> None:
    w = Work(1)
    events = [*fixing(), w.prompt("that sounds great, lets get this going"), w.change("src/a.py")]
    assert "sounds great" not in text(told([session(events)]))


def test_a_failed_check_is_told_until_another_of_its_kind_passed() -> None:
    w = Work(1)
    events = fixing(w)
    events.append(w.run("make test", "1 failed in 0.1s\nE  assert 3 == 4", error="Exit code 1"))
    assert "Last run of `make test` failed" in text(told([session(events)]))
    events.append(w.run("pytest tests", "9 passed in 0.1s"))
    assert "failed" not in text(told([session(events)]))


def test_a_check_before_the_last_edit_is_marked() -> None:
    events = [*fixing(), Work(1).change("src/late.py")]
    late = [replace(one, origin=replace(one.origin, at=one.origin.at)) for one in events]
    moved = replace(
        late[-1], origin=replace(late[-1].origin, at=START + timedelta(days=1, hours=2))
    )
    assert "(files were edited since)" in text(told([session([*late[:-1], moved])]))


def test_the_agents_words_about_what_is_open_are_quoted_and_others_are_not() -> None:
    w = Work(1)
    said = "All done. The remaining 8 modified files are pre-existing unrelated changes."
    events = [*fixing(), TurnEnded(origin=w.origin(), last_message=said)]
    assert "“The remaining 8 modified files" in text(told([session(events)]))
    done = TurnEnded(origin=w.origin(), last_message="All done. Every test passes.")
    assert "last words" not in text(told([session([*fixing(), done])]))


def test_files_of_a_session_that_is_at_work_now_are_not_yours() -> None:
    other = session(
        [
            Work(1, name="other").prompt("Rewrite the invoice page"),
            Work(1, name="other").change("src/page.py"),
        ]
    )
    running = replace(other, last_event_at=NOW, started_at=NOW - timedelta(minutes=4))
    lines = told([session(fixing())], others=[open_ends(running)]).lines
    assert any("at work here" in line and "src/page.py" in line for line in lines)
    assert recent_work([running], at=HERE, limits=Limits()) == []


def test_files_that_other_sessions_left_are_told_apart_from_yours() -> None:
    other = session(fixing(name="other"))
    other = replace(other, id="other", last_event_at=other.last_event_at - timedelta(hours=2))
    mine = session([Work(1).prompt("Rewrite the invoice page now"), Work(1).change("src/page.py")])
    tree = WorkTree(branch="work", changed=("src/page.py", "src/ledger.py", "notes.txt"))
    lines = told([mine, other], replace(HERE, tree=tree)).lines
    assert "Not committed: src/page.py" in lines
    assert "Not committed by other sessions: src/ledger.py" in lines
    assert "Changed outside these sessions: notes.txt" in lines


def test_a_session_in_another_worktree_says_nothing_about_files_here() -> None:
    elsewhere = replace(
        HERE, root="/elsewhere", tree=WorkTree(branch="work", changed=("src/x.py",))
    )
    lines = told([session(fixing())], elsewhere).lines
    assert "Edited, no commit seen: src/ledger.py, src/tax.py" in lines


def test_a_rebase_that_stopped_is_told_with_its_conflicts() -> None:
    tree = WorkTree(operation="rebase", conflicts=("src/ledger.py",))
    assert "A rebase is in progress, conflicts in src/ledger.py" in text(
        told([session(fixing())], replace(HERE, tree=tree))
    )


def works(*records: SessionRecord, at: Situation = HERE, **limits: int) -> list[str]:
    return [one.session.id for one in recent_work(records, at=at, limits=Limits(**limits))]


def test_work_on_this_branch_comes_first_and_a_trunk_is_no_line_of_work() -> None:
    newest = session(fixing(name="new"), branch="other")
    here = replace(session(fixing(), branch="work"), last_event_at=START)
    assert works(newest, here)[0] == here.id
    on_trunk = replace(here, branch="main")
    assert works(newest, on_trunk, at=replace(HERE, branch="main"))[0] == newest.id


def test_old_empty_and_own_sessions_are_left_out() -> None:
    record = session(fixing())
    old = replace(record, id="old", last_event_at=NOW - timedelta(days=31))
    empty = session([Work(1, name="empty").prompt("What does the ledger do at night?")])
    assert works(old, empty, record) == [record.id]
    assert works(old, days=60) == ["old"]
    assert works(record, at=replace(HERE, current=record.id)) == []
    assert works(record, sessions=0) == []


def test_earlier_work_is_one_line_a_day_with_what_reading_costs() -> None:
    last = session(fixing())
    earlier = [
        replace(
            session(fixing(name=f"e{n}")), last_event_at=last.last_event_at - timedelta(hours=n)
        )
        for n in (1, 2, 3)
    ]
    notes = [
        WorkNote(
            session=one.id,
            at=one.last_event_at,
            kind="decision",
            title=f"Decide on format {n} of the ledger",
            cite=f"[m:{n}]",
            read_tokens=40,
        )
        for n, one in enumerate(earlier)
    ]
    lines = told([last, *earlier], notes=notes).lines
    days = [line for line in lines if line.startswith("Earlier")]
    assert len(days) == 1
    assert all(f"[m:{n}]" in days[0] for n in range(3))
    assert "~120 tokens" in lines[-1]
    few = told([last, *earlier], notes=notes, limits=Limits(observations=1)).lines
    assert sum(f"[m:{n}]" in "\n".join(few) for n in range(3)) == 1


def test_nothing_known_is_nothing_to_tell() -> None:
    assert left_off([], at=HERE) is None
    assert isinstance(open_ends(session(fixing())), OpenEnds)


def test_a_session_that_starts_among_team_mates_is_one_of_them() -> None:
    w = Work(1, name="mate")
    brief = '<teammate-message teammate_id="lead">Fix src/a.py</teammate-message>'
    mate = session([w.prompt(brief), w.change("src/a.py")])
    just_now = replace(HERE, now=mate.last_event_at + timedelta(seconds=30))
    assert is_team_starting([mate], at=just_now)
    assert not is_team_starting([mate], at=HERE)
    assert not is_team_starting([session(fixing())], at=just_now)
