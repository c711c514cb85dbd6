"""Commands that look after the store: maintain, export, import, reindex, backup, doctor, config."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from scripts.generate_docs import JSON_FIELDS
from tests.app.git_repositories import GitRepository
from tests.cli.captured_session import SESSION, catch_a_session
from tests.cli.conftest import Cli
from wellkept.api.cli.door import WORDS
from wellkept.api.cli.root import command_at


def _remember(cli: Cli, *arguments: str) -> str:
    return cli("remember", "--json", *arguments).json["memory"]["short"]


# -- Maintenance ----------------------------------------------------------------------------------


@pytest.mark.feature("A5")
@pytest.mark.parametrize("command", ["decay", "prune", "compact", "refresh", "maintain"])
def test_each_pass_can_be_previewed_and_reports(cli: Cli, command: str) -> None:
    _remember(cli, "something worth keeping")
    report = cli(command, "--dry-run", "--json").json
    assert (report["action"], report["dry_run"]) == (command, True)
    done = cli(command, *(() if command in {"decay", "refresh"} else ("--yes",)))
    assert done.code == 0
    assert f"{command}: " in done.err


@pytest.mark.feature("A5")
def test_pruning_asks_before_it_removes(cli: Cli) -> None:
    _remember(cli, "hardly matters", "--importance", "0.01", "--source", "observer_inferred")
    assert cli("prune", "--dry-run", "--json").json["items"]
    assert cli("prune").code == 2
    assert cli("list", "--json").json["total"] == 1
    assert cli("prune", "--yes").code == 0
    assert cli("list", "--json").json["total"] == 0


@pytest.mark.feature("A5")
def test_refresh_marks_what_lost_its_file(cli: Cli) -> None:
    _remember(cli, "about a lost file", "--file", "gone.py")
    assert len(cli("refresh", "--json").json["items"]) == 1
    assert cli("list", "--json", "--no-stale").json["total"] == 0


# -- In and out -----------------------------------------------------------------------------------


@pytest.mark.feature("A11")
def test_an_export_round_trips_and_a_second_import_changes_nothing(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    _remember(cli, "port 8080", "--key", "port")
    _remember(cli, "port 9090", "--key", "port")
    assert cli("export", "out.jsonl", "--json").json == {
        "target": "out.jsonl",
        "format": "jsonl",
        "count": 2,
    }
    assert cli("export", "out.jsonl").code != 0
    assert cli("export", "out.jsonl", "--overwrite").code == 0
    assert cli("export", "open.jsonl", "--validity", "open", "--json").json["count"] == 1
    text = cli("export", "-").out
    assert text == Path("out.jsonl").read_text(encoding="utf-8")
    cli("forget", "--all", "--yes")
    assert cli("import", "out.jsonl", "--dry-run", "--json").json["report"]["new"] == 2
    assert cli("import", "out.jsonl", "--json").json["report"]["new"] == 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8"))
    again = cli("import", "-", "--json").json["report"]
    assert (again["new"], again["skipped"]) == (0, 2)
    assert cli("import", "out.jsonl").out.startswith("new 0, merged 0, skipped 2")


@pytest.mark.feature("A11")
def test_markdown_can_be_edited_and_read_back(cli: Cli) -> None:
    _remember(cli, "The port is 8080")
    assert cli("export", "notes").code == 0
    page = next(
        p
        for p in Path("notes").rglob("*.md")
        if p.name != "INDEX.md" and "8080" in p.read_text(encoding="utf-8")
    )
    page.write_text(page.read_text(encoding="utf-8").replace("8080", "9090"), encoding="utf-8")
    report = cli("import", "notes", "--json").json["report"]
    assert report["corrected"] == 1
    assert [m["content"] for m in cli("list", "--json").json["items"]] == ["The port is 9090"]


@pytest.mark.feature("A11")
def test_a_bad_line_is_named_and_the_rest_is_taken_in(cli: Cli) -> None:
    _remember(cli, "fine")
    cli("export", "out.jsonl")
    with Path("out.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"half a li\n')
    cli("forget", "--all", "--yes")
    strict = cli("import", "out.jsonl", "--strict", "--json")
    report = strict.json["report"]
    assert (report["applied"], report["refused"][0]["line"]) == (False, 3)
    assert strict.code == 2
    assert "Nothing was written." in cli("import", "out.jsonl", "--strict").err
    assert cli("list", "--json").json["total"] == 0
    lenient = cli("import", "out.jsonl")
    assert "line 3" in lenient.err
    assert lenient.code == 1
    assert cli("list", "--json").json["total"] == 1


@pytest.mark.feature("A11")
def test_a_page_that_is_not_taken_in_shows_in_the_exit_code(cli: Cli) -> None:
    name = _remember(cli, "The port is 8080")
    cli("export", "notes")
    page = next(p for p in Path("notes").rglob("*.md") if p.name != "INDEX.md")
    text = page.read_text(encoding="utf-8")
    assert cli("import", "notes").code == 0
    cli("edit", name, "--content", "The port is 7070")
    page.write_text(text.replace("8080", "9090"), encoding="utf-8")
    outdated = cli("import", "notes", "--json")
    assert (len(outdated.json["report"]["outdated"]), outdated.code) == (1, 1)
    page.write_text("---\nbroken: [\n---\n", encoding="utf-8")
    refused = cli("import", "notes", "--json")
    assert (len(refused.json["report"]["refused"]), refused.code) == (1, 1)
    assert cli("import", "notes", "--strict").code == 1  # speaks of JSONL only


@pytest.mark.feature("A11")
def test_only_jsonl_goes_to_standard_output(cli: Cli) -> None:
    assert cli("export", "-", "--format", "markdown").code == 2
    assert cli("export", "-", "--json").code == 2
    assert cli("import", "nowhere.jsonl").code in {2, 3}


# -- The whole store ------------------------------------------------------------------------------


@pytest.mark.feature("B4")
def test_reindex_gives_vectors_to_what_was_kept_without(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    _remember(cli, "kept by words only")
    assert cli("reindex", "--json").json["model_id"] is None
    monkeypatch.setenv("WELLKEPT_EMBEDDING_PROVIDER", "static")
    done = cli("reindex", "--json").json
    assert (done["indexed"], done["dropped"], done["resumed"]) == (1, 0, False)
    assert cli("reindex").out.splitlines()[1].startswith("Indexed: 0")
    assert cli("reindex", "--force", "--json").json["indexed"] == 1


@pytest.mark.feature("A3")
def test_a_backup_is_a_store_of_its_own_and_never_overwrites(cli: Cli, tmp_path: Path) -> None:
    _remember(cli, "safe and sound")
    target = tmp_path / "copy.db"
    assert cli("backup", str(target), "--json").json["path"] == str(target)
    assert cli("backup", str(target)).code == 2
    assert cli("backup", str(tmp_path / "no" / "folder.db")).code == 2
    assert cli("--store", str(target), "list", "--json").json["total"] == 1


@pytest.mark.feature("A3")
def test_a_backup_is_put_in_place_after_a_look_and_a_yes(
    cli: Cli, home: Path, tmp_path: Path
) -> None:
    _remember(cli, "safe and sound")
    _remember(cli, "of the other", "--project", "other")
    copy = str(tmp_path / "copy.db")
    cli("backup", copy)
    _remember(cli, "not in the copy")
    looked = cli("restore", copy, "--dry-run")
    assert looked.code == 0
    today = cli("list", "--json").json["items"][0]["created_at"][:10]
    lines = looked.out.splitlines()
    assert lines[:2] == [
        f"backup: 2 memories, {today} to {today}",
        f"now: 3 memories, {today} to {today}",
    ]
    assert lines[2] == "name:demo: 1 in the backup, 2 now"
    assert lines[-1].startswith("Would be restored: 2 memories")
    assert cli("restore", copy).code == 2
    assert cli("list", "--json").json["total"] == 2
    done = cli("restore", copy, "--yes")
    (kept,) = home.glob("memory.db.before-restore-*")
    assert f"Previous store saved as {kept}" in done.out
    assert [m["content"] for m in cli("list", "--json").json["items"]] == ["safe and sound"]
    assert cli("--store", str(kept), "list", "--json").json["total"] == 2


@pytest.mark.feature("A3")
@pytest.mark.parametrize("state", ["damaged", "missing"])
def test_a_backup_is_the_way_out_of_a_lost_database(
    cli: Cli, home: Path, tmp_path: Path, state: str
) -> None:
    _remember(cli, "safe and sound")
    copy = str(tmp_path / "copy.db")
    cli("backup", copy)
    if state == "damaged":
        (home / "memory.db").write_bytes(b"garbage" * 1000)
    else:
        for path in home.iterdir():
            path.unlink()
        home.rmdir()
    looked = cli("restore", copy, "--dry-run")
    assert looked.code == 0
    assert ("cannot be read" in looked.err) is (state == "damaged")
    assert home.exists() is (state == "damaged")
    restored = cli("restore", copy, "--yes", "--json").json["restored"]
    assert restored["backup"]["memories"] == 1
    assert restored["present"] is None
    assert bool(restored["kept"]) is (state == "damaged")
    assert restored["in_place"] is (state == "missing")
    assert cli("list", "--json").json["total"] == 1
    assert cli("doctor", "--deep").code == 0
    assert (home / "memory.db").stat().st_mode & 0o077 == 0


@pytest.mark.feature("A3")
def test_what_is_no_backup_is_not_restored(cli: Cli, home: Path, tmp_path: Path) -> None:
    _remember(cli, "safe and sound")
    (tmp_path / "letter").write_text("Dear diary, " * 1000)
    assert cli("restore", str(tmp_path / "letter"), "--yes").code == 54
    assert cli("restore", str(tmp_path / "missing"), "--dry-run").code == 2
    assert cli("restore", str(home / "memory.db"), "--dry-run").code == 2
    assert cli("list", "--json").json["total"] == 1


@pytest.mark.feature("B4")
def test_doctor_tells_by_its_exit_code_and_mends_what_it_can(
    cli: Cli, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # no client of whoever runs the tests
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    assert cli("doctor").code == 0
    assert not home.exists()
    _remember(cli, "well")
    health = cli("doctor", "--json", "--deep").json
    assert health["healthy"] is True
    assert [tier["name"] for tier in health["health"]["tiers"]][-1] == "static"
    assert "No problems found." in cli("doctor").out
    assert cli("doctor", "--repair").code == 0
    (home / "memory.db").write_bytes(b"garbage" * 1000)
    broken = cli("doctor")
    assert broken.code == 1
    assert "error: " in broken.out
    assert cli("list").code == 54


@pytest.mark.feature("A3")
def test_doctor_reports_settings_that_stop_every_other_command(cli: Cli, home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[recall]\nlimit = 'x'\n", encoding="utf-8")
    assert cli("list").code == 2
    sick = cli("doctor", "--json")
    assert sick.code == 1
    assert "line 2" in sick.json["health"]["findings"][0]["message"]


# -- Settings -------------------------------------------------------------------------------------


@pytest.mark.feature("A3")
def test_config_sets_shows_and_names_the_origin(cli: Cli, home: Path) -> None:
    assert cli("config", "set", "recall.limit", "3").code == 0
    shown = {item["key"]: item for item in cli("config", "show", "--json").json["items"]}
    assert shown["recall.limit"]["value"] == 3
    assert shown["recall.limit"]["origin"].startswith(str(home / "config.toml"))
    assert shown["embedding.provider"]["origin"] == "WELLKEPT_EMBEDDING_PROVIDER"
    assert cli("config", "get", "recall.limit").out == "3\n"
    assert cli("config", "get", "recall.limit", "--json").json["value"] == 3
    assert cli("config", "unset", "recall.limit").code == 0
    assert cli("config", "get", "recall.limit").out == "10\n"
    assert str(home) in cli("config", "path").out
    assert cli("config", "path", "--json").json["files"]["user"] == str(home / "config.toml")


@pytest.mark.feature("A3")
def test_config_refuses_what_does_not_fit_and_warns_of_what_is_overruled(cli: Cli) -> None:
    assert cli("config", "set", "recall.limit", "none").code == 2
    assert cli("config", "set", "recall.limits", "3").code == 2
    assert cli("config", "get", "nope").code == 2
    overruled = cli("config", "set", "embedding.provider", "static")
    assert "Overridden by WELLKEPT_EMBEDDING_PROVIDER" in overruled.err


@pytest.mark.feature("A10")
def test_a_key_is_never_printed(cli: Cli) -> None:
    cli("config", "set", "embedding.api_key", "very-secret-value")
    for command in (("show",), ("show", "--json"), ("get", "embedding.api_key")):
        done = cli("config", *command)
        assert "very-secret-value" not in done.out + done.err
        assert "(set)" in done.out


@pytest.mark.feature("A3")
def test_a_projects_file_takes_only_what_is_safe(cli: Cli) -> None:
    assert cli("config", "set", "recall.limit", "4", "--project-file").code == 0
    assert Path(".wellkept.toml").read_text(encoding="utf-8") == "[recall]\nlimit = 4\n"
    assert cli("config", "get", "recall.limit").out == "4\n"
    refused = cli("config", "set", "embedding.base_url", "http://evil", "--project-file")
    assert refused.code == 2
    Path(".wellkept.toml").write_text("[store]\npath = '/tmp/x'\n", encoding="utf-8")
    listed = cli("list")
    assert listed.code == 0
    assert "may not set 'store.path'" in listed.err
    assert "ignored: " in cli("config", "show").err


# -- First steps ----------------------------------------------------------------------------------


@pytest.mark.feature("A3")
def test_init_and_tour_take_in_a_repository(cli: Cli) -> None:
    repository = GitRepository.create(Path.cwd())
    repository.write(
        "README.md", "# Kiwi\n\nA tool that peels fruit.\n\n## Tests\n\nRun make test.\n"
    )
    repository.commit("Peel kiwis before slicing, since the skin is bitter")
    report = cli("init", "--json").json
    assert report["documents"] >= 1
    assert cli("init", "--json").json["new"] == 0
    shown = cli("tour", "--ask", "how do I run the tests?")
    assert "export WELLKEPT_HOME=" in shown.out
    assert shown.code == 0
    assert "make test" in shown.out


@pytest.mark.feature("A3")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(cli: Cli, shell: str) -> None:
    script = cli("completion", shell)
    assert script.code == 0
    assert "_WELLKEPT_COMPLETE" in script.out


# These need a network, a model, a skill made from sessions, or a repository of their own;
# tests of their own call them.
_OWN_TESTS = frozenset(
    {"model test", "models get", "models remove"}
    | {"agent", "share status", "share on", "share off", "share add", "share remove"}
    | {"share update", "handoff", "hook", "follow"}
    | {"move", "remote add", "remote list", "remote status"}
    | {
        "remote sync",
        "remote rotate",
        "remote remove",
        "remote review",
        "remote approve",
        "remote reject",
    }
    | {command for command in JSON_FIELDS if command.startswith("team ")}
)


@pytest.mark.feature("A3")
def test_the_documented_json_fields_are_the_ones_printed(cli: Cli) -> None:
    first = _remember(cli, "one thing")
    _remember(cli, "something elsewhere", "--project", "other")
    catch_a_session()
    cli("spool", "drain")
    Path("ledger.py").write_text("def add(amount):\n    return amount\n")
    cli("graph", "build")
    note = "decision:pure core"
    arguments = {
        "install": ["claude-code", "--dry-run"],
        "uninstall": ["claude-code", "--dry-run"],
        "recall": ["thing"],
        "show": [first],
        "why": [first],
        "ask": ["How are tests run?"],
        "demo": ["--keep", "kept-demo"],
        "sessions show": [SESSION],
        "sessions timeline": [SESSION],
        "observer recipe": ["fix the build"],
        "observer related": ["ledger.py"],
        "observer verdict": [SESSION, "passed"],
        "methodology relay": ["coder"],
        "methodology use": ["native"],
        "graph show": ["ledger.py"],
        "graph impact": ["ledger.py"],
        "graph deps": ["ledger.py"],
        "graph trace": ["ledger.py"],
        "graph coverage": ["ledger.py"],
        "graph search": ["ledger"],
        "graph related": ["ledger.py"],
        "graph note": ["decision", "pure core"],
        "graph link": [note, "depends_logically", "ledger.py"],
        "export": ["fields.jsonl"],
        "import": ["fields.jsonl"],
        "archive": ["native", "spec-1"],
        "model choose": ["none"],
    }
    for command, expected in JSON_FIELDS.items():
        if command not in _OWN_TESTS:
            done = cli(*command.split(), "--json", *arguments.get(command, []))
            assert tuple(json.loads(done.out or "{}")) == expected, (command, done.err)


@pytest.mark.feature("A3")
def test_every_document_that_a_command_can_print_is_described() -> None:
    def named(command: click.Command, path: str) -> Iterator[str]:
        if isinstance(command, click.Group):
            for name, inner in command.commands.items():
                yield from named(inner, f"{path} {name}")
        elif any("--json" in parameter.opts for parameter in command.params):
            yield path

    found = {path for name in WORDS for path in named(command_at(name), name)}
    assert found == {*JSON_FIELDS}
