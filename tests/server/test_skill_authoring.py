"""Skills that the page edits, looks over, makes from sessions and reviews; from many threads too."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import wellkept
from tests.app.working import Desk, add_route
from tests.server.http_serving import Served, served
from tests.server.mcp_client import Talk, talking_in
from tests.skills.reading import document, put
from wellkept.api.mcp.handlers import ServerOptions
from wellkept.api.mcp.toolsets import parse_toolsets
from wellkept.api.server.open_projects import OpenProjects
from wellkept.core.settings.model import Settings

NAME = "add-api-route-discount-codes-shop"
QUIET = Settings(skills_generated="off")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A project with a skill of its own, and two sessions in which the same was done."""
    desk = Desk(tmp_path)
    put(desk.work / ".skills", "ship", document("ship", more="x-owner: me\n", body="Ship $1."))
    add_route(desk.session("session-1"))
    add_route(desk.session("session-2"), "coupon")
    with desk.open(settings=QUIET) as wk:
        desk.drain(wk)
    return desk


@pytest.fixture
def web(desk: Desk) -> Generator[Served]:
    def open_in(_folder: Path, _project: str | None) -> wellkept.Wellkept:
        return desk.open(settings=QUIET)

    with served(OpenProjects(open_in, folder=desk.work)) as known:
        yield known


def _made(web: Served) -> list[dict[str, Any]]:
    return web.post("skill/review")["items"]


@pytest.mark.feature("F9")
def test_the_page_makes_skills_of_sessions_and_is_told_why_others_give_none(web: Served) -> None:
    would = web.post("skill/generate", dry_run=True)
    assert would["made"][0]["text"].startswith(f"---\nname: {NAME}\n")
    assert _made(web) == []
    with web.events() as events:
        done = web.post("skill/generate", session="session-1")
        kind, _, data = events.next()
    assert (kind, data["title"]) == ("skill_generated", NAME)
    (skill,) = done["made"]
    assert (skill["review"], skill["enabled"], skill["session_ids"]) == (
        "pending",
        False,
        ["session-1"],
    )
    assert "review" in skill["note"]
    (passed,) = web.post("skill/generate", session="session-2")["passed"]
    assert "has the same purpose" in passed["reason"]
    assert [(one["skill"]["name"], one["skill"]["text"]) for one in _made(web)] == [(NAME, "")]


@pytest.mark.feature("F9")
def test_the_page_reviews_and_refines_a_skill_from_sessions(web: Served) -> None:
    web.post("skill/generate", session="session-1")
    (judged,) = web.post("skill/review", name=NAME, answer="accept")["items"]
    accepted = judged["skill"]
    assert (accepted["review"], accepted["enabled"]) == ("accepted", True)
    assert judged["record"]["judged"] == 0
    refined = web.post("skill/generate", refine=NAME, dry_run=True)
    assert "2 of 2 sessions" in refined["made"][0]["text"]
    assert refined["before"] == accepted["text"]
    edited = accepted["text"].replace("## Steps", "## The steps")
    web.post("skill/review", name=NAME, answer="edit", text=edited)
    (shown,) = web.post("skill/review", name=NAME)["items"]
    assert (shown["skill"]["made_by"], shown["skill"]["text"]) == ("person", edited)
    refused = web.client.post("/api/skill/generate", json={"refine": NAME})
    assert refused.status_code == 409
    web.post("skill/generate", refine=NAME, replace_edits=True)
    (gone,) = web.post("skill/review", name=NAME, answer="reject")["items"]
    assert gone["skill"]["enabled"] is False
    assert NAME not in {row["name"] for row in web.post("skill/list")["items"]}


@pytest.mark.feature("F9")
@pytest.mark.parametrize(
    ("operation", "body", "status"),
    [
        ("skill/review", {"name": "nothing", "answer": "accept"}, 404),
        ("skill/review", {"name": NAME, "answer": "maybe"}, 400),
        ("skill/review", {"name": NAME, "answer": "edit"}, 400),
        ("skill/review", {"name": NAME, "answer": "edit", "text": "no skill"}, 400),
        ("skill/generate", {"refine": "nothing"}, 404),
        ("skill/generate", {"session": "nothing"}, 404),
        ("skill/review", {"name": "nothing"}, 404),
        ("skill_edit", {"name": "ship"}, 400),
        ("skill_edit", {"name": "ship", "fields": {"name": "Not A Name"}}, 400),
        ("skill_edit", {"name": "nothing", "body": "x"}, 404),
        ("skill_validate", {"name": "../../../etc/passwd"}, 404),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(
    web: Served, operation: str, body: dict[str, Any], status: int
) -> None:
    web.post("skill/generate", session="session-1")
    before = web.post("skill/review", name=NAME), web.post("skill_show", name="ship")
    assert web.client.post(f"/api/{operation}", json=body).status_code == status
    assert (web.post("skill/review", name=NAME), web.post("skill_show", name="ship")) == before


@pytest.mark.feature("F1")
def test_the_page_edits_a_document_and_what_it_does_not_know_stays(web: Served, desk: Desk) -> None:
    changes = {"tags": ["a", "b"], "version": "2.0.0", "user-invocable": False}
    done = web.post("skill_edit", name="ship", fields=changes, body="Ship it.")
    assert (done["skill"]["tags"], done["version"], done["body"]) == (
        ["a", "b"],
        "2.0.0",
        "Ship it.",
    )
    assert "x-owner: me\n" in (desk.work / ".skills/ship/SKILL.md").read_text()
    assert web.post("skill_edit", name="ship", fields={"tags": None})["skill"]["tags"] == []


@pytest.mark.feature("F1")
def test_the_page_looks_skills_over_with_lines(web: Served, desk: Desk) -> None:
    put(desk.work / ".skills", "odd", "---\nname: odd\ndescription: x\ntags: {a: b}\n---\nDo.\n")
    (odd,) = web.post("skill/validate", targets=["odd"])["items"]
    assert [(one["code"], one["line"]) for one in odd["findings"]] == [("field-kind", 4)]
    assert odd["valid"] is False
    assert "odd" in {one["name"] for one in web.post("skill/validate")["items"]}
    (strict,) = web.post("skill/validate", targets=["ship"], strict=True)["items"]
    assert {one["code"] for one in strict["findings"]} >= {"field-unknown"}


@pytest.mark.feature("C5")
def test_no_agent_can_review_or_edit_a_skill(talk: Talk) -> None:
    for name in ("skill_review", "skill_generate", "skill_export"):
        assert talk.refused("call_tool", name, {"name": "x"}).error.code == -32602
    for name in ("skill_edit", "skill_new", "skill_create"):
        refused = talk.refused("call_tool", name, {"name": "x"})
        assert "--toolsets skills" in refused.error.message


@pytest.mark.feature("C5")
def test_an_agent_writes_a_skill_where_a_person_added_the_toolset(tmp_path: Path) -> None:
    options = ServerOptions(toolsets=parse_toolsets("skills"), structured=True)
    with talking_in(tmp_path, options=options) as talk:
        assert {"skill_new", "skill_edit", "skill_validate"} <= set(talk.tools())
        talk.call("skill_create", name="ship", description="How to ship.", body="Run make ship.")
        assert "make ship" in talk.text("skill_run", name="ship")
        assert talk.refused("call_tool", "skill_delete", {"name": "ship"}).error.code == -32602


@pytest.mark.feature("F7")
def test_many_threads_may_list_switch_search_and_run_at_once(desk: Desk) -> None:
    for number in range(20):
        put(desk.work / ".skills", f"s{number}", document(f"s{number}", body="Do $1."))
    with desk.open(settings=QUIET) as wk:

        def turn(number: int) -> tuple[int, str]:
            name = f"s{number % 20}"
            wk.skills.disable(name)
            wk.skills.enable(name)
            wk.skills.search(name)
            wk.skills.detect()
            made = f"n{number}"
            put(desk.work / ".skills", made, document(made, body="Make $1."))
            return number, wk.skills.commands.run(made, f"w{number}").text

        with ThreadPoolExecutor(8) as threads:
            for number, text in threads.map(turn, range(40)):
                assert text.endswith(f"Make w{number}.")
        names = {skill.name for skill in wk.skills.list() if skill.enabled}
        assert names >= {f"s{n}" for n in range(20)} | {f"n{n}" for n in range(40)}
