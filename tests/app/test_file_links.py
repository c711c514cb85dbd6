"""Links between files, cold-started from git and joined with sessions."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from tests.app.opening import open_in
from wellkept.core.changes import PutSignals
from wellkept.core.code_modules import module_of
from wellkept.core.payloads import PrefetchPattern
from wellkept.core.session.scratchpad import SessionSignal, SignalKind, pair_subject
from wellkept.core.types import Phase
from wellkept.observe.learning.linked_files import co_access, link_sessions
from wellkept.observe.learning.statistics import ProjectStatistics
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("D5")


def show(wk: wellkept.Wellkept, session: int, *paths: str, project: str | None = None) -> None:
    """A session that used files one after the other and changed the first."""
    home = project or wk.project
    at = ManualClock()() + timedelta(hours=session)
    name = f"session-{session}"
    seen = [
        SessionSignal(
            project=home,
            kind=SignalKind.FILE_ACCESS,
            subject=path,
            session_id=name,
            at=at,
            module=module_of(path),
            detail={"reads": 1, "edits": int(path == paths[0])},
        )
        for path in paths
    ]
    seen += [
        SessionSignal(
            project=home,
            kind=SignalKind.CO_ACCESS,
            subject=pair_subject(a, b),
            session_id=name,
            at=at,
            detail={"a_first": int(a < b), "edited": True, "step_delta": 1, "time_delta_ms": 10},
        )
        for a, b in pairwise(paths)
    ]
    kinds = (SignalKind.FILE_ACCESS, SignalKind.CO_ACCESS)
    wk.engine.store.apply([PutSignals(home, name, kinds, tuple(seen))])


def weight(wk: wellkept.Wellkept, a: str, b: str) -> float:
    links = wk.engine.store.linked_files(wk.project, [a], min_weight=0, limit=20)
    return next((link.weight for link in links if link.file_b == b), 0.0)


def test_a_fresh_project_knows_from_git_what_changes_together(tmp_path: Path) -> None:
    repository = GitRepository.create(tmp_path)
    for n in range(5):
        repository.commit(f"Pair {n}", api=f"{n}", schema=f"{n}")
    with open_in(tmp_path, project=None) as wk:
        wk.import_repository()
        assert weight(wk, "api.txt", "schema.txt") > 0.6


def test_sessions_add_to_what_git_says_and_survive_another_intake(tmp_path: Path) -> None:
    repository = GitRepository.create(tmp_path)
    for n in range(3):
        repository.commit(f"Pair {n}", api=f"{n}", schema=f"{n}")
        repository.commit(f"Alone {n}", api=f"alone {n}", other=f"{n}")
    with open_in(tmp_path, project=None) as wk:
        wk.import_repository()
        by_git = weight(wk, "api.txt", "schema.txt")
        for n in range(4):
            show(wk, n, "api.txt", "schema.txt")
        link_sessions(wk.engine, wk.project)
        joined = weight(wk, "api.txt", "schema.txt")
        assert joined > by_git
        wk.import_repository()
        link_sessions(wk.engine, wk.project)
        assert weight(wk, "api.txt", "schema.txt") == joined
        (edge,) = co_access(wk.engine, wk.project)
        assert edge.first == "api.txt"


@pytest.mark.feature("B7")
def test_a_warning_is_found_from_a_file_that_sessions_use_along_with_its_own(
    tmp_path: Path,
) -> None:
    for name in ("api.py", "schema.py"):
        (tmp_path / name).write_text("pass")
    with open_in(tmp_path) as wk:
        wk.remember("Regenerate the client after a change", type="gotcha", files="schema.py")
        assert wk.context(files=["api.py"]).items == ()
        for n in range(4):
            show(wk, n, "api.py", "schema.py")
        link_sessions(wk.engine, wk.project)
        (item,) = wk.context(files=["api.py"]).items
        assert item.reason == "schema.py changes together with api.py"
        found = wk.recall("what to mind", near_files=["api.py"])
        assert [hit.memory.content for hit in found] == ["Regenerate the client after a change"]


def test_patterns_are_counted_when_asked_and_never_stored(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        for n in range(4):
            show(wk, n, "src/auth/login.py", "src/auth/token.py")
        files = ("src/auth/login.py", "src/auth/token.py")
        assert wk.observer.statistics().prefetch == (PrefetchPattern("src/auth", files, (), 4),)
        for n in range(4, 14):
            show(wk, n, f"src/auth/part{n}.py", f"src/auth/other{n}.py")
        assert wk.observer.statistics().prefetch == ()
        for n in range(14, 74):
            show(wk, n, *files)
        assert [one.always_read_files for one in wk.observer.statistics().prefetch] == [files]
        assert wk.list().items == ()


def test_a_file_has_related_files_where_its_module_has_no_pattern(tmp_path: Path) -> None:
    for name in ("speed.py", "escape.py", "other.py"):
        (tmp_path / name).write_text(f"# {name}\n")
    with open_in(tmp_path) as wk:
        for n in range(4):
            show(wk, n, "speed.py", "escape.py")
        for n in range(4, 14):
            show(wk, n, "other.py", f"part{n}.py")
        assert [one.path for one in wk.observer.prefetch("speed.py")] == ["escape.py"]
        assert wk.observer.prefetch("speed.py", phase=Phase.DEFINE) == []
        assert wk.observer.prefetch("part4.py") == []


@pytest.mark.feature("B9", "D5")
def test_a_learned_pattern_is_given_on_request_and_never_injected(tmp_path: Path) -> None:
    for name in ("login.py", "token.py"):
        (tmp_path / name).write_text("pass")
    with open_in(tmp_path) as wk:
        for n in range(4):
            show(wk, n, "login.py", "token.py")
        assert [one.path for one in wk.observer.prefetch()] == ["login.py", "token.py"]
        assert wk.context().items == wk.context(files=["login.py"]).items == ()


def test_another_project_learns_nothing(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        for n in range(4):
            show(wk, n, "src/a.py", "src/b.py", project="name:elsewhere")
        assert co_access(wk.engine, wk.project) == []
        assert wk.observer.statistics() == ProjectStatistics()
        assert link_sessions(wk.engine, wk.project) == 0
