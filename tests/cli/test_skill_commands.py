"""`wellkept skill …` as people type it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from wellkept.api.cli import exit_codes

pytestmark = pytest.mark.feature("F2")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skills of the person running the tests are not read."""
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)


def new(cli: Cli, name: str = "deploy", *more: str) -> Path:
    outcome = cli("skill", "new", name, "--description", "Deploys: the app", *more)
    assert outcome.code == exit_codes.OK, outcome.err
    return Path.cwd() / ".skills" / name / "SKILL.md"


def test_a_new_skill_is_listed_and_shown(cli: Cli) -> None:
    path = new(cli, "deploy", "--tag", "ops", "--body", "Do it.")
    listed = cli("skill", "list", "--source", "project")
    assert listed.out.split("\t")[:4] == ["deploy", "project:.skills", "240", "on"]
    items = cli("skill", "list", "--json", "--source", "project").json["items"]
    assert [item["name"] for item in items] == ["deploy"]
    assert "body" not in items[0]
    shown = cli("skill", "show", "deploy")
    assert "Deploys: the app" in shown.out
    assert "Do it." in shown.out
    shown = cli("skill", "show", "deploy", "--json").json
    skill = shown["skill"]
    assert (shown["body"], skill["tags"], skill["path"]) == ("Do it.", ["ops"], str(path))


def test_fields_are_set_and_removed_and_the_rest_stays(cli: Cli) -> None:
    path = new(cli)
    before = path.read_text()
    done = cli("skill", "edit", "deploy", "--set", "version=1.10", "--set", "tags=a, b c")
    assert done.code == exit_codes.OK
    assert path.read_text() == before.replace(
        "---\n\n", 'version: "1.10"\ntags:\n  - a\n  - b c\n---\n\n', 1
    )
    cli("skill", "edit", "deploy", "--unset", "tags", "--unset", "version")
    assert path.read_text() == before
    assert cli("skill", "edit", "deploy", "--set", "nothing").code == exit_codes.USAGE


def test_a_file_is_opened_in_the_editor(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    path = new(cli)
    monkeypatch.setenv("EDITOR", "sed -i s/deploys/sends/I")
    changed = cli("skill", "edit", "deploy", "--json").json["skill"]
    assert changed["description"] == "sends: the app"
    assert "sends" in path.read_text()
    builtin = cli("skill", "list", "--source", "builtin", "--json").json["items"][0]["name"]
    assert cli("skill", "edit", builtin).code == exit_codes.USAGE


def test_switching_off_and_on(cli: Cli) -> None:
    new(cli)
    assert cli("skill", "disable", "deploy").out.startswith("Disabled deploy")
    assert "deploy" not in cli("skill", "list", "--enabled").out.split()
    assert cli("skill", "enable", "deploy", "--json").json["items"][0]["enabled"]


def test_removing_asks_and_can_be_looked_at_first(cli: Cli) -> None:
    path = new(cli)
    dry = cli("skill", "delete", "deploy", "--dry-run", "--json").json
    assert (dry["dry_run"], dry["files"][-1]) == (True, str(path))
    assert cli("skill", "delete", "deploy").code == exit_codes.USAGE
    assert path.exists()
    assert cli("skill", "delete", "deploy", "--yes").code == exit_codes.OK
    assert not path.parent.exists()
    missing = cli("skill", "show", "deplay")
    assert (missing.code, "Unknown skill" in missing.err) == (3, True)


def test_validation_prints_every_finding_with_its_line_and_ends_with_one(cli: Cli) -> None:
    new(cli)
    assert cli("skill", "validate").code == exit_codes.OK
    folder = Path.cwd() / ".skills" / "bad"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: Bad Name\ndescription: a: b\n---\n\nx\x1b[2J\n")
    bad = cli("skill", "validate", "bad-name")
    assert bad.code == exit_codes.NOTHING
    lines = bad.out.splitlines()
    assert any(f"{folder}/SKILL.md:2: error name-form" in line for line in lines)
    assert any(f"{folder}/SKILL.md:3: error yaml-colon" in line for line in lines)
    by_path = cli("skill", "validate", str(folder), "--json").json["items"][0]
    assert by_path["valid"] is False
    assert {finding["code"] for finding in by_path["findings"]} >= {"name-form", "name-folder"}
    assert "\x1b" not in cli("skill", "show", "bad-name").out


def test_clashes_are_shown(cli: Cli) -> None:
    new(cli)
    exported = cli("skill", "export", "deploy", "--to", ".claude/skills")
    assert exported.out.strip() == str(Path.cwd() / ".claude" / "skills" / "deploy")
    listed = cli("skill", "list")
    assert "warning clash" in listed.err
    clash = cli("skill", "list", "--json").json["clashes"][0]
    assert clash == {
        "name": "deploy",
        "winner": "project:.skills:deploy",
        "covered": ["project:.claude/skills:deploy"],
    }
    seen = cli("skill", "refresh", "--json").json
    assert seen["by_kind"]["project"] == 1
    assert cli("skill", "refresh").code == exit_codes.OK


def test_an_address_that_is_not_safe_is_refused(cli: Cli) -> None:
    refused = cli("skill", "add", "http://example.org/SKILL.md", "--yes")
    assert (refused.code, "not https" in refused.err) == (exit_codes.USAGE, True)
