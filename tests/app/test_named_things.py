"""Rules are tied to the files, symbols and commands that they name, and become stale with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from tests.app.opening import open_in
from wellkept.core.memory import Memory
from wellkept.project.rule_targets import named_things

pytestmark = pytest.mark.feature("B8")


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    made = GitRepository.create(tmp_path / "shop")
    made.write("src/db/1700-FullSchema.ts", "export class FullSchema {}\n")
    made.write("src/money.py", "def to_cents(x):\n    return x\n")
    made.write("docs/a/README.md", "a")
    made.write("docs/b/README.md", "b")
    made.write("package.json", json.dumps({"scripts": {"lint": "x"}}))
    made.write("Makefile", "ship: build\n\t./ship\n")
    made.commit("Start")
    return made


def taught(wk: wellkept.Wellkept, message: str) -> Memory:
    (done,) = wk.apply(message)
    assert done.kept is not None
    return done.kept.memory


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("never edit src/money.py by hand", ("src/money.py",)),
        ("the FullSchema is frozen", ("src/db/1700-FullSchema.ts",)),
        ("read money.py first", ("src/money.py",)),
        ("docs go in docs/, not in wiki/", ("docs",)),
        ("every README.md has a title", ()),
        ("use https://example.org/src/money.py", ()),
        ("see /etc/passwd and ../secret.txt", ()),
        ("never edit gone.py", ()),
    ],
)
def test_files_are_found_if_they_are_there_and_meant_alone(
    repository: GitRepository, text: str, files: tuple[str, ...]
) -> None:
    assert named_things(repository.root, text).files == files


def test_symbols_and_commands_are_found(repository: GitRepository) -> None:
    found = named_things(repository.root, "run `npm run lint` and make ship before `to_cents`")
    assert found.symbol == "src/money.py::to_cents"
    assert found.commands == ("npm run lint", "make ship")
    assert named_things(repository.root, "npm run gone, make sure of it").commands == ()
    assert named_things(repository.root / "gone", "npm run lint").commands == ()


def test_a_rule_is_stale_once_its_file_is_deleted_and_follows_a_rename(
    repository: GitRepository,
) -> None:
    with open_in(repository.root, project=None) as wk:
        rule = taught(wk, "Never edit src/money.py by hand")
        wk.refresh()
        repository.git("mv", "src/money.py", "src/cash.py")
        repository.commit("Move")
        wk.refresh()
        assert wk.get(rule.id).files == ("src/cash.py",)
        assert wk.get(rule.id).stale_at is None
        repository.git("rm", "-q", "src/cash.py")
        repository.commit("Delete")
        wk.refresh()
        assert wk.get(rule.id).stale_at is not None


def test_a_rule_is_stale_once_its_command_is_gone(repository: GitRepository) -> None:
    with open_in(repository.root, project=None) as wk:
        rule = taught(wk, "Always run make ship from a clean tree")
        wk.refresh()
        assert wk.get(rule.id).stale_at is None
        repository.write("Makefile", "deploy:\n\t./ship\n")
        wk.refresh()
        assert wk.get(rule.id).stale_at is not None
