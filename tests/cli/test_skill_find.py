"""`wellkept skill search` and `wellkept skill detect`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli

SKILL = """---
name: zorblax
description: Frobnicate a zorblax.
tags: [odd]
detect:
  files: [zorblax.toml]
---

Step one.
"""


@pytest.fixture(autouse=True)
def zorblax(cli: Cli) -> None:
    folder = Path.cwd() / ".skills" / "zorblax"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL, "utf-8")


@pytest.mark.feature("F4")
def test_search_lists_what_fits_with_the_reason(cli: Cli) -> None:
    found = cli("skill", "search", "frobnicate the zorblax")
    assert found.code == 0
    assert found.out.splitlines()[0].startswith("zorblax\t")
    assert "shares the words" in found.out


@pytest.mark.feature("F4")
def test_search_explains_and_speaks_json(cli: Cli) -> None:
    explained = cli("skill", "search", "frobnicate", "--explain")
    assert "words\t" in explained.out
    item = cli("skill", "search", "frobnicate", "--json").json["items"][0]
    assert item["name"] == "zorblax"
    assert item["score"] == pytest.approx(sum(p["effect"] for p in item["parts"]), abs=0.01)


@pytest.mark.feature("F4")
def test_search_honours_tags_and_tells_when_nothing_fits(cli: Cli) -> None:
    assert cli("skill", "search", "frobnicate", "--tag", "odd").code == 0
    nothing = cli("skill", "search", "frobnicate", "--without-tag", "odd")
    assert nothing.code == 1
    assert "None of" in nothing.err
    assert cli("skill", "search", "x", "--tag", "a", "--without-tag", "a").code == 2
    assert cli("skill", "search", "x", "--profile", "nope").code == 2


@pytest.mark.feature("F3")
def test_detect_tells_what_the_project_calls_for_and_why(cli: Cli) -> None:
    nothing = cli("skill", "detect")
    assert (nothing.code, nothing.out) == (1, "")
    Path("zorblax.toml").write_text("", "utf-8")
    found = cli("skill", "search")
    assert found.out.startswith("zorblax\t")
    assert found.out.endswith("\tthe project has zorblax.toml\n")
    answer = cli("skill", "detect", "--json", "--phase", "planning").json
    assert [item["files"] for item in answer["items"]] == [["zorblax.toml"]]
    assert answer["notes"] == []


@pytest.mark.feature("F4")
def test_detect_with_a_prompt_shows_what_an_agent_would_be_given(cli: Cli) -> None:
    assert cli("skill", "detect", "frobnicate", "the", "zorblax").out.startswith("zorblax\t")
    injected = cli("skill", "detect", "frobnicate", "the", "zorblax", "--inject")
    assert "Step one." in injected.out
    assert cli("skill", "detect", "frobnicate the zorblax", "--inject", "--json").json["cut"] == []
    assert cli("skill", "detect", "thanks", "--inject").code == 1


@pytest.mark.feature("F11")
def test_a_skill_is_forced_for_one_prompt_or_one_session(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("skill", "detect", "thanks").code == 1
    forced = cli("skill", "detect", "thanks", "--force", "zorblax")
    assert forced.out.startswith("zorblax\t")
    assert "forced for this session" in forced.out
    assert "no session" in cli("skill", "force", "zorblax").err
    told = cli("skill", "force", "zorblax", "--session", "s1", "--json").json
    assert (told["session"], told["forced"]) == ("s1", ["zorblax"])
    assert "Step one." in cli("skill", "detect", "thanks", "--inject", "--session", "s1").out
    assert cli("skill", "detect", "thanks", "--inject", "--session", "s2").code == 1
    assert cli("skill", "force", "zorblax", "--off", "--session", "s1").code == 2
    assert cli("skill", "force", "--off", "--session", "s1").out == ""
    assert cli("skill", "detect", "thanks", "--inject", "--session", "s1").code == 1
    monkeypatch.setenv("WELLKEPT_SKILLS_FORCE", "zorblax")
    assert "Step one." in cli("skill", "detect", "thanks", "--inject").out


@pytest.mark.feature("F11")
def test_skills_of_the_organisation_are_listed_as_managed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "policy" / "zorblax"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL, "utf-8")
    monkeypatch.setenv("WELLKEPT_SKILLS_MANAGED", str(folder.parent))
    (item,) = cli("skill", "list", "--source", "managed", "--json").json["items"]
    assert (item["name"], item["priority"]) == ("zorblax", 350)
    refused = cli("skill", "disable", "zorblax")
    assert refused.code == 2
    assert "cannot be switched off" in refused.err
