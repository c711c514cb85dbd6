"""What git says about the work of a session: commits that stay, and commits made by hand (D3)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import wellkept
from tests.observe.learning_steps import PROJECT, START, Work, pad_of, take
from wellkept.core.records import replace
from wellkept.core.session.events import Event
from wellkept.core.session.scratchpad import ScratchpadStatus
from wellkept.project.session_commits import commit_stays, committed_afterwards
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("D3")
Git = Callable[..., str]
LAST_EDIT = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def git(tmp_path: Path) -> Git:
    def run(*words: str, at: datetime = LAST_EDIT) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        done = subprocess.run(
            ["git", "-C", str(tmp_path), *who, *words],
            capture_output=True,
            text=True,
            check=True,
            env={"PATH": "/usr/bin:/bin", "GIT_COMMITTER_DATE": at.isoformat(), "HOME": "/"},
        )
        return done.stdout.strip()

    run("init", "-q", "-b", "main")
    run("commit", "-q", "--allow-empty", "-m", "first", at=LAST_EDIT - timedelta(days=9))
    return run


def commit(git: Git, folder: Path, *names: str, after: timedelta) -> str:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"value of {name} = compute({after.seconds})\n" * 3)
    git("add", *names)
    git("commit", "-q", "-m", "Work", at=LAST_EDIT + after)
    return git("rev-parse", "HEAD")


def test_a_commit_stays_as_long_as_a_branch_holds_it(git: Git, tmp_path: Path) -> None:
    sha = commit(git, tmp_path, "a.py", after=timedelta(minutes=1))
    assert commit_stays(str(tmp_path), sha)
    git("reset", "-q", "--hard", "HEAD~1")
    assert not commit_stays(str(tmp_path), sha)
    assert commit_stays(str(tmp_path / "nowhere"), sha)
    assert commit_stays(None, sha)
    assert commit_stays("a\0b", sha)
    assert commit_stays(str(tmp_path), "0" * 40)


def test_work_that_was_squashed_into_another_branch_stays(git: Git, tmp_path: Path) -> None:
    git("checkout", "-q", "-b", "feature")
    sha = commit(git, tmp_path, "a.py", after=timedelta(minutes=1))
    git("checkout", "-q", "main")
    git("merge", "-q", "--squash", "feature")
    git("commit", "-q", "-m", "Squashed")
    git("branch", "-q", "-D", "feature")
    assert commit_stays(str(tmp_path), sha)


def test_a_person_may_commit_afterwards_in_several_parts(git: Git, tmp_path: Path) -> None:
    files = ("src/a.py", "src/b.py", "src/c.py")

    def found(*, since: datetime = LAST_EDIT) -> str | None:
        return committed_afterwards(str(tmp_path), files, since=since)

    assert found() is None
    commit(git, tmp_path, "src/a.py", after=timedelta(minutes=5))
    assert found() is None
    sha = commit(git, tmp_path, "src/b.py", "notes.md", after=timedelta(minutes=9))
    assert found() == sha[:12]
    assert found(since=LAST_EDIT - timedelta(days=3)) is None
    assert found(since=LAST_EDIT + timedelta(hours=1)) is None
    assert committed_afterwards(None, files, since=LAST_EDIT) is None
    assert committed_afterwards(str(tmp_path), (), since=LAST_EDIT) is None


def test_a_commit_about_much_else_says_nothing_of_the_session(git: Git, tmp_path: Path) -> None:
    names = ["src/a.py", *(f"other/{n}.py" for n in range(9))]
    commit(git, tmp_path, *names, after=timedelta(minutes=5))
    assert committed_afterwards(str(tmp_path), ("src/a.py",), since=LAST_EDIT) is None
    two = ("src/a.py", "src/elsewhere.py")
    assert committed_afterwards(str(tmp_path), two, since=LAST_EDIT) is None


def test_the_work_of_a_day_may_be_committed_at_once(git: Git, tmp_path: Path) -> None:
    names = ["src/a.py", "src/b.py", *(f"other/{n}.py" for n in range(9))]
    sha = commit(git, tmp_path, *names, after=timedelta(hours=5))
    files = ("src/a.py", "src/b.py")
    assert committed_afterwards(str(tmp_path), files, since=LAST_EDIT) == sha[:12]


def test_work_that_waits_is_looked_at_again_until_somebody_committed_it(
    git: Git, tmp_path: Path
) -> None:
    clock = ManualClock(START + timedelta(days=4))
    w = Work(3)
    w_events: list[Event] = [w.prompt("Go"), w.change("src/a.py"), w.end()]
    first = w_events[0]
    events = [replace(first, origin=replace(first.origin, cwd=str(tmp_path))), *w_events[1:]]
    with wellkept.open(
        tmp_path / "memory.db", project=PROJECT, cwd=tmp_path, embedder="none", clock=clock
    ) as wk:
        take(wk.engine, events)
        assert wk.observer.learn([w.session_id]).reports == ()
        assert pad_of(wk.engine, w.session_id).state is ScratchpadStatus.WAITING
        at = pad_of(wk.engine, w.session_id).updated_at
        sha = commit(git, tmp_path, "src/a.py", after=at + timedelta(minutes=4) - LAST_EDIT)
        (report,) = wk.observer.learn([]).reports
        assert report.validation.by == f"commit {sha[:12]}, made afterwards"
        assert pad_of(wk.engine, w.session_id).state is ScratchpadStatus.PROMOTED
