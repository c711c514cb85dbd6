"""Taking transcripts in: once, wherever it is broken off, and each in its own project."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

import wellkept
from tests.app.opening import open_in
from wellkept.clients.hook_spec import ClientFolders
from wellkept.clients.registry import transcripts
from wellkept.core.query import Filter
from wellkept.core.session.events import Origin, PromptSubmitted, SessionStarted
from wellkept.observe.imports.transcripts import (
    TranscriptFilter,
    TranscriptReport,
    import_transcripts,
)
from wellkept.observe.ingest.ingest import EventIngester
from wellkept.testing.fakes import ManualClock
from wellkept.text.shell.environment import Environment, ProjectLocation

pytestmark = pytest.mark.feature("C7")
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def session(folder: Path, name: str, *, cwd: Path, turns: int = 3, key: str = "hunter2") -> Path:
    """A transcript with edits, a failing and a passing test, and a secret."""
    path = folder / f"{name}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = []

    def add(kind: str, content: object, **more: object) -> None:
        number = len(rows)
        at = f"2026-03-02T{8 + number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
        message = {"role": kind, "content": content}
        rows.append({"type": kind, "uuid": f"{name}-{number}", "timestamp": at, "cwd": str(cwd),
                     "sessionId": name, "gitBranch": "main", "message": message, **more})  # fmt: skip

    def call(tool: str, given: dict[str, object], answer: object, *, failed: bool = False) -> None:
        use = f"t{len(rows)}"
        add("assistant", [{"type": "tool_use", "id": use, "name": tool, "input": given}])
        block = {"type": "tool_result", "tool_use_id": use, "content": answer, "is_error": failed}
        add("user", [block])

    for turn in range(turns):
        add("user", f"Please fix parser {turn}; the password is {key}{turn}xyz99")
        call("Bash", {"command": "pytest -q"}, "Exit code 1\nFAILED t.py::test_a", failed=True)
        call("Edit", {"file_path": f"{cwd}/parser{turn}.py", "old_string": "def a(): 1",
                      "new_string": f"def parse_{turn}(): 2"}, "ok")  # fmt: skip
        call("Bash", {"command": "pytest -q"}, "3 passed in 0.1s")
        add("assistant", [{"type": "text", "text": f"Fixed parser {turn}."}])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def take(
    wk: wellkept.Wellkept,
    *paths: Path,
    wanted: TranscriptFilter | None = None,
    dry_run: bool = False,
) -> TranscriptReport:
    folders = ClientFolders(home=paths[0], project=paths[0], environment={})
    found = transcripts("claude-code", folders=folders, paths=paths)
    wish = wanted or TranscriptFilter()
    return import_transcripts(
        wk.services, "claude-code", found, wanted=wish, dry_run=dry_run, environment={}
    )


def contents(wk: wellkept.Wellkept) -> list[tuple[str, str, str]]:
    rows = wk.engine.store.iterate(Filter(project=None))
    return sorted((row.project, row.type.value, row.content) for row in rows)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def test_a_session_becomes_prompts_observations_and_a_summary(tmp_path: Path, shop: Path) -> None:
    kept = tmp_path / "kept"
    session(kept, "s-1", cwd=shop)
    with open_in(tmp_path, clock=ManualClock(NOW)) as wk:
        report = take(wk, kept)

        record = wk.engine.store.get_session("s-1")
        rows = contents(wk)
    assert (report.new, report.prompts) == (1, 3)
    assert report.observations >= 3
    assert record is not None
    assert (record.prompt_count, record.turn_count, record.branch) == (3, 3, "main")
    assert record.end_reason == "transcript"
    assert any(kind == "timeline" for _, kind, _ in rows)
    assert any("parse_1" in text for _, _, text in rows)


@pytest.mark.feature("A10")
def test_secrets_are_redacted_and_counted(tmp_path: Path, shop: Path) -> None:
    session(tmp_path / "kept", "s-1", cwd=shop)
    with open_in(tmp_path, clock=ManualClock(NOW)) as wk:
        report = take(wk, tmp_path / "kept")
        rows = contents(wk)
    assert report.redacted >= 3
    assert "hunter2" not in repr(rows)
    assert b"hunter2" not in (tmp_path / "data" / "memory.db").read_bytes()


def test_taken_twice_equals_once(tmp_path: Path, shop: Path) -> None:
    session(tmp_path / "kept", "s-1", cwd=shop)
    with open_in(tmp_path, clock=ManualClock(NOW)) as wk:
        take(wk, tmp_path / "kept")
        before = contents(wk)
        again = take(wk, tmp_path / "kept")
        assert (again.unchanged, again.events) == (1, 0)
        assert contents(wk) == before


def test_what_was_written_since_is_added(tmp_path: Path, shop: Path) -> None:
    longer = session(tmp_path / "kept", "s-1", cwd=shop, turns=5).read_bytes()
    path = session(tmp_path / "kept", "s-1", cwd=shop, turns=2)
    with open_in(tmp_path, clock=ManualClock(NOW)) as wk:
        take(wk, tmp_path / "kept")
        path.write_bytes(longer)
        report = take(wk, tmp_path / "kept")
        record = wk.engine.store.get_session("s-1")
    assert (report.continued, report.prompts) == (1, 3)
    assert record is not None
    assert (record.prompt_count, record.turn_count) == (5, 5)


def test_a_dry_run_counts_the_same_and_changes_nothing(tmp_path: Path, shop: Path) -> None:
    session(tmp_path / "kept", "s-1", cwd=shop)
    with open_in(tmp_path, clock=ManualClock(NOW)) as wk:
        foreseen = take(wk, tmp_path / "kept", dry_run=True)
        assert contents(wk) == []
        assert wk.engine.store.get_session("s-1") is None
        real = take(wk, tmp_path / "kept")
    assert (foreseen.prompts, foreseen.events) == (real.prompts, real.events)
    assert foreseen.observations == real.observations


def test_a_session_that_hooks_caught_is_not_doubled(tmp_path: Path, shop: Path) -> None:
    session(tmp_path / "kept", "s-1", cwd=shop)
    start = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
    origin = Origin(event_id="e1", client="claude-code", session_id="s-1", at=start, cwd=str(shop))
    said = Origin(event_id="e2", client="claude-code", session_id="s-1", at=start, cwd=str(shop))
    with open_in(tmp_path, clock=ManualClock(NOW)) as wk:
        taker = EventIngester(wk.engine, Environment(locate=lambda _: ProjectLocation("name:demo")))
        caught = PromptSubmitted(origin=said, text="Please fix parser 0")
        taker.commit([SessionStarted(origin=origin), caught], [])
        before = contents(wk)
        report = take(wk, tmp_path / "kept")
        assert (report.caught, report.events) == (1, 0)
        assert report.known_events > 0
        assert contents(wk) == before


def test_each_transcript_goes_to_the_project_of_its_own_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        session(tmp_path / "kept", f"s-{name}", cwd=tmp_path / name)
    with open_in(tmp_path, clock=ManualClock(NOW)) as wk:
        every = take(wk, tmp_path / "kept")
        mine = wk.engine.store.get_session("s-one")
        other = wk.engine.store.get_session("s-two")
    assert len(every.projects) == 2
    assert mine is not None
    assert other is not None
    assert mine.project != other.project


def test_other_projects_and_older_sessions_are_left_out_when_asked(
    tmp_path: Path, shop: Path
) -> None:
    session(tmp_path / "kept", "s-1", cwd=shop)
    with open_in(tmp_path, clock=ManualClock(NOW)) as wk:
        elsewhere = take(wk, tmp_path / "kept", wanted=TranscriptFilter(project="name:another"))
        older = take(wk, tmp_path / "kept", wanted=TranscriptFilter(since=NOW))
        assert (elsewhere.other_projects, older.too_old) == (1, 1)
        assert contents(wk) == []


def test_an_unreadable_file_does_not_keep_the_others_out(tmp_path: Path, shop: Path) -> None:
    session(tmp_path / "kept", "s-1", cwd=shop)
    (tmp_path / "kept" / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "kept" / "noise.jsonl").write_bytes(os.urandom(2048))
    with open_in(tmp_path, clock=ManualClock(NOW)) as wk:
        report = take(wk, tmp_path / "kept")
    assert report.new == 1
    assert {unread.path.name for unread in report.unread} == {"dangling.jsonl", "noise.jsonl"}
