"""After `init` the first session start says something true, and what ran is verified (I1, E4)."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from tests.app.test_way_outs import take
from tests.observe.learning_steps import Work
from wellkept.context.packing import render_context
from wellkept.core.settings.model import Settings
from wellkept.core.types import EvidenceKind
from wellkept.project.commands.declared import read_declared
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("I1", "E4")


@pytest.fixture
def repo(tmp_path: Path) -> GitRepository:
    made = GitRepository.create(tmp_path / "repo")
    made.write("pyproject.toml", '[project]\nname = "ledger"\n[tool.pytest.ini_options]\n')
    made.write("justfile", "test:\n  pytest -n auto\n\nlint:\n  ruff check src\n")
    made.write("README.md", "# Ledger\n\nKeeps the books of a small shop.\n")
    made.write("CONTRIBUTING.md", "# Contributing\n\nNever push to main.\n")
    made.write("src/ledger/__init__.py", '"""Books and their entries."""\n')
    made.write("src/ledger/book.py", "class Book:\n    pass\n")
    made.write("tests/test_book.py", "def test_it():\n    pass\n")
    made.commit("Drop floats, because cents got lost")
    return made


@pytest.fixture
def wk(repo: GitRepository) -> wellkept.Wellkept:
    clock = ManualClock(Work(4).prompt("x").origin.at)
    settings = Settings(embedding_provider="none")
    return wellkept.open(cwd=repo.root, settings=settings, clock=clock)


def start(wk: wellkept.Wellkept) -> str:
    return render_context(wk.context(moment="session"))


def test_the_first_start_names_declared_commands_with_their_source_only(
    wk: wellkept.Wellkept,
) -> None:
    wk.import_repository()
    text = start(wk)
    assert "- test: `just test` = `pytest -n auto` (justfile)" in text
    assert "- one test: `pytest tests/test_book.py` (pyproject.toml)" in text
    assert "Books and their entries" not in text
    assert "Never push to main" not in text
    assert "Drop floats" not in text


@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.md"])
def test_what_the_client_loads_itself_is_not_repeated(
    wk: wellkept.Wellkept, repo: GitRepository, name: str
) -> None:
    repo.write(name, "# Work\n\nRun `just test` before a commit. Lint with `just lint`.\n")
    wk.import_repository()
    text = start(wk)
    assert "`just test`" not in text
    assert "`just lint`" not in text
    assert "`pytest tests/test_book.py`" in text


def test_without_init_the_first_start_is_silent(wk: wellkept.Wellkept) -> None:
    assert start(wk) == ""


def test_a_declared_command_that_ran_is_verified_with_its_session(wk: wellkept.Wellkept) -> None:
    wk.import_repository()
    before = wk.engine.store.find_key("repo:command:test", project=wk.project, user_scope=False)
    assert before is not None
    assert "verified" not in before.tags
    w = Work(5)
    take(wk, [w.prompt("Run the tests of the ledger"), w.run("just test", "3 passed"), w.end()])
    after = wk.engine.store.find_key("repo:command:test", project=wk.project, user_scope=False)
    assert after is not None
    assert "verified" in after.tags
    assert after.confidence == 0.95
    assert EvidenceKind.SESSION in [one.kind for one in after.evidence]
    (declared,) = [one for one in read_declared(wk.engine.store, wk.project) if one.worked_at]
    assert declared.command == "just test"
    assert "worked 20" in declared.text


def test_a_failed_run_verifies_nothing(wk: wellkept.Wellkept) -> None:
    wk.import_repository()
    w = Work(5)
    failed = w.run("just test", "1 failed", error="exit code 1")
    take(wk, [w.prompt("Run the tests of the ledger"), failed, w.end()])
    assert not any(one.worked_at for one in read_declared(wk.engine.store, wk.project))


def test_what_was_verified_stays_so_when_init_runs_again(
    wk: wellkept.Wellkept, repo: GitRepository
) -> None:
    wk.import_repository()
    w = Work(5)
    take(wk, [w.prompt("Run the tests of the ledger"), w.run("just test", "3 passed"), w.end()])
    repo.write("justfile", "test:\n  pytest -n 2\n\nlint:\n  ruff check src\n")
    report = wk.import_repository()
    assert report.changed == 1
    again = wk.engine.store.find_key("repo:command:test", project=wk.project, user_scope=False)
    assert again is not None
    assert "`pytest -n 2`" in again.content
    assert "verified" in again.tags
    assert [one.command for one in read_declared(wk.engine.store, wk.project) if one.worked_at] == [
        "just test"
    ]


def test_a_question_finds_the_command(wk: wellkept.Wellkept) -> None:
    wk.import_repository()
    found = [hit.memory.key for hit in wk.recall("how do I run one test file?", limit=3)]
    assert found[0] == "repo:command:one-test"
    why = [hit.memory.content for hit in wk.recall("why no floats?", limit=3)]
    assert any("because cents got lost" in text for text in why)


def test_no_imported_decision_is_pushed_at_a_file(wk: wellkept.Wellkept) -> None:
    wk.import_repository()
    assert wk.context(files=["src/ledger/book.py"]).items == ()


def test_maintenance_right_after_the_first_init_removes_nothing(wk: wellkept.Wellkept) -> None:
    wk.import_repository()
    report = wk.maintain_if_due()
    assert report is None or not report.removed
