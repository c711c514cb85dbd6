"""Searching the code of an open project: up to date with disk and history, and its own only."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import open as open_memory
from holdfast.app import Holdfast
from holdfast.core.errors import UsageError

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
def hf(project: Path, tmp_path: Path) -> Iterator[Holdfast]:
    with open_memory(tmp_path / "memory.db", cwd=project) as opened:
        yield opened


def first(hf: Holdfast, request: str) -> str:
    return hf.code.find(request)[0].path


def test_code_is_found_without_git_and_without_a_graph(hf: Holdfast) -> None:
    assert first(hf, "connections are not given back to the pool") == "src/pool.py"


def test_a_change_on_disk_is_seen_by_the_next_search(hf: Holdfast, project: Path) -> None:
    assert hf.code.find("zebra") == []
    write(project, "docs/guide.md", "How to feed a zebra.\n")
    assert first(hf, "zebra") == "docs/guide.md"
    (project / "docs/guide.md").unlink()
    assert hf.code.find("zebra") == []


def test_an_update_reads_only_what_changed(hf: Holdfast, project: Path) -> None:
    assert hf.code.update().read == 3
    assert hf.code.update().read == 0
    write(project, "src/urls.py", "def parse_url(text, strict): ...\n")
    assert hf.code.update().read == 1


def test_similar_commits_speak_for_files_that_do_not_say_the_words(
    hf: Holdfast, project: Path
) -> None:
    git(project, "init")
    git(project, "add", "src/urls.py")
    git(project, "commit", "-m", "Survive flaky upstream hosts")
    git(project, "add", ".")
    git(project, "commit", "-m", "Everything else")
    found = hf.code.find("flaky upstream")[0]
    assert found.path == "src/urls.py"
    assert "touched by similar commits" in found.reasons
    assert hf.code.update().commits == 0


def test_who_signed_a_commit_does_not_speak_for_its_files(hf: Holdfast, project: Path) -> None:
    git(project, "init")
    git(project, "add", ".")
    git(project, "commit", "-m", "Begin\n\nCo-Authored-By: Gryphon <g@example.org>\nRefs: Lion")
    assert hf.code.find("gryphon") == []
    assert hf.code.find("lion") == []
    assert hf.code.find("begin")


def test_new_commits_are_taken_in_and_renames_followed(hf: Holdfast, project: Path) -> None:
    git(project, "init")
    git(project, "add", ".")
    git(project, "commit", "-m", "Begin")
    hf.code.update()
    write(project, "src/urls.py", "def parse_url(text):\n    return text\n")
    git(project, "commit", "-a", "-m", "Survive flaky upstream hosts")
    git(project, "mv", "src/urls.py", "src/addresses.py")
    git(project, "commit", "-m", "Call it what it is")
    assert first(hf, "flaky upstream") == "src/addresses.py"


def test_rewritten_history_is_taken_in_anew(hf: Holdfast, project: Path) -> None:
    git(project, "init")
    git(project, "add", ".")
    git(project, "commit", "-m", "Teach gryphons to sing")
    assert hf.code.find("gryphons")
    git(project, "commit", "--amend", "-m", "Begin")
    assert hf.code.find("gryphons") == []


def test_symbols_of_a_code_graph_count_once_it_is_built(hf: Holdfast) -> None:
    pytest.importorskip("tree_sitter")
    hf.code.update()
    hf.graph.build()
    assert hf.code.update().read > 0
    assert "defines what is named" in hf.code.find("ConnectionPool")[0].reasons


def test_a_binary_file_is_known_by_its_path_alone(hf: Holdfast, project: Path) -> None:
    (project / "logo.py").write_bytes(b"\0zebra\0" * 100)
    assert hf.code.find("zebra") == []
    assert first(hf, "logo") == "logo.py"


def test_a_limit_below_one_is_refused(hf: Holdfast) -> None:
    with pytest.raises(UsageError):
        hf.code.find("pool", limit=0)


@pytest.mark.parametrize("request_text", ["", "\x00", "?" * 50_000, '"; DROP TABLE zebras', "名前"])
def test_a_hostile_request_finds_nothing_and_breaks_nothing(
    hf: Holdfast, request_text: str
) -> None:
    assert hf.code.find(request_text) == []
    assert first(hf, "connection pool") == "src/pool.py"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take only names that are text")
def test_a_file_whose_name_is_no_text_does_not_stop_the_search(hf: Holdfast, project: Path) -> None:
    (Path(os.fsdecode(os.fsencode(project) + b"/bad-\xff.py"))).write_text("pool", "utf-8")
    assert first(hf, "connections are not given back to the pool") == "src/pool.py"


def test_a_search_without_vectors_answers_from_words_alone(project: Path, tmp_path: Path) -> None:
    with open_memory(tmp_path / "plain.db", cwd=project, embedder="none") as hf:
        assert first(hf, "connections are not given back to the pool") == "src/pool.py"
