"""Skills over MCP and HTTP: two tools for agents, prompts for people, routes for the page."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.server.http_serving import Served, served_in
from tests.server.mcp_client import Talk
from tests.skills.reading import document, put


@pytest.fixture(autouse=True)
def skills(tmp_path: Path) -> None:
    """A project with two skills, one of them for people only."""
    folder = tmp_path / ".skills"
    ship = document("ship", more="argument-hint: <service> <where>\n", body="Ship $1 to $2.")
    put(folder, "ship", ship.replace("What ship does.", "Ships the billing service to staging"))
    put(folder, "pay", document("pay", more="disable-model-invocation: true\n"))


@pytest.fixture
def web(tmp_path: Path) -> Generator[Served]:
    with served_in(tmp_path) as known:
        yield known


def _status(web: Served, path: str, **body: str) -> int:
    return web.client.post(f"/api/{path}", json=body).status_code


@pytest.mark.feature("C5")
def test_an_agent_finds_a_skill_and_runs_it(talk: Talk) -> None:
    found = talk.call("skill_search", query="ship the billing service to staging")
    assert found["items"][0]["name"] == "ship"
    assert "ship <service> <where>:" in talk.text("skill_search", query="ship billing service")
    ran = talk.call("skill_run", name="ship", arguments='"the app" staging')
    assert ran["content"].endswith("Ship the app to staging.")
    assert ran["kind"] == "prompt"


@pytest.mark.feature("C5")
def test_an_agent_cannot_run_what_is_for_people(talk: Talk) -> None:
    assert "by the user" in talk.error("skill_run", name="pay")
    assert "by the user" in talk.error("skill_run", name="remember", arguments="x")
    assert "Unknown command" in talk.error("skill_run", name="nosuch")
    assert talk.text("skill_search", query="pay", limit=50).endswith("fits.")


@pytest.mark.feature("C5")
def test_agents_are_offered_two_of_the_operations_on_skills(talk: Talk) -> None:
    offered = {name for name in talk.tools() if name.startswith("skill")}
    assert offered == {"skill_search", "skill_run"}
    assert talk.refused("call_tool", "skill_delete", {"name": "ship"}).error.code == -32602
    for name in ("skill_enable", "skill_trust", "skill_review", "skill_export"):
        assert talk.refused("call_tool", name, {}).error.code == -32602


@pytest.mark.feature("C5")
def test_skills_are_prompts_with_arguments(talk: Talk) -> None:
    listed = {p.name: p for p in talk.portal.call(talk.client.list_prompts).prompts}
    (argument,) = listed["ship"].arguments or []
    assert (argument.name, argument.required) == ("arguments", False)
    assert argument.description == "<service> <where>"
    assert "Ship a to b." in talk.prompt("ship", arguments="a b")
    assert "pay" in listed  # a person picks prompts
    assert "What pay does" in (listed["pay"].description or "")


@pytest.mark.feature("C5")
@pytest.mark.parametrize("name", ["nosuch", "remember", "CLAUDE", "x" * 500, "../../etc/passwd"])
def test_a_prompt_that_is_no_skill_is_refused(talk: Talk, name: str) -> None:
    assert talk.refused("get_prompt", name, {}).error.code == -32602


@pytest.mark.feature("C5")
def test_a_huge_argument_is_refused(talk: Talk) -> None:
    assert talk.refused("get_prompt", "ship", {"arguments": "x" * 100_000}).error.code == -32602
    assert "arguments" in talk.error("skill_run", name="ship", arguments="x" * 100_000)


@pytest.mark.feature("C6")
def test_the_page_lists_shows_switches_makes_and_removes(web: Served) -> None:
    post = web.post
    listed = post("skill/list", source="project")["items"]
    assert {row["name"] for row in listed} == {"ship", "pay"}
    assert post("skill_show", name="ship")["body"] == "Ship $1 to $2."
    off = post("skill/disable", names=["ship"])
    assert off["items"][0]["enabled"] is False
    assert _status(web, "skill/run", name="ship") == 400
    made = post("skill/new", name="tidy", description="Tidies up", body="Tidy $ARGUMENTS.")
    assert made["skill"]["name"] == "tidy"
    ran = post("skill/run", name="tidy", arguments="the yard")
    assert ran["content"].endswith("Tidy the yard.")
    commands = post("skill/list", commands=True)["items"]
    assert commands[0]["name"] == "tidy"
    would = post("skill/delete", name="tidy", dry_run=True)
    assert (would["dry_run"], len(would["files"])) == (True, 2)
    assert post("skill/delete", name="tidy")["dry_run"] is False
    assert _status(web, "skill/show", name="tidy") == 404
    assert post("skill/validate", refresh=True)["by_kind"]["project"] == 2


@pytest.mark.feature("C6")
def test_skills_that_are_called_for_come_as_an_event(web: Served, tmp_path: Path) -> None:
    rule = "detect:\n  files: [ship.toml]\n"
    put(tmp_path / ".skills", "ship", document("ship", more=rule))
    (tmp_path / "ship.toml").write_text("x")
    with web.events() as events:
        found = web.post("skill/search")["items"]
        assert [row["name"] for row in found] == ["ship"]
        kind, _, data = events.next()
    assert (kind, data["title"]) == ("skills_detected", "ship")
