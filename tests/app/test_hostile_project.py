"""A folder that somebody prepared: nothing waits for ever, and nothing is written outside."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

import wellkept
from tests.app.opening import open_in
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.settings.toml_file import read_entries
from wellkept.project.resolver import ProjectKind, resolve_project

pytestmark = [
    pytest.mark.feature("A1"),
    pytest.mark.skipif(os.name == "nt", reason="needs pipes and links"),
]


@pytest.mark.parametrize("name", [".git", ".git/config", ".git/HEAD", ".git/commondir"])
def test_a_pipe_where_git_keeps_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    if name != ".git":
        for folder in ("objects", "refs"):
            (tmp_path / ".git" / folder).mkdir(parents=True)
    if name != ".git/HEAD":
        with_head = tmp_path / ".git"
        if with_head.is_dir():
            (with_head / "HEAD").write_text("ref: refs/heads/main\n")
    os.mkfifo(tmp_path / name)
    assert resolve_project(tmp_path).kind is ProjectKind.PATH


def test_settings_nested_beyond_reason_are_refused(tmp_path: Path) -> None:
    path = tmp_path / ".wellkept.toml"
    path.write_text("a = " + "[" * 100_000)
    with pytest.raises(UsageError, match="nested too deeply"):
        read_entries(path)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems insist on UTF-8 names")
def test_a_folder_whose_name_is_no_text_is_a_project_like_any_other(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"bad\xff\xfename")
    folder.mkdir()
    path = tmp_path / "memory.db"
    for expected in (0, 1):
        with wellkept.open(path, cwd=folder, embedder="none", environment={}) as memory:
            assert memory.stats().total == expected
            memory.remember("The parser is slow")


def test_an_export_does_not_follow_a_link_out_of_its_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = tmp_path / "export"
    target.mkdir()
    (target / "fact").symlink_to(outside)
    with open_in(tmp_path) as memory:
        memory.remember("The parser is slow")
        with pytest.raises(ConflictError, match="is a link"):
            memory.export_markdown(target, overwrite=True)
    assert list(outside.iterdir()) == []


def test_an_import_of_a_folder_passes_over_pipes_and_links(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    os.mkfifo(folder / "pipe.md")
    (tmp_path / "secret.md").write_text("Not for memory\n")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "plain.md").write_text("The parser is slow\n")
    with open_in(tmp_path) as memory:
        report = memory.import_markdown(folder)
        assert report.new == 1
        assert [note.path for note in report.refused] == ["link.md", "pipe.md"]


def test_an_export_can_be_read_back_through_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with open_in(tmp_path) as memory:
        memory.remember("The parser is slow")
        memory.export(tmp_path / "out.jsonl")
        written = (tmp_path / "out.jsonl").read_bytes()
        writer = threading.Thread(target=pipe.write_bytes, args=(written,))
        writer.start()
        assert memory.import_jsonl(pipe).skipped == 1
        writer.join()
