"""Searching the code of an open project: up to date with disk and history, and its own only."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wellkept import open as open_memory
from wellkept.api import Wellkept
from wellkept.core.errors import UsageError

pytestmark = pytest.mark.feature("E5")


def git(folder: Path, *arguments: str) -> None:
    names = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org"}
    names |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        cwd=folder,
        env=os.environ | names,
        check=True,
        capture_output=True,
    )


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    write(folder, "src/pool.py", "class ConnectionPool:\n    def take(self): ...\n")
    write(folder, "src/urls.py", "def parse_url(text): ...\n")
    write(folder, "docs/guide.md", "How to install.\n")
    return folder


@pytest.fixture
def wk(project: Path, tmp_path: Path) -> Iterator[Wellkept]:
    with open_memory(tmp_path / "memory.db", cwd=project) as opened:
        yield opened


def first(wk: Wellkept, request: str) -> str:
    return wk.code.find(request)[0].path


def test_code_is_found_without_git_and_without_a_graph(wk: Wellkept) -> None:
    assert first(wk, "connections are not given back to the pool") == "src/pool.py"


def test_a_change_on_disk_is_seen_by_the_next_search(wk: Wellkept, project: Path) -> None:
    assert wk.code.find("zebra") == []
    write(project, "docs/guide.md", "How to feed a zebra.\n")
    assert first(wk, "zebra") == "docs/guide.md"
    (project / "docs/guide.md").unlink()
    assert wk.code.find("zebra") == []


def test_an_update_reads_only_what_changed(wk: Wellkept, project: Path) -> None:
    assert wk.code.update().read == 3
    assert wk.code.update().read == 0
    write(project, "src/urls.py", "def parse_url(text, strict): ...\n")
    assert wk.code.update().read == 1


def test_similar_commits_find_files_without_the_words(wk: Wellkept, project: Path) -> None:
    git(project, "init")
    git(project, "add", "src/urls.py")
    git(project, "commit", "-m", "Survive flaky upstream hosts")
    git(project, "add", ".")
    git(project, "commit", "-m", "Everything else")
    found = wk.code.find("flaky upstream")[0]
    assert found.path == "src/urls.py"
    assert "changed by similar commits" in found.reasons
    assert wk.code.update().commits == 0


def test_commit_trailers_are_not_searched(wk: Wellkept, project: Path) -> None:
    git(project, "init")
    git(project, "add", ".")
    git(project, "commit", "-m", "Begin\n\nCo-Authored-By: Gryphon <g@example.org>\nRefs: Lion")
    assert wk.code.find("gryphon") == []
    assert wk.code.find("lion") == []
    assert wk.code.find("begin")


def test_new_commits_are_added_and_renames_followed(wk: Wellkept, project: Path) -> None:
    git(project, "init")
    git(project, "add", ".")
    git(project, "commit", "-m", "Begin")
    wk.code.update()
    write(project, "src/urls.py", "def parse_url(text):\n    return text\n")
    git(project, "commit", "-a", "-m", "Survive flaky upstream hosts")
    git(project, "mv", "src/urls.py", "src/addresses.py")
    git(project, "commit", "-m", "Call it what it is")
    assert first(wk, "flaky upstream") == "src/addresses.py"


def test_rewritten_history_is_indexed_again(wk: Wellkept, project: Path) -> None:
    git(project, "init")
    git(project, "add", ".")
    git(project, "commit", "-m", "Teach gryphons to sing")
    assert wk.code.find("gryphons")
    git(project, "commit", "--amend", "-m", "Begin")
    assert wk.code.find("gryphons") == []


def test_symbols_of_a_code_graph_count_once_it_is_built(wk: Wellkept) -> None:
    pytest.importorskip("tree_sitter")
    wk.code.update()
    wk.graph.build()
    assert wk.code.update().read > 0
    assert "defines what is named" in wk.code.find("ConnectionPool")[0].reasons


def test_a_binary_file_is_known_by_its_path_alone(wk: Wellkept, project: Path) -> None:
    (project / "logo.py").write_bytes(b"\0zebra\0" * 100)
    assert wk.code.find("zebra") == []
    assert first(wk, "logo") == "logo.py"


def test_a_limit_below_one_is_refused(wk: Wellkept) -> None:
    with pytest.raises(UsageError):
        wk.code.find("pool", limit=0)


@pytest.mark.parametrize("request_text", ["", "\x00", "?" * 50_000, '"; DROP TABLE zebras', "名前"])
def test_a_hostile_request_finds_nothing_and_breaks_nothing(
    wk: Wellkept, request_text: str
) -> None:
    assert wk.code.find(request_text) == []
    assert first(wk, "connection pool") == "src/pool.py"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take only names that are text")
def test_a_file_name_that_is_not_utf8_does_not_stop_the_search(wk: Wellkept, project: Path) -> None:
    (Path(os.fsdecode(os.fsencode(project) + b"/bad-\xff.py"))).write_text("pool", "utf-8")
    assert first(wk, "connections are not given back to the pool") == "src/pool.py"


def test_a_search_without_vectors_answers_from_words_alone(project: Path, tmp_path: Path) -> None:
    with open_memory(tmp_path / "plain.db", cwd=project, embedder="none") as wk:
        assert first(wk, "connections are not given back to the pool") == "src/pool.py"


def test_a_natural_question_finds_functions_with_their_lines(wk: Wellkept, project: Path) -> None:
    write(
        project,
        "src/retry.py",
        'import time\n\n\ndef with_backoff(call):\n    """Sleep longer after each failure."""\n',
    )
    found = wk.code.find("how long do we sleep after a failure?")[0]
    assert found.path == "src/retry.py"
    assert [(s.name, s.line, s.summary) for s in found.symbols] == [
        ("with_backoff", 4, "Sleep longer after each failure.")
    ]


def test_a_report_ranks_code_before_change_log_and_configuration(
    wk: Wellkept, project: Path
) -> None:
    words = "The pool deadlocks when a worker dies while it waits for a free slot of the pool."
    report = (
        words + " Steps: start two workers, kill one, look at the stuck queue and its lock." * 4
    )
    write(
        project,
        "src/pool.py",
        "class Pool:\n    def wait(self):\n        # a worker waits for a free slot; deadlocks?\n",
    )
    write(project, "CHANGELOG.md", (words + "\n") * 5)
    write(project, "setup.cfg", f"[pool]\nnote = {words}\n" * 3)
    write(project, ".github/workflows/pool.yml", f"# {words}\nname: pool\n" * 3)
    assert first(wk, report) == "src/pool.py"
    assert first(wk, "the CI workflow of the pool fails") == ".github/workflows/pool.yml"


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("where is CI configured", ".github/workflows/checks.yml"),
        ("which tests cover the pool", "tests/test_pool.py"),
        ("where are the release notes", "CHANGELOG.md"),
        ("which python versions are supported", "pyproject.toml"),
        ("how does the pool configure its connections", "src/pool.py"),
    ],
)
def test_a_question_is_answered_by_files_of_the_kind_it_asks_for(
    wk: Wellkept, project: Path, question: str, path: str
) -> None:
    write(project, ".github/workflows/checks.yml", "on: push\njobs:\n  suite:\n    steps: []\n")
    write(project, "CHANGELOG.md", "# 2.0\n\nThe pool is faster.\n")
    write(project, "pyproject.toml", '[project]\nrequires-python = ">=3.11"\n')
    write(project, "tests/test_pool.py", "def test_pool():\n    pass\n")
    write(project, "docs/config.md", "Where and how the pool is configured, with versions.\n" * 5)
    assert first(wk, question) == path


def test_generated_files_are_not_first(wk: Wellkept, project: Path) -> None:
    body = "def free_slot_of_the_pool():\n    return slot\n"
    write(project, "src/gen/client.py", body * 4)
    write(project, "src/slots.py", body)
    found = [file.path for file in wk.code.find("how do we find a free slot of the pool")]
    assert found.index("src/slots.py") < found.index("src/gen/client.py")


def test_a_secret_in_a_signature_is_not_shown(wk: Wellkept, project: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    write(project, "src/client.py", f'def connect_client(token="{token}"): ...\n')
    found = wk.code.find("connect client")[0]
    assert token not in found.symbols[0].signature
