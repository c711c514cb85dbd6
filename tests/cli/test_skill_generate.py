"""`wellkept skill generate`, `review` and `refine` as people type them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.working import Desk, add_route
from tests.cli.conftest import Cli
from wellkept.api.cli import exit_codes
from wellkept.core.errors import NotFoundError
from wellkept.core.settings.model import Settings

pytestmark = pytest.mark.feature("F9")

NAME = "add-api-route-discount-codes-shop"


@pytest.fixture
def desk(cli: Cli, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """The folder that the command line runs in, with two sessions in which the same was done."""
    assert cli("status").code in (exit_codes.OK, exit_codes.NOTHING)
    monkeypatch.delenv("WELLKEPT_PROJECT")
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    desk = Desk(tmp_path)
    desk.home, desk.environment = home, {"WELLKEPT_HOME": str(home)}
    add_route(desk.session("session-1"))
    add_route(desk.session("session-2"), "coupon")
    with desk.open(settings=Settings(skills_generated="off")) as wk:
        desk.drain(wk)
    return desk


@pytest.mark.usefixtures("desk")
def test_a_dry_run_prints_the_document_and_keeps_nothing(cli: Cli) -> None:
    shown = cli("skill", "generate", "--session", "session-1", "--dry-run")
    assert shown.code == exit_codes.OK
    assert shown.out.startswith(f"---\nname: {NAME}\n")
    assert cli("skill", "review", "--json").json["items"] == []


@pytest.mark.usefixtures("desk")
def test_what_is_made_is_told_and_what_is_passed_over_with_the_reason(cli: Cli) -> None:
    made = cli("skill", "generate")
    assert made.code == exit_codes.OK
    assert made.out == f"Generated {NAME} from session session-1\n"
    assert f"'{NAME}' has the same purpose" in made.err
    again = cli("skill", "generate", "--json")
    assert again.code == exit_codes.NOTHING
    assert [one["session_id"] for one in again.json["passed"]] == ["session-1", "session-2"]
    assert (
        cli("skill", "generate", "--session", "nothing").code
        == exit_codes.EXIT_CODES[NotFoundError]
    )


@pytest.mark.usefixtures("desk")
def test_the_note_is_shown_in_lists_until_a_review(cli: Cli) -> None:
    cli("skill", "generate")
    assert "off (Waits for review" in cli("skill", "list", "--source", "generated").out
    assert "Waits for review" in cli("skill", "show", NAME).out
    assert cli("skill", "refresh", "--json").json["pending"] == 1
    shown = cli("skill", "review", NAME)
    assert "## Steps" in shown.out
    done = cli("skill", "review", NAME, "accept")
    assert done.out == f"{NAME}: accepted, on\n"
    listed = cli("skill", "review", "--json").json["items"]
    assert listed[0]["skill"]["enabled"] is True
    assert listed[0]["record"]["success_rate"] == 1.0
    assert cli("skill", "list", "--json", "--source", "generated").json["items"][0]["enabled"]


@pytest.mark.usefixtures("desk")
def test_one_that_is_rejected_goes_out_of_the_lists(cli: Cli) -> None:
    cli("skill", "generate")
    assert cli("skill", "review", NAME, "reject").out == f"{NAME}: rejected, off\n"
    assert cli("skill", "list", "--source", "generated", "--json").json["items"] == []
    assert "1 rejected" in cli("skill", "review").err
    assert cli("skill", "review", "", "accept").code == exit_codes.USAGE
    assert cli("skill", "review", "nothing").code == exit_codes.EXIT_CODES[NotFoundError]


@pytest.mark.usefixtures("desk")
def test_a_new_text_comes_from_a_file_or_the_editor(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("skill", "generate")
    text = cli("skill", "review", NAME, "--json").json["items"][0]["skill"]["text"]
    file = tmp_path / "new.md"
    file.write_text(text.replace("They must pass", "All must pass"), encoding="utf-8")
    assert (
        cli("skill", "review", NAME, "edit", "--text", file.read_text("utf-8")).code
        == exit_codes.OK
    )
    monkeypatch.setenv("EDITOR", "sed -i s/All/Truly.all/")
    assert cli("skill", "review", NAME, "edit").code == exit_codes.OK
    shown = cli("skill", "review", NAME, "--history")
    assert "Truly.all must pass" in shown.out
    assert shown.out.count("--- until") == 2
    file.write_text("no skill", encoding="utf-8")
    assert (
        cli("skill", "review", NAME, "edit", "--text", file.read_text("utf-8")).code
        == exit_codes.USAGE
    )


@pytest.mark.usefixtures("desk")
def test_refining_merges_sessions_and_shows_the_text(cli: Cli) -> None:
    cli("skill", "generate")
    dry = cli("skill", "refine", NAME, "--dry-run")
    assert "(2 of 2 sessions)" in dry.out
    assert "would be refined: 2 sessions" in dry.err
    done = cli("skill", "refine", NAME, "--json").json
    assert done["sessions"] == ["session-1", "session-2"]
    assert done["made"][0]["origin"] == "refined"
    assert len(cli("skill", "review", NAME, "--json").json["items"][0]["editions"]) == 1
    assert "is unchanged" in cli("skill", "refine", NAME).err
