"""Which files belong to a tree: ignore files mean the same with git and without."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegraph.trees import write
from wellkept.graph.index.source_files import list_files

pytestmark = pytest.mark.feature("E2")

_FILES = [
    "a.py", "b.py", "A.py", "x/a.py", "x/b.py", "x/y/a.py", "x/y/b.log.py", "y/a.py", "y/x/a.py",
    "build/a.py", "x/build/c.py", "[1].py", "sp ace.py", "x/#h.py", "!n.py", "école.py",
]  # fmt: skip
_PATTERNS = [
    "a.py", "/a.py", "*.py", "!a.py", "!/x/a.py", "x/", "/x/", "!x/", "x/*", "!x/y", "**/a.py",
    "x/**", "**/y/**", "x/**/a.py", "/*", "!/*/", "?.py", "[ab].py", "[!a].py", "[a-b].py", "build",
    "build/", "*.log.py", "x/y/", r"\!n.py", r"\#h.py", "#h.py", "sp ace.py", "sp ace.py  ", r"[1].py",
    r"\[1\].py", "", "   ", "école.py", "**", "*", "!*", "x/y/../a.py", "/", "a.py/", "x//a.py", "[[:alpha:]].py",
    "*a*.py", "*b*l*p*", "x*/*a*", "*/**/*a*y", "*l*g*", "*[a-b]*?y",
]  # fmt: skip


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)


def _same_with_and_without_git(ignore_files: dict[str, str]) -> list[str]:
    """The Python files that are not ignored; git itself is the oracle."""
    root = Path(tempfile.mkdtemp())
    try:
        write(root, dict.fromkeys(_FILES, ""))
        write(root, ignore_files)
        _git(root, "init", "-q")
        by_git = [f.path for f in list_files(root) if f.path.endswith(".py")]
        shutil.rmtree(root / ".git")
        found = [f.path for f in list_files(root) if f.path.endswith(".py")]
        assert found == by_git
        return found
    finally:
        shutil.rmtree(root)


@settings(max_examples=40, deadline=None)
@given(
    top=st.lists(st.sampled_from(_PATTERNS), max_size=5),
    inner=st.lists(st.sampled_from(_PATTERNS), max_size=3),
)
def test_without_git_the_same_files_are_found_as_with_it(top: list[str], inner: list[str]) -> None:
    _same_with_and_without_git({".gitignore": "\n".join(top), "x/.gitignore": "\n".join(inner)})


@pytest.mark.parametrize(
    ("files", "ignored", "included"),
    [
        pytest.param({".gitignore": "a.py\n", "x/.gitignore": "!a.py\n"}, "a.py", "x/a.py",
                     id="nested file overrides"),
        pytest.param({"x/.gitignore": "y/a.py\n"}, "x/y/a.py", "y/a.py", id="nested is relative"),
        pytest.param({".gitignore": "x/\n", "x/.gitignore": "!*\n"}, "x/a.py", "a.py",
                     id="nothing returns from an ignored folder"),
        pytest.param({".gitignore": "a.py\n!x\n"}, "x/a.py", "x/b.py",
                     id="including a folder does not include its files"),
        pytest.param({".gitignore": "*\n!*/\n!b.py\n"}, "x/a.py", "x/b.py",
                     id="everything but one name"),
        pytest.param({".gitignore": "!x\nx/\n"}, "x/a.py", "a.py", id="the last pattern wins"),
        pytest.param({".gitignore": "**/y/**\n", "x/.gitignore": "!a.py\n"}, "x/y/b.log.py", "x/y/a.py",
                     id="double star matches below, not the folder"),
        pytest.param({".gitignore": "x/**/a.py\n"}, "x/y/a.py", "y/x/a.py", id="double star inside"),
        pytest.param({".gitignore": "a.py  \n"}, "a.py", "b.py", id="trailing spaces"),
        pytest.param({".gitignore": "a.py\\ \n"}, "", "a.py", id="escaped trailing space"),
        pytest.param({".gitignore": "build/\nb.py/\n"}, "x/build/c.py", "b.py", id="directories only"),
        pytest.param({".gitignore": "[[:alpha:]].py\n"}, "a.py", "[1].py", id="character class"),
        pytest.param({".gitignore": "!\n\\\n[a\n//\n"}, "", "a.py", id="invalid patterns"),
    ],
)  # fmt: skip
def test_rules_of_ignore_files(files: dict[str, str], ignored: str, included: str) -> None:
    found = _same_with_and_without_git(files)
    assert ignored not in found
    assert included in found


def test_wellkeptignore_counts_with_and_without_git(tmp_path: Path) -> None:
    write(tmp_path, {"big/x/a.py": "", "keep/b.py": "", "sub/c.py": "", "sub/d.py": ""})
    write(tmp_path, {".wellkeptignore": "big/\nsub/*\n!sub/d.py\n"})
    without = [f.path for f in list_files(tmp_path)]
    _git(tmp_path, "init", "-q")
    assert [f.path for f in list_files(tmp_path)] == without
    assert without == [".wellkeptignore", "keep/b.py", "sub/d.py"]


def test_global_and_local_excludes_of_git_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "tree"
    write(root, {"a.py": "", "mine.py": "", "local.py": "", "tracked.py": ""})
    write(tmp_path, {"excludes": "mine.py\ntracked.py\n"})
    write(tmp_path, {"config": f"[core]\n\texcludesFile = {tmp_path / 'excludes'}\n"})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    _git(root, "init", "-q")
    _git(root, "add", "-f", "tracked.py")
    write(root, {".git/info/exclude": "local.py\n"})
    assert [f.path for f in list_files(root)] == ["a.py", "tracked.py"]


def test_a_pattern_of_many_stars_is_matched_in_no_time(tmp_path: Path) -> None:
    write(tmp_path, {"a" * 200 + ".py": "", ".gitignore": "*a" * 60 + "*b\n"})
    assert [f.path for f in list_files(tmp_path)] == [".gitignore", "a" * 200 + ".py"]
