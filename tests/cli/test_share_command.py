"""`wellkept status --shared`: what it prints, what it asks, and what its JSON holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.generate_docs import JSON_FIELDS
from tests.app.git_repositories import GitRepository
from tests.cli.conftest import Cli

pytestmark = pytest.mark.feature("T3")


@pytest.fixture
def repository(cli: Cli) -> GitRepository:
    made = GitRepository.create(Path.cwd())
    made.commit("begin", readme="hello")
    return made


def test_from_off_to_shared_and_back(cli: Cli, repository: GitRepository) -> None:
    assert "Sharing is off" in cli("share").out
    off = cli("share", "add", "--type", "convention")
    assert off.code != 0
    assert "wellkept team join --git" in off.err
    asked = cli("share", "on")
    assert asked.code != 0
    assert "--yes" in asked.err
    assert "Sharing is on." in cli("share", "on", "--yes").out
    rule = cli("remember", "Deploys go through staging first", "--type", "convention", "--json")
    dry = cli("share", "add", "--type", "convention", "--dry-run")
    assert "would be written convention/deploys-go-through-staging-first-" in dry.out
    assert not (repository.root / ".wellkept").exists()
    assert "written convention/" in cli("share", "add", "--type", "convention").out
    assert "1 not merged yet" in cli("share").out
    repository.commit("share it")
    assert "The branch has news" in cli("share").out
    assert "1 file up to date" in cli("share", "update").out
    assert "not merged yet" not in cli("share").out
    both = cli("share", "add", "x", "--type", "convention")
    assert both.code == 2
    assert "Not both" in both.err
    name = rule.json["memory"]["id"]
    assert "removed convention/" in cli("share", "remove", name).out
    again = cli("share", "remove", name)
    assert (again.code, "is not shared" in again.err) == (1, True)
    assert "Sharing is off." in cli("share", "off").out


def test_every_part_has_its_document(cli: Cli, repository: GitRepository) -> None:
    cli("remember", "Deploys go through staging first", "--key", "deploys")
    for command, *arguments in (
        ("on", "--yes"),
        ("status",),
        ("add", "deploys"),
        ("update",),
        ("remove", "deploys"),
        ("off",),
    ):
        shown = cli("share", command, *arguments, "--json")
        assert tuple(shown.json) == JSON_FIELDS[f"share {command}"], shown.err
    assert cli("share", "--json").json["is_on"] is False
    assert repository.root.is_dir()


def test_outside_a_repository_it_says_what_is_missing(cli: Cli) -> None:
    refused = cli("share")
    assert refused.code == 2
    assert "not a git repository" in refused.err


def test_a_branch_is_handed_over(cli: Cli, repository: GitRepository) -> None:
    nothing = cli("handoff")
    assert nothing.code == 1
    assert "Nothing is known of work on main." in nothing.err
    cli("remember", "We keep refunds in cents because of rounding", "--type", "decision")
    cli("share", "on", "--yes")
    shown = cli("session", "handoff", "--write")
    assert "# Hand-over of main" in shown.out
    assert "refunds in cents" in shown.out
    assert (repository.root / ".wellkept/shared/handoff/main.md").is_file()
    assert cli("session", "handoff", "--json").json["sections"]
