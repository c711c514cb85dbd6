"""`wellkept admin import SOURCE` on the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

pytestmark = pytest.mark.feature("C7")
RECORDED = Path(__file__).parents[1] / "clients" / "transcripts"


@pytest.mark.parametrize("source", ["claude-code", "codex", "gemini"])
def test_a_named_transcript_is_taken_in_and_reported(cli: Cli, tmp_path: Path, source: str) -> None:
    path = tmp_path / "hash" / "chats" / f"{source}.jsonl"
    path.parent.mkdir(parents=True)
    shutil.copy(RECORDED / f"{source}.jsonl", path)
    (path.parents[1] / ".project_root").write_text("/home/dev/shop", "utf-8")

    dry = cli("import", source, str(path), "--dry-run", "--json").json
    first = cli("import", source, str(path), "--json").json
    again = cli("import", source, str(path), "--json").json

    assert (dry["dry_run"], dry["new"], dry["prompts"]) == (True, 1, 1)
    assert (first["new"], first["prompts"], again["unchanged"]) == (1, 1, 1)
    assert "zebra" in cli("sessions", "--all-projects").out
    assert cli("import", source, str(path)).out.startswith("Nothing new.")


def test_a_transcript_of_another_project_is_left_out_when_a_project_is_named(cli: Cli) -> None:
    path = str(RECORDED / "claude-code.jsonl")

    told = cli("import", "claude-code", path, "--project", "another", "--json").json

    assert (told["other_projects"], told["events"]) == (1, 0)


def test_a_source_without_files_says_so_and_a_path_that_is_not_there_is_an_error(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()

    assert "No transcripts of codex" in cli("import", "codex", str(tmp_path / "empty")).out
    missing = cli("import", "codex", str(tmp_path / "nowhere"))
    assert missing.code != 0
    assert "nowhere" in missing.err


@pytest.mark.parametrize("source", ["claude-code", "codex", "gemini"])
def test_a_client_that_was_never_used_here_has_no_transcripts(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "nobody"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)

    told = cli("import", source)

    assert told.code == 0
    assert told.out.startswith(f"No transcripts of {source} found.")
    assert "not read" not in told.out + told.err


def test_a_word_that_is_no_source_is_told_which_there_are(cli: Cli) -> None:
    outcome = cli("import", "claude-cod", "x", "y")

    assert outcome.code != 0
    assert "mcp-memory-service" in outcome.err


def test_an_exported_file_is_still_taken_in(cli: Cli, tmp_path: Path) -> None:
    cli("remember", "The build needs Node 22")
    cli("export", str(tmp_path / "all.jsonl"))

    told = cli("import", str(tmp_path / "all.jsonl"), "--json").json

    assert "report" in told


def test_instructions_come_from_the_folder(cli: Cli) -> None:
    Path("AGENTS.md").write_text("# Rules\n\nAlways run the linter.\n", "utf-8")

    assert "Stored 1 new" in cli("import", "instructions").out
    assert "linter" in cli("recall", "linter").out
