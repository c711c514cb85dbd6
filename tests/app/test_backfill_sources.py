"""Taking in git, instruction files and what other memory tools kept."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from tests.app.opening import open_in
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.query import Filter
from wellkept.core.types import Scope
from wellkept.observe.imports.notes import NotesReport
from wellkept.observe.imports.sources import SOURCES, SourceRequest, import_source

pytestmark = pytest.mark.feature("C7")


def take(
    wk: wellkept.Wellkept, name: str, *paths: Path, everything: bool = False, dry_run: bool = False
) -> NotesReport:
    asked = SourceRequest(
        services=wk.services,
        project_name=wk.project_name,
        home=wk.root / "home",
        environment={},
        paths=paths,
        everything=everything,
    )
    return import_source(name, asked, dry_run=dry_run)


def said(wk: wellkept.Wellkept) -> list[str]:
    return sorted(m.content for m in wk.engine.store.iterate(Filter(project=None)))


def database(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path


CLAUDE_MEM = """
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT,
  project TEXT, started_at TEXT, started_at_epoch INTEGER);
CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT,
  type TEXT, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT,
  files_modified TEXT, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT,
  request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, notes TEXT,
  files_read TEXT, files_edited TEXT, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_number INTEGER,
  prompt_text TEXT, created_at TEXT, created_at_epoch INTEGER);
INSERT INTO sdk_sessions VALUES (1, 'c-1', 'm-1', '{project}', '2026-01-01', 1767225600000);
INSERT INTO observations VALUES (1, 'm-1', '{project}', NULL, 'bugfix', 'Offset counted from the end',
  'reader', '["torn lines are read again"]', 'The reader lost lines.', '["how-it-works"]', '[]',
  '["src/reader.py"]', '2026-01-01', 1767225600000);
INSERT INTO observations VALUES (2, 'm-2', 'another', 'Plain old text', 'unheard-of', NULL, NULL,
  'not json', NULL, NULL, NULL, NULL, '2026-01-01', 1767225600000);
INSERT INTO session_summaries VALUES (1, 'm-1', '{project}', 'Fix the reader', NULL, 'Ends matter',
  'Fixed', NULL, NULL, '[]', '[]', '2026-01-01', 1767225600000);
INSERT INTO user_prompts VALUES (1, 'c-1', 1, 'Fix it, password is hunter2xyz99', '2026-01-01',
  1767225600000);
"""
MEM0 = """
CREATE TABLE history (id TEXT, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,
  created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT);
INSERT INTO history VALUES ('1', 'a', NULL, 'Likes tea', 'ADD', '2026-01-01T00:00:00', NULL, 0, NULL, NULL);
INSERT INTO history VALUES ('2', 'a', 'Likes tea', 'Likes coffee', 'UPDATE', '2026-01-02T00:00:00', NULL, 0, NULL, NULL);
INSERT INTO history VALUES ('3', 'b', NULL, 'Gone', 'ADD', '2026-01-01T00:00:00', NULL, 0, NULL, NULL);
INSERT INTO history VALUES ('4', 'b', 'Gone', NULL, 'DELETE', '2026-01-03T00:00:00', NULL, 1, NULL, NULL);
"""
MCP = """
CREATE TABLE memories (id INTEGER PRIMARY KEY, content_hash TEXT UNIQUE NOT NULL, content TEXT NOT NULL,
  tags TEXT, memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL, created_at_iso TEXT,
  updated_at_iso TEXT, deleted_at REAL);
INSERT INTO memories VALUES (1, 'h1', 'We chose uv over pip', 'tools, python', 'decision', '{}',
  1767225600.0, NULL, NULL, NULL, NULL);
INSERT INTO memories VALUES (2, 'h2', 'Deleted', '', 'note', '{}', 1767225600.0, NULL, NULL, NULL, 1767225700.0);
"""


def test_claude_mem_brings_this_projects_observations_summaries_and_prompts(tmp_path: Path) -> None:
    path = database(tmp_path / "cm.db", CLAUDE_MEM.replace("{project}", tmp_path.name))
    with open_in(tmp_path) as wk:
        report = take(wk, "claude-mem", path)
        rows = said(wk)
    assert (report.new, report.other_projects, report.redacted) == (3, 1, 1)
    assert any("torn lines are read again" in row for row in rows)
    assert "hunter2" not in repr(rows)


def test_claude_mem_keeps_other_projects_apart(tmp_path: Path) -> None:
    path = database(tmp_path / "cm.db", CLAUDE_MEM.replace("{project}", tmp_path.name))
    with open_in(tmp_path) as wk:
        report = take(wk, "claude-mem", path, everything=True)
    assert report.projects == {wk.project: 3, "name:another": 1}


def test_mem0_brings_what_each_memory_said_last(tmp_path: Path) -> None:
    path = database(tmp_path / "home" / ".mem0" / "history.db", MEM0)
    with open_in(tmp_path) as wk:
        take(wk, "mem0")
        assert said(wk) == ["Likes coffee"]
    assert sorted(p.name for p in path.parent.iterdir()) == ["history.db"]


def test_a_mem0_export_is_read(tmp_path: Path) -> None:
    export = tmp_path / "mem0.json"
    items = [{"id": "x", "memory": "Prefers tabs", "created_at": "2026-01-01T00:00:00+00:00"}, {}]
    export.write_text(json.dumps({"results": items}), "utf-8")
    with open_in(tmp_path) as wk:
        report = take(wk, "mem0", export)
        assert said(wk) == ["Prefers tabs"]
    assert len(report.skipped) == 1


def test_mcp_memory_service_brings_what_is_not_deleted(tmp_path: Path) -> None:
    path = database(tmp_path / "sqlite_vec.db", MCP)
    with open_in(tmp_path) as wk:
        take(wk, "mcp-memory-service", path)
        (only,) = wk.engine.store.iterate(Filter(project=None))
    assert (only.content, only.type.value) == ("We chose uv over pip", "decision")
    assert set(only.tags) >= {"tools", "python"}


def test_basic_memory_brings_its_notes(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    text = (
        "---\ntitle: Brewing\npermalink: brewing\n---\n# Brewing\n\n- [method] Pour over is clear\n"
    )
    (notes / "brewing.md").write_text(text, "utf-8")
    config = tmp_path / "home" / ".basic-memory" / "config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"projects": {"main": {"path": str(notes)}}}), "utf-8")
    with open_in(tmp_path) as wk:
        report = take(wk, "basic-memory")
        assert "Pour over is clear" in said(wk)[0]
    assert report.new == 1


def test_instructions_of_the_project_and_of_the_person_are_kept_apart(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("# Rules\n\nAlways run the tests.\n", "utf-8")
    (tmp_path / ".cursorrules").write_text("Never use tabs here.\n", "utf-8")
    rules = tmp_path / ".cursor" / "rules" / "api.mdc"
    rules.parent.mkdir(parents=True)
    rules.write_text("---\nglobs: api/**\n---\nReturn problem details.\n", "utf-8")
    personal = tmp_path / "home" / ".claude" / "CLAUDE.md"
    personal.parent.mkdir(parents=True)
    personal.write_text("# Me\n\nI prefer short answers.\n", "utf-8")
    with open_in(tmp_path) as wk:
        report = take(wk, "instructions")
        rows = list(wk.engine.store.iterate(Filter(project=None)))
    assert report.new == 4
    (mine,) = [row for row in rows if row.scope is Scope.USER]
    assert "short answers" in mine.content


def test_git_brings_commits_once(tmp_path: Path) -> None:
    repository = GitRepository.create(tmp_path / "repo")
    repository.commit("Count from the end\n\nA torn line is read again that way.", reader="1")
    root = repository.root
    with open_in(tmp_path) as wk:
        assert take(wk, "git", root).new == 1
        before = said(wk)
        assert "A torn line is read again that way." in before[0]
        assert take(wk, "git", root).new == 0
        assert said(wk) == before


@pytest.mark.parametrize("name", ["claude-mem", "mem0", "mcp-memory-service"])
def test_taken_twice_equals_once_and_what_was_forgotten_stays_so(tmp_path: Path, name: str) -> None:
    script = {"claude-mem": CLAUDE_MEM.replace("{project}", tmp_path.name), "mem0": MEM0}
    path = database(tmp_path / "tool.db", script.get(name, MCP))
    with open_in(tmp_path) as wk:
        foreseen = take(wk, name, path, dry_run=True)
        assert said(wk) == []
        first = take(wk, name, path)
        again = take(wk, name, path)
        assert (foreseen.new, again.new, again.unchanged) == (first.new, 0, first.new)
        wk.forget([m.id for m in wk.engine.store.iterate(Filter(project=None))])
        take(wk, name, path)
        assert said(wk) == []


@pytest.mark.parametrize("name", sorted(set(SOURCES) - {"git", "instructions", "basic-memory"}))
def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / "noise.db"
    path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 8)
    with open_in(tmp_path) as wk, pytest.raises(UsageError):
        take(wk, name, path)
    with open_in(tmp_path) as wk, pytest.raises(NotFoundError):
        take(wk, name)
