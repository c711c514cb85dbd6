"""Imports that are killed, run twice at once, or meet files as they should not be."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import wellkept
from tests.app.opening import open_in
from tests.app.test_backfill import NOW, contents, session, shop, take
from tests.app.test_backfill_sources import CLAUDE_MEM, said
from tests.app.test_backfill_sources import take as take_source
from wellkept.clients.hook_spec import ClientFolders
from wellkept.clients.registry import transcripts
from wellkept.clients.transcripts.jsonl_records import MAX_LINE_BYTES
from wellkept.core.errors import UsageError
from wellkept.core.query import Filter
from wellkept.observe.imports.transcripts import TranscriptFilter, import_transcripts
from wellkept.store.other_tools import open_copy
from wellkept.testing.fakes import ManualClock

__all__ = ["shop"]
pytestmark = pytest.mark.feature("C7")

# Small batches, so that a session has a half-way.
_IMPORT = """
import sys
from pathlib import Path
import wellkept, wellkept.observe.imports.transcripts as backfill
from wellkept.observe.imports.transcripts import TranscriptFilter, import_transcripts
from wellkept.clients.registry import transcripts
from wellkept.clients.hook_spec import ClientFolders
backfill.BATCH_EVENTS = 7
kept, database = Path(sys.argv[1]), sys.argv[2]
with wellkept.open(database, project="demo", embedder="none", environment={}) as wk:
    folders = ClientFolders(home=kept, project=kept, environment={})
    found = transcripts("claude-code", folders=folders, paths=[kept])
    import_transcripts(wk.services, "claude-code", found, wanted=TranscriptFilter(), environment={})
"""
_COUNTED = ("prompt_count", "turn_count", "tool_count", "observation_count", "ended_at")


def importing(kept: Path, database: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _IMPORT, str(kept), str(database)])


def opened(database: Path) -> wellkept.Wellkept:
    return wellkept.open(database, project="demo", embedder="none", environment={})


def counts(wk: wellkept.Wellkept, names: list[str]) -> list[list[object]]:
    found = [wk.engine.store.get_session(name) for name in names]
    return [[getattr(one, field) for field in _COUNTED] for one in found]


def several(kept: Path, shop: Path, *, count: int) -> list[str]:
    names = [f"s-{number}" for number in range(count)]
    for name in names:
        session(kept, name, cwd=shop, turns=4)
    return names


@pytest.mark.parametrize("rows", [1, 12, 40])
def test_killed_half_way_and_run_again_is_complete_and_nothing_twice(
    tmp_path: Path, shop: Path, rows: int
) -> None:
    kept, broken, whole = tmp_path / "kept", tmp_path / "broken.db", tmp_path / "whole.db"
    names = several(kept, shop, count=12)
    with opened(broken) as watching:
        child = importing(kept, broken)
        everything = Filter(project=None)
        while child.poll() is None:
            if sum(1 for _ in watching.engine.store.iterate(everything)) >= rows:
                child.kill()
                child.wait(timeout=60)
    assert importing(kept, broken).wait(timeout=120) == 0
    assert importing(kept, whole).wait(timeout=120) == 0

    with opened(broken) as ours, opened(whole) as theirs:
        assert contents(ours) == contents(theirs)
        assert counts(ours, names) == counts(theirs, names)


def test_two_imports_at_once_bring_everything_once(tmp_path: Path, shop: Path) -> None:
    kept, shared, alone = tmp_path / "kept", tmp_path / "shared.db", tmp_path / "alone.db"
    names = several(kept, shop, count=6)
    both = [importing(kept, shared), importing(kept, shared)]
    assert [child.wait(timeout=120) for child in both] == [0, 0]
    assert importing(kept, alone).wait(timeout=120) == 0

    with opened(shared) as ours, opened(alone) as theirs:
        assert contents(ours) == contents(theirs)
        assert counts(ours, names) == counts(theirs, names)


def answered(path: Path, text: str) -> None:
    """Put a tool call with that answer before the last record of a transcript."""
    rows = path.read_text("utf-8").splitlines()
    last = json.loads(rows[-1])
    asked = {"type": "tool_use", "id": "big", "name": "Bash", "input": {"command": "make dump"}}
    told = {"type": "tool_result", "tool_use_id": "big", "content": text}
    more = [
        {**last, "type": kind, "uuid": f"big-{kind}", "message": {"role": kind, "content": [block]}}
        for kind, block in (("assistant", asked), ("user", told))
    ]
    path.write_text("\n".join([*rows[:-1], *map(json.dumps, more), rows[-1], ""]), "utf-8")


@pytest.mark.feature("A10")
def test_a_line_of_fifty_megabytes_is_read_and_its_secrets_stay_out(
    tmp_path: Path, shop: Path
) -> None:
    path = session(tmp_path / "kept", "s-1", cwd=shop)
    secret = "AKIA" + "Z7QX4NEL2WTB6MRC"
    answered(path, "row of a dump\n" * (50 * 2**20 // 14) + f"key {secret}\n")
    with open_in(tmp_path, clock=ManualClock(NOW)) as wk:
        report = take(wk, path)
        assert (report.new, report.reading.damaged, report.reading.too_long) == (1, 0, 0)
        assert report.prompts == 3
        assert secret not in json.dumps(contents(wk))


def test_a_line_that_is_too_long_is_counted_and_the_rest_is_read(
    tmp_path: Path, shop: Path
) -> None:
    path = session(tmp_path / "kept", "s-1", cwd=shop)
    answered(path, "x" * (MAX_LINE_BYTES + 1))
    with open_in(tmp_path, clock=ManualClock(NOW)) as wk:
        report = take(wk, path)
    assert (report.new, report.prompts, report.reading.too_long) == (1, 3, 1)
    assert report.bytes_read == path.stat().st_size


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_among_the_transcripts_is_named_and_not_waited_for(
    tmp_path: Path, shop: Path
) -> None:
    session(tmp_path / "kept", "s-1", cwd=shop)
    os.mkfifo(tmp_path / "kept" / "pipe.jsonl")
    with open_in(tmp_path, clock=ManualClock(NOW)) as wk:
        report = take(wk, tmp_path / "kept")
    assert report.new == 1
    assert [(one.path.name, one.reason) for one in report.unread] == [
        ("pipe.jsonl", "is not a regular file")
    ]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything may be read")
def test_a_file_without_leave_to_read_is_named(tmp_path: Path, shop: Path) -> None:
    session(tmp_path / "kept", "s-1", cwd=shop)
    session(tmp_path / "kept", "s-2", cwd=shop).chmod(0)
    with open_in(tmp_path, clock=ManualClock(NOW)) as wk:
        report = take(wk, tmp_path / "kept")
    assert report.new == 1
    assert [one.path.name for one in report.unread] == ["s-2.jsonl"]


def test_a_transcript_that_goes_away_meanwhile_is_named(tmp_path: Path, shop: Path) -> None:
    gone, _ = (session(tmp_path / "kept", name, cwd=shop) for name in ("s-1", "s-2"))
    folders = ClientFolders(home=tmp_path, project=tmp_path, environment={})
    found = list(transcripts("claude-code", folders=folders, paths=[tmp_path / "kept"]))
    gone.unlink()
    with open_in(tmp_path, clock=ManualClock(NOW)) as wk:
        report = import_transcripts(
            wk.services, "claude-code", found, wanted=TranscriptFilter(), environment={}
        )
    assert report.new == 1
    assert [one.path for one in report.unread] == [gone]


def test_what_stands_only_in_the_log_of_another_tools_store_is_read(tmp_path: Path) -> None:
    path = tmp_path / "claude-mem.db"
    with closing(sqlite3.connect(path)) as tool:
        tool.execute("PRAGMA journal_mode = WAL")
        tool.execute("PRAGMA wal_autocheckpoint = 0")
        tool.executescript(CLAUDE_MEM.replace("{project}", "demo"))
        log = path.with_name("claude-mem.db-wal")
        before = {one: one.read_bytes() for one in (path, log)}
        assert b"Offset counted" not in before[path]

        with open_in(tmp_path) as wk:
            take_source(wk, "claude-mem", path, everything=True)
            assert any("Offset counted from the end" in text for text in said(wk))

        assert {one: one.read_bytes() for one in (path, log)} == before


def test_a_store_that_cannot_be_copied_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"), open_copy(tmp_path / "nowhere.db"):
        pass
