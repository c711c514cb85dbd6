"""`wellkept skill run`, `commands`, `remind`, `hooks`, `trust` and `untrust` as people type them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.skills.reading import document, put
from wellkept.api.cli import exit_codes
from wellkept.api.cli.completion.answer import suggestions
from wellkept.core.errors import NotFoundError


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skills of the person running the tests are not read."""
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)


def skill(name: str = "deploy", *, more: str = "", body: str = "Deploy $1 to $2.") -> Path:
    return put(Path.cwd() / ".skills", name, document(name, more=more, body=body))


@pytest.mark.feature("F5")
def test_a_skill_prints_its_prompt_with_the_words_of_the_shell(cli: Cli) -> None:
    skill()
    assert "Deploy the app to -m." in cli("skill", "run", "deploy", "the app", "-m").out
    assert "Deploy --json to x." in cli("skill", "run", "/deploy", "--json", "x").out
    done = cli("skill", "run", "--json", "deploy", "a", "b c").json
    assert (done["kind"], done["words"]) == ("prompt", ["a", "b c"])
    assert done["is_cut"] is False


@pytest.mark.feature("F5")
@pytest.mark.feature("H6")
def test_own_commands_are_run_in_the_same_way(cli: Cli) -> None:
    kept = cli("skill", "run", "remember", "We", "use pnpm, not npm")
    assert kept.code == exit_codes.OK
    assert "We use pnpm, not npm" in cli("recall", "pnpm").out
    assert "pnpm" in cli("skill", "run", "--json", "recall", "pnpm").json["content"]


@pytest.mark.feature("F5")
def test_arguments_come_from_standard_input_too(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    skill(body="Fix $ARGUMENTS!")
    given = tmp_path / "given"
    given.write_text('a "b c"\n')
    with given.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert 'Fix a "b c"!' in cli("skill", "run", "deploy", "-").out


@pytest.mark.feature("F5")
def test_who_asks_decides(cli: Cli) -> None:
    skill("secret", more="disable-model-invocation: true\n")
    skill("inner", more="user-invocable: false\n")
    assert cli("skill", "run", "secret").code == exit_codes.OK
    assert cli("skill", "run", "--as", "model", "secret").code == exit_codes.USAGE
    assert cli("skill", "run", "--as", "model", "inner").code == exit_codes.OK
    refused = cli("skill", "run", "inner")
    assert refused.code == exit_codes.USAGE
    assert "not for people" in refused.err
    assert cli("skill", "run", "nosuch").code == exit_codes.exit_code(NotFoundError("x"))


@pytest.mark.feature("F5")
def test_commands_are_listed_by_use_with_clashes(cli: Cli) -> None:
    skill()
    skill("remember")
    cli("skill", "run", "deploy")
    listed = cli("skill", "commands")
    assert listed.out.startswith("/deploy\t")
    assert "/remember comes from wellkept and hides project:.skills." in listed.err
    found = cli("skill", "commands", "--json").json
    assert found["items"][0]["score"] == pytest.approx(1.0, abs=0.01)
    assert [clash["name"] for clash in found["clashes"]] == ["remember"]
    everything = cli("skill", "commands", "--all", "--json").json["items"]
    assert len(everything) >= len(found["items"])


@pytest.mark.feature("F5")
def test_a_long_skill_is_cut_and_that_is_told(cli: Cli) -> None:
    skill(body="line\n" * 3_000)
    done = cli("skill", "run", "--max-chars", "1000", "deploy")
    assert len(done.out) <= 1_001
    assert "lines left out" in done.out
    assert "Truncated" in done.err


@pytest.mark.feature("F10")
def test_reminders_are_printed_at_each_level(cli: Cli) -> None:
    skill(more="sparse-reminder: Mind the queue.\n")
    assert "Mind the queue." in cli("skill", "remind", "deploy", "--level", "sparse").out
    told = cli("skill", "remind", "deploy", "--level", "detailed", "--json").json
    assert "Mind the queue." in told["reminder"]
    assert cli("skill", "remind", "nosuch").code == exit_codes.exit_code(NotFoundError("x"))


@pytest.mark.feature("F8")
def test_hooks_are_looked_at_agreed_to_and_taken_back(cli: Cli) -> None:
    path = skill(more="hooks:\n  Stop:\n    - command: echo done\n")
    assert cli("skill", "hooks").out.split("\t")[:3] == ["deploy", "new", "Stop"]
    refused = cli("skill", "trust", "deploy")
    assert refused.code == exit_codes.USAGE
    assert "Confirmation needs a terminal" in refused.err
    assert "echo done" in refused.out
    assert cli("skill", "trust", "--dry-run", "--json").json["trusted"] == []
    assert cli("skill", "trust", "deploy", "--yes", "--json").json["trusted"] == ["deploy"]
    assert cli("skill", "hooks", "--json").json["items"][0]["state"] == "trusted"
    put(path.parent.parent, "deploy", path.read_text().replace("echo done", "echo other"))
    assert cli("skill", "hooks", "--json").json["items"][0]["state"] == "changed"
    assert cli("skill", "untrust").code == exit_codes.OK
    assert cli("skill", "hooks", "--json").json["items"][0]["state"] == "new"


@pytest.mark.feature("F8")
def test_where_there_are_no_hooks_nothing_is_agreed_to(cli: Cli) -> None:
    assert "No skill here has hooks" in cli("skill", "hooks").err
    said = cli("skill", "trust")
    assert (said.code, said.out, said.err) == (0, "", "No skill here has hooks.\n")
    assert cli("skill", "trust", "nosuch", "--yes").code == exit_codes.exit_code(NotFoundError("x"))


@pytest.mark.feature("F2")
def test_skills_are_exported_to_where_a_client_looks(cli: Cli) -> None:
    skill(more="detect:\n  files: [deploy.toml]\n")
    (Path.cwd() / "deploy.toml").write_text("x")
    done = cli("skill", "export", "--to", "claude-code", "--detected", "--json").json
    assert done["items"] == [str(Path.cwd() / ".claude" / "skills" / "deploy")]
    assert cli("skill", "export", "deploy", "--to", "codex").code == exit_codes.OK
    assert (Path.cwd() / ".agents" / "skills" / "deploy" / "SKILL.md").is_file()
    assert cli("skill", "export", "deploy", "--to", "./codex").code == exit_codes.OK
    assert (Path.cwd() / "codex" / "deploy" / "SKILL.md").is_file()
    nothing = cli("skill", "export", "--to", "opencode", "--generated")
    assert nothing.code == exit_codes.USAGE
    assert "Nothing to export" in nothing.err


@pytest.mark.feature("F7")
def test_names_are_completed_by_use_and_nothing_is_made_for_that(cli: Cli, home: Path) -> None:
    def completed(begun: str) -> list[str]:
        return [name for name, _ in suggestions(["skill", "run"], begun, os.environ)]

    assert completed("de") == ["debug-systematically"]
    assert not (home / "memory.db").exists()
    skill("dedupe")
    skill("deploy")
    cli("skill", "run", "deploy")
    assert completed("/de")[:2] == ["/deploy", "/debug-systematically"]
    assert "/dedupe" in completed("/de")
